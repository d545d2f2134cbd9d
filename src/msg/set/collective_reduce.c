/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce and allreduce. The elements of all members are combined in the order of members, so that
 * floating-point results are the same bits in every run and on every member. Of a large block each
 * member combines a part, and the parts are put together afterwards.
 */
#include "msg/set/collective.h"

#include <string.h>

static void make_fold(const struct set_exchange *exchange, const char *gifts, size_t stride,
                      int count, char *result)
{
    const struct rh_reduction *reduction = exchange->context;
    alignas(8) char sum[SET_GIFT_MAX];
    memcpy(sum, gifts, exchange->gift_length);
    for (int i = 1; i < count; i++)
        reduce_fold(reduction, sum, gifts + (size_t)i * stride, reduction->count);
    memcpy(result, sum, exchange->gift_length);
}

/* The elements [first, end) of a block that a member combines. */
static size_t part_begin(const struct rh_set *set, size_t count, int member)
{
    return count / (size_t)set->size * (size_t)member +
           collective_min((size_t)member, count % (size_t)set->size);
}

/* Combine our part of what all have staged, into the block of results. */
static int combine_part(struct rh_set *set, const struct rh_reduction *reduction, uint64_t offset,
                        size_t count)
{
    size_t width = reduce_width(reduction->type, reduction->operator_);
    size_t first = part_begin(set, count, set->me);
    size_t part = part_begin(set, count, set->me + 1) - first;
    char *sum = set->base + set->result_offset;
    if (part == 0)
        return 0;
    int result = collective_pull(set, 0, offset + first * width, sum, part * width);
    for (int i = 1; i < set->size && result == 0; i++) {
        result = collective_pull(set, i, offset + first * width, set->scratch, part * width);
        if (result == 0)
            reduce_fold(reduction, sum, set->scratch, part);
    }
    return result;
}

static int collect_parts(struct rh_set *set, size_t width, size_t count, char *target)
{
    int result = 0;
    for (int i = 0; i < set->size && result == 0; i++) {
        size_t first = part_begin(set, count, i);
        size_t part = part_begin(set, count, i + 1) - first;
        if (part > 0)
            result = collective_pull(set, i, set->result_offset, target + first * width,
                                     part * width);
    }
    return result;
}

/* target is NULL on members that need no result. The results of one block are read before the next
 * sync, and written again only after it. */
static int reduce_blocks(struct rh_set *set, const struct rh_reduction *reduction,
                         const char *source, char *target)
{
    size_t width = reduce_width(reduction->type, reduction->operator_);
    size_t most = set->stage_length / width;
    uint64_t offset = collective_stage(set, 0);
    int result = 0;
    for (size_t at = 0; at < reduction->count && result == 0; at += most) {
        size_t count = collective_min(reduction->count - at, most);
        memcpy(set->base + offset, source + at * width, count * width);
        result = set_sync(set);
        if (result == 0)
            result = combine_part(set, reduction, offset, count);
        if (result == 0)
            result = set_sync(set);
        if (result == 0 && target)
            result = collect_parts(set, width, count, target + at * width);
    }
    return result == 0 ? set_sync(set) : result;
}

static int reduce_to(struct rh_set *set, const void *source, void *target,
                     const struct rh_reduction *reduction)
{
    size_t width = reduce_width(reduction->type, reduction->operator_);
    if (reduction->count * width > SET_GIFT_MAX)
        return reduce_blocks(set, reduction, source, target);
    struct set_exchange exchange = {.gift = source,
                                    .gift_length = reduction->count * width,
                                    .result_length = reduction->count * width,
                                    .make = make_fold,
                                    .result = target,
                                    .context = reduction};
    return collective_exchange(set, &exchange);
}

static int begin(struct rh_set *set, enum set_call_kind kind, int root,
                 const struct rh_reduction *reduction)
{
    size_t width = reduce_width(reduction->type, reduction->operator_), length;
    if (width == 0)
        return error_fail(RH_EINVALID, "type %d with operator %d: there is no such reduction",
                          (int)reduction->type, (int)reduction->operator_);
    if (__builtin_mul_overflow(reduction->count, width, &length))
        return error_fail(RH_EINVALID, "%zu elements are too many", reduction->count);
    struct set_call call = {.kind = (uint16_t)kind,
                            .type = (uint8_t)reduction->type,
                            .operator_ = (uint8_t)reduction->operator_,
                            .root = root,
                            .length = reduction->count};
    return collective_begin(set, &call, length);
}

int rh_reduce(struct rh_set *set, int root, const void *source, void *target,
              const struct rh_reduction *reduction)
{
    int result = begin(set, SET_CALL_REDUCE, root, reduction);
    if (result < 0)
        return result;
    return reduce_to(set, source, set->me == root ? target : NULL, reduction);
}

int rh_allreduce(struct rh_set *set, const void *source, void *target,
                 const struct rh_reduction *reduction)
{
    int result = begin(set, SET_CALL_ALLREDUCE, 0, reduction);
    if (result < 0)
        return result;
    return reduce_to(set, source, target, reduction);
}
