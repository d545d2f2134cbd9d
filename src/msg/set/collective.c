/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that move data: broadcast, gather, scatter, allgather, all-to-all. What fits goes in
 * one exchange; the rest in blocks, see collective.h.
 */
#include "msg/set/collective.h"

#include <string.h>

/* ---- Shared --------------------------------------------------------------------------------- */

int collective_begin(struct rh_set *set, const struct set_call *call, size_t length)
{
    if (call->root < 0 || call->root >= set->size)
        return error_fail(RH_EINVALID, "set %u has no place %d; it has %d members", set->id,
                          call->root, set->size);
    size_t all;
    if (__builtin_mul_overflow(length, (size_t)set->size, &all))
        return error_fail(RH_EINVALID, "%zu bytes from each of %d members are too many", length,
                          set->size);
    int result = set_enter(set);
    if (likely(result == 0))
        set_call_begin(set, call);
    return result;
}

/* One of those that move `length` bytes. Also if that is 0: all must come all the same. */
static int begin(struct rh_set *set, enum set_call_kind kind, int root, size_t length)
{
    struct set_call call = {.kind = (uint16_t)kind, .root = root, .length = length};
    return collective_begin(set, &call, length);
}

int collective_pull(struct rh_set *set, int member, uint64_t offset, void *target, size_t length)
{
    struct rh_remote remote;
    int result = set_remote(set, member, offset, RH_TIMEOUT_DEFAULT, &remote);
    if (result == 0 && member == set->me)
        memcpy(target, set->base + offset, length);
    else if (result == 0)
        result = set_pull(set, remote, target, length);
    if (set_is_gone_code(result))
        result = set_break(set, set->ranks[member]);
    if (unlikely(result < 0))
        set->is_out_of_step = true;
    return result;
}

int collective_exchange(struct rh_set *set, const struct set_exchange *exchange)
{
    int result = set_exchange(set, exchange, RH_TIMEOUT_DEFAULT);
    if (unlikely(result < 0))
        set->is_out_of_step = true;
    return result;
}

/* Bytes of each member that a stage holds if it holds a part for each: a multiple of 64. */
static size_t collective_part(const struct rh_set *set)
{
    return set->stage_length / (size_t)set->size & ~(size_t)63;
}

/* ---- Broadcast ------------------------------------------------------------------------------ */

static void make_of_one(const struct set_exchange *exchange, const char *gifts, size_t stride,
                        int count, char *result)
{
    int root = *(const int *)exchange->context;
    memcpy(result, gifts + (size_t)root * stride, exchange->result_length);
}

static int broadcast_blocks(struct rh_set *set, int root, char *buffer, size_t length)
{
    int result = 0;
    unsigned stage = 0;
    for (size_t at = 0; at < length && result == 0; at += set->stage_length, stage ^= 1) {
        size_t block = collective_min(length - at, set->stage_length);
        uint64_t offset = collective_stage(set, stage);
        if (set->me == root)
            memcpy(set->base + offset, buffer + at, block);
        result = set_sync(set);
        if (result == 0 && set->me != root)
            result = collective_pull(set, root, offset, buffer + at, block);
    }
    return result == 0 ? set_sync(set) : result;
}

int rh_broadcast(struct rh_set *set, int root, void *buffer, size_t length)
{
    int result = begin(set, SET_CALL_BROADCAST, root, length);
    if (result < 0 || set->size == 1)
        return result;
    if (length > SET_GIFT_MAX)
        return broadcast_blocks(set, root, buffer, length);
    struct set_exchange exchange = {.gift = set->me == root ? buffer : NULL,
                                    .gift_length = length,
                                    .result_length = length,
                                    .make = make_of_one,
                                    .result = set->me == root ? NULL : buffer,
                                    .context = &root};
    return collective_exchange(set, &exchange);
}

/* ---- Gather and allgather -------------------------------------------------------------------- */

static void make_of_all(const struct set_exchange *exchange, const char *gifts, size_t stride,
                        int count, char *result)
{
    size_t length = exchange->gift_length;
    for (int i = 0; i < count; i++)
        memcpy(result + (size_t)i * length, gifts + (size_t)i * stride, length);
}

static bool fits_exchange(const struct rh_set *set, size_t length)
{
    return length <= SET_GIFT_MAX && length * (size_t)set->size <= SET_RESULT_MAX;
}

/* target is NULL on members that only give. */
static int gather_small(struct rh_set *set, const void *source, char *target, size_t length)
{
    struct set_exchange exchange = {.gift = source,
                                    .gift_length = length,
                                    .result_length = length * (size_t)set->size,
                                    .make = make_of_all,
                                    .result = target};
    return collective_exchange(set, &exchange);
}

static int gather_blocks(struct rh_set *set, const char *source, char *target, size_t length)
{
    int result = 0;
    unsigned stage = 0;
    for (size_t at = 0; at < length && result == 0; at += set->stage_length, stage ^= 1) {
        size_t block = collective_min(length - at, set->stage_length);
        uint64_t offset = collective_stage(set, stage);
        memcpy(set->base + offset, source + at, block);
        result = set_sync(set);
        for (int i = 0; i < set->size && target && result == 0; i++)
            result = collective_pull(set, i, offset, target + (size_t)i * length + at, block);
    }
    return result == 0 ? set_sync(set) : result;
}

int rh_gather(struct rh_set *set, int root, const void *source, void *target, size_t length)
{
    int result = begin(set, SET_CALL_GATHER, root, length);
    if (result < 0)
        return result;
    if (set->me != root)
        target = NULL;
    return fits_exchange(set, length) ? gather_small(set, source, target, length)
                                      : gather_blocks(set, source, target, length);
}

int rh_allgather(struct rh_set *set, const void *source, void *target, size_t length)
{
    int result = begin(set, SET_CALL_ALLGATHER, 0, length);
    if (result < 0)
        return result;
    return fits_exchange(set, length) ? gather_small(set, source, target, length)
                                      : gather_blocks(set, source, target, length);
}

/* ---- Scatter and all-to-all ------------------------------------------------------------------ */

/* Put a part for each member on our stage. */
static void stage_parts(struct rh_set *set, uint64_t offset, const char *source, size_t length,
                        size_t block)
{
    size_t part = collective_part(set);
    for (int i = 0; i < set->size; i++)
        memcpy(set->base + offset + (size_t)i * part, source + (size_t)i * length, block);
}

int rh_scatter(struct rh_set *set, int root, const void *source, void *target, size_t length)
{
    int result = begin(set, SET_CALL_SCATTER, root, length);
    if (result < 0)
        return result;
    size_t part = collective_part(set);
    unsigned stage = 0;
    for (size_t at = 0; at < length && result == 0; at += part, stage ^= 1) {
        size_t block = collective_min(length - at, part);
        uint64_t offset = collective_stage(set, stage);
        if (set->me == root)
            stage_parts(set, offset, (const char *)source + at, length, block);
        result = set_sync(set);
        if (result == 0)
            result = collective_pull(set, root, offset + (size_t)set->me * part,
                                     (char *)target + at, block);
    }
    return result == 0 ? set_sync(set) : result;
}

int rh_alltoall(struct rh_set *set, const void *source, void *target, size_t length)
{
    int result = begin(set, SET_CALL_ALLTOALL, 0, length);
    if (result < 0)
        return result;
    size_t part = collective_part(set);
    unsigned stage = 0;
    for (size_t at = 0; at < length && result == 0; at += part, stage ^= 1) {
        size_t block = collective_min(length - at, part);
        uint64_t offset = collective_stage(set, stage);
        stage_parts(set, offset, (const char *)source + at, length, block);
        result = set_sync(set);
        for (int i = 0; i < set->size && result == 0; i++) {
            int from = (set->me + i) % set->size; /* not all at the same one */
            result = collective_pull(set, from, offset + (size_t)set->me * part,
                                     (char *)target + (size_t)from * length + at, block);
        }
    }
    return result == 0 ? set_sync(set) : result;
}
