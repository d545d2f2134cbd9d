/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of selected parts, and to several targets, made of plain pushes and pulls. The whole
 * range is checked before the first byte moves, so that a refused transfer changes nothing.
 */
#include "rma/rma.h"

#include <string.h>

/* Ask the NIC whether [remote, remote + length) may be accessed. */
static int check_range(struct rh_job *job, struct rh_remote remote, uint64_t length,
                       unsigned rights)
{
    struct nic_view view;
    if (!rma_rank_is_valid(job, remote.rank))
        return rma_refuse_rank(job, remote.rank);
    int result = job->nic->ops->view(job->nic, remote, length, rights, &view);
    if (result == 0 && rights)
        job->nic->ops->view_release(job->nic, &view);
    return result;
}

/* ---- Multicast ------------------------------------------------------------------------------ */

int rh_push_multicast(struct rh_job *job, const struct rh_multicast *targets, const void *source,
                      size_t length)
{
    int first_error = 0;
    int first_rank = ERROR_NO_RANK;
    char text[256] = "";
    for (size_t i = 0; i < targets->rank_count; i++) {
        struct rh_remote target = rh_at(targets->ranks[i], targets->sid, targets->offset);
        int result = rh_push(job, target, source, length);
        if (result < 0 && first_error == 0) {
            first_error = result;
            first_rank = targets->ranks[i];
            strncpy(text, rh_error_text(), sizeof(text) - 1);
        }
    }
    return first_error == 0 ? 0 : error_set(first_error, first_rank, "multicast: %s", text);
}

/* ---- Strided -------------------------------------------------------------------------------- */

static int stride_span(const struct rh_stride *stride, uint64_t step, uint64_t *span)
{
    uint64_t last;
    *span = 0;
    if (stride->block_count == 0)
        return 0;
    if (stride->block_length > step && stride->block_count > 1)
        return error_fail(RH_EINVALID, "a stride of %llu bytes is shorter than its blocks of %llu",
                          (unsigned long long)step, (unsigned long long)stride->block_length);
    if (__builtin_mul_overflow(stride->block_count - 1, step, &last) ||
        __builtin_add_overflow(last, stride->block_length, span))
        return error_fail(RH_EBOUNDS, "%llu blocks %llu bytes apart span too much",
                          (unsigned long long)stride->block_count, (unsigned long long)step);
    return 0;
}

static int check_strides(struct rh_job *job, struct rh_remote remote,
                         const struct rh_stride *stride, uint64_t remote_step, unsigned rights)
{
    uint64_t span, local_span;
    int result = stride_span(stride, remote_step, &span);
    if (result == 0)
        result = stride_span(stride,
                             rights == RH_WRITE ? stride->source_stride : stride->target_stride,
                             &local_span);
    return result < 0 ? result : check_range(job, remote, span, rights);
}

int rh_push_strided(struct rh_job *job, struct rh_remote target, const void *source,
                    const struct rh_stride *stride)
{
    int result = check_strides(job, target, stride, stride->target_stride, RH_WRITE);
    const char *from = source;
    for (uint64_t i = 0; i < stride->block_count && result == 0; i++) {
        result = rh_push(job, target, from, stride->block_length);
        target.offset += stride->target_stride;
        from += stride->source_stride;
    }
    return result;
}

int rh_pull_strided(struct rh_job *job, struct rh_remote source, void *target,
                    const struct rh_stride *stride)
{
    int result = check_strides(job, source, stride, stride->source_stride, RH_READ);
    char *to = target;
    for (uint64_t i = 0; i < stride->block_count && result == 0; i++) {
        result = rh_pull(job, source, to, stride->block_length);
        source.offset += stride->source_stride;
        to += stride->target_stride;
    }
    return result;
}

/* ---- Masked --------------------------------------------------------------------------------- */

static bool bit_is_set(const uint64_t *bitmap, uint64_t at)
{
    return bitmap[at / 64] >> (at % 64) & 1;
}

/* Next run of set bits at or after *first; false if there is none. */
static bool next_run(const uint64_t *bitmap, uint64_t count, uint64_t *first, uint64_t *end)
{
    uint64_t at = *first;
    while (at < count && !bit_is_set(bitmap, at))
        at += at % 64 == 0 && bitmap[at / 64] == 0 ? 64 : 1;
    if (at >= count)
        return false;
    *first = at;
    while (at < count && bit_is_set(bitmap, at))
        at++;
    *end = at;
    return true;
}

int rh_push_masked(struct rh_job *job, struct rh_remote target, const void *source, size_t length,
                   const struct rh_mask *mask)
{
    if (mask->grain == 0)
        return error_set(RH_EINVALID, target.rank, "a mask's grain is at least 1 byte");
    uint64_t count = length / mask->grain + (length % mask->grain != 0);
    uint64_t first = 0, end;
    int result = check_range(job, target, length, RH_WRITE);
    while (result == 0 && next_run(mask->bitmap, count, &first, &end)) {
        uint64_t from = first * mask->grain;
        uint64_t to = end == count ? length : end * mask->grain;
        result = rh_push(job, rh_at(target.rank, target.sid, target.offset + from),
                         (const char *)source + from, to - from);
        first = end;
    }
    return result;
}

/* ---- TWIN/DIFF ------------------------------------------------------------------------------ */

static uint64_t load_word(const char *address)
{
    uint64_t word;
    memcpy(&word, address, sizeof(word));
    return word;
}

/* First byte at or after `at` that differs (or, with `same`, is equal); length if there is none. */
static size_t scan(const char *a, const char *b, size_t at, size_t length, bool same)
{
    while (at < length) {
        if (!same && length - at >= 8 && load_word(a + at) == load_word(b + at)) {
            at += 8;
            continue;
        }
        if ((a[at] == b[at]) == same)
            return at;
        at++;
    }
    return length;
}

int64_t rh_push_diff(struct rh_job *job, struct rh_remote target, const void *source, void *twin,
                     size_t length)
{
    const char *now = source;
    char *before = twin;
    int64_t pushed = 0;
    int result = check_range(job, target, length, RH_WRITE);
    size_t at = result == 0 ? scan(now, before, 0, length, false) : length;
    while (at < length) {
        size_t end = scan(now, before, at, length, true);
        result = rh_push(job, rh_at(target.rank, target.sid, target.offset + at), now + at,
                         end - at);
        if (result < 0)
            return result;
        memcpy(before + at, now + at, end - at);
        pushed += (int64_t)(end - at);
        at = scan(now, before, end, length, false);
    }
    return result < 0 ? result : pushed;
}
