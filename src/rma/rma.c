/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote memory for programs. What is short and usual takes the short way (reach.h), into the
 * peer's memory itself. For all else, each call checks what the NIC may take for granted, asks the
 * NIC, and counts: then a push is two function calls away from its copy.
 */
#include "rma/rma.h"
#include "base/fence.h"
#include "rma/reach.h"

#include <string.h>

int rma_refuse_rank(const struct rh_job *job, int rank)
{
    return error_fail(RH_EINVALID, "rank %d is outside the job, which has ranks 0 to %d", rank,
                      job->nic_job.size - 1);
}

/* ---- Push and pull -------------------------------------------------------------------------- */

static inline int push(struct rh_job *job, struct rh_remote target, const void *source,
                       size_t length, const struct nic_extra *extra)
{
    if (unlikely(!rma_rank_is_valid(job, target.rank)))
        return rma_refuse_rank(job, target.rank);
    int result = job->nic->ops->push(job->nic, target, source, length, extra);
    if (unlikely(result < 0))
        return result;
    counter_add(job->counters, COUNTER_PUSH, 1);
    counter_add(job->counters, COUNTER_PUSH_BYTES, length);
    return 0;
}

static inline int pull(struct rh_job *job, struct rh_remote source, void *target, size_t length,
                       const struct nic_extra *extra)
{
    if (unlikely(!rma_rank_is_valid(job, source.rank)))
        return rma_refuse_rank(job, source.rank);
    int result = job->nic->ops->pull(job->nic, source, target, length, extra);
    if (unlikely(result < 0))
        return result;
    counter_add(job->counters, COUNTER_PULL, 1);
    counter_add(job->counters, COUNTER_PULL_BYTES, length);
    return 0;
}

static rare_path int push_by_nic(struct rh_job *job, struct rh_remote target, const void *source,
                                 size_t length)
{
    int result = push(job, target, source, length, NULL);
    if (result == 0 && length <= REACH_LENGTH)
        reach_make(job, target);
    return result;
}

int rh_push(struct rh_job *job, struct rh_remote target, const void *source, size_t length)
{
    const struct job_reach *reach = reach_find(job, target, length, RH_WRITE);
    if (unlikely(length > REACH_LENGTH || !reach))
        return push_by_nic(job, target, source, length);
    reach_write(reach->base + target.offset, source, length);
    counter_add(job->counters, COUNTER_PUSH, 1);
    counter_add(job->counters, COUNTER_PUSH_BYTES, length);
    return reach_wrote(job, reach, target.rank);
}

static rare_path int pull_by_nic(struct rh_job *job, struct rh_remote source, void *target,
                                 size_t length)
{
    int result = pull(job, source, target, length, NULL);
    if (result == 0 && length <= REACH_LENGTH)
        reach_make(job, source);
    return result;
}

int rh_pull(struct rh_job *job, struct rh_remote source, void *target, size_t length)
{
    const struct job_reach *reach = reach_find(job, source, length, RH_READ);
    if (unlikely(length > REACH_LENGTH || !reach))
        return pull_by_nic(job, source, target, length);
    reach_read(target, reach->base + source.offset, length);
    load_fence();
    if (unlikely(!reach_stands(reach))) /* these may be no one's bytes */
        return pull_by_nic(job, source, target, length);
    counter_add(job->counters, COUNTER_PULL, 1);
    counter_add(job->counters, COUNTER_PULL_BYTES, length);
    return 0;
}

/* The flag may be set before the NIC's call returns, so it is cleared first, and put back if the
 * operation never started. */
int rh_push_start(struct rh_job *job, struct rh_remote target, const void *source, size_t length,
                  struct rh_done *done)
{
    struct rh_done before = *done;
    struct nic_extra extra = {.done = done};
    *done = (struct rh_done){.rank = target.rank};
    int result = push(job, target, source, length, &extra);
    if (result < 0)
        *done = before;
    return result;
}

int rh_pull_start(struct rh_job *job, struct rh_remote source, void *target, size_t length,
                  struct rh_done *done)
{
    struct rh_done before = *done;
    struct nic_extra extra = {.done = done};
    *done = (struct rh_done){.rank = source.rank};
    int result = pull(job, source, target, length, &extra);
    if (result < 0)
        *done = before;
    return result;
}

int rh_push_notify(struct rh_job *job, struct rh_remote target, const void *source, size_t length,
                   const struct rh_notice *notice)
{
    struct nic_extra extra = {.notice = notice};
    if (notice->word.rank != target.rank)
        return error_set(
            RH_EINVALID, target.rank,
            "the data goes to rank %d but the notice to rank %d; both must be the same",
            target.rank, notice->word.rank);
    return push(job, target, source, length, &extra);
}

int rh_push_ordered(struct rh_job *job, struct rh_remote target, const void *source, size_t length)
{
    struct rh_notice last = {.word = target};
    struct nic_extra extra = {.notice = &last, .notice_follows = true};
    if (unlikely(length < sizeof(last.value) || (target.offset + length) % 8 != 0))
        return error_set(RH_EINVALID, target.rank,
                         "a push in order of %zu bytes to offset %llu: it must have at least 8 and "
                         "end at a multiple of 8",
                         length, (unsigned long long)target.offset);
    length -= sizeof(last.value);
    last.word.offset += length;
    memcpy(&last.value, (const char *)source + length, sizeof(last.value));
    int result = push(job, target, source, length, &extra);
    if (likely(result == 0)) /* the program's data, other than a notice */
        counter_add(job->counters, COUNTER_PUSH_BYTES, sizeof(last.value));
    return result;
}

int rma_push_notify_start(struct rh_job *job, struct rh_remote target, const void *source,
                          size_t length, const struct rh_notice *notice, struct rh_done *done)
{
    ASSERT(notice->word.rank == target.rank);
    struct nic_extra extra = {.notice = notice, .done = done};
    *done = (struct rh_done){.rank = target.rank};
    return push(job, target, source, length, &extra);
}

int rma_push_notify_inline(struct rh_job *job, struct rh_remote target, const void *source,
                           size_t length, const struct rh_notice *notice)
{
    ASSERT(notice->word.rank == target.rank);
    ASSERT(length <= RH_INLINE_MAX);
    struct nic_extra extra = {.notice = notice, .is_inline = true, .is_nonblocking = true};
    return push(job, target, source, length, &extra);
}

static rare_path int inline_by_nic(struct rh_job *job, struct rh_remote target, const void *source,
                                   size_t length)
{
    static const struct nic_extra extra = {.is_inline = true};
    if (unlikely(length > RH_INLINE_MAX))
        return error_set(RH_ETOOBIG, target.rank, "an inline push carries up to %d bytes, not %zu",
                         RH_INLINE_MAX, length);
    if (unlikely(!rma_rank_is_valid(job, target.rank)))
        return rma_refuse_rank(job, target.rank);
    int result = job->nic->ops->push(job->nic, target, source, length, &extra);
    if (unlikely(result < 0))
        return result;
    counter_add(job->counters, COUNTER_INLINE, 1);
    counter_add(job->counters, COUNTER_PUSH_BYTES, length);
    if (length <= REACH_LENGTH)
        reach_make(job, target);
    return 0;
}

int rh_push_inline(struct rh_job *job, struct rh_remote target, const void *source, size_t length)
{
    const struct job_reach *reach = reach_find(job, target, length, RH_WRITE);
    if (unlikely(length > REACH_LENGTH || !reach))
        return inline_by_nic(job, target, source, length);
    reach_write(reach->base + target.offset, source, length);
    counter_add(job->counters, COUNTER_INLINE, 1);
    counter_add(job->counters, COUNTER_PUSH_BYTES, length);
    return reach_wrote(job, reach, target.rank);
}

/* ---- Order and waiting ---------------------------------------------------------------------- */

static rare_path int flush_by_nic(struct rh_job *job, int rank)
{
    if (rank != RH_ANY_RANK && !rma_rank_is_valid(job, rank))
        return rma_refuse_rank(job, rank);
    counter_add(job->counters, COUNTER_FLUSH, 1);
    return job->nic->ops->flush(job->nic, rank);
}

int rh_flush(struct rh_job *job, int rank)
{
    if (unlikely(!job->nic->fence_flushes || !rma_rank_is_valid(job, rank) ||
                 roster_state(job->nic_job.roster, rank) >= RH_PEER_LEFT))
        return flush_by_nic(job, rank);
    full_fence();
    counter_add(job->counters, COUNTER_FLUSH, 1);
    return 0;
}

static inline bool is_sound(const struct rh_job *job, const struct rh_wait *wait)
{
    return wait->word && (uintptr_t)wait->word % 8 == 0 && (unsigned)wait->when <= RH_AT_LEAST &&
           wait->from >= RH_ANY_RANK && wait->from < job->nic_job.size;
}

static int refuse_wait(const struct rh_job *job, const struct rh_wait *wait)
{
    if (wait->from != RH_ANY_RANK && !rma_rank_is_valid(job, wait->from))
        return rma_refuse_rank(job, wait->from);
    return error_fail(RH_EINVALID,
                      "wait for the word at %p: it must be 8-byte aligned, the condition RH_EQUAL, "
                      "RH_NOT_EQUAL or RH_AT_LEAST",
                      (const void *)wait->word);
}

int rma_wait_word(struct rh_job *job, const struct rh_wait *wait, struct stall_watch *stall)
{
    if (unlikely(!is_sound(job, wait)))
        return refuse_wait(job, wait);
    struct nic_wait request = {.word = wait->word,
                               .when = wait->when,
                               .value = wait->value,
                               .stall = stall,
                               .from = wait->from,
                               .timeout_ns = rma_timeout_ns(job, wait->timeout_ns)};
    counter_add(job->counters, COUNTER_WAIT, 1);
    return job->nic->ops->wait(job->nic, &request);
}

/* Whether the word may be looked at, and is as it is waited for soon. If not, the NIC looks as
 * often once more, and then at everything else. */
static inline bool comes_soon(struct rh_job *job, const struct rh_wait *wait)
{
    const _Atomic uint32_t *looks = job->nic->looks_first;
    return likely(looks && wait->timeout_ns != 0 && is_sound(job, wait)) &&
           nic_spin_on_word(wait->word, wait->when, wait->value,
                            atomic_load_explicit(looks, memory_order_relaxed));
}

int rh_wait_word(struct rh_job *job, const struct rh_wait *wait)
{
    if (unlikely(!comes_soon(job, wait)))
        return rma_wait_word(job, wait, NULL);
    counter_add(job->counters, COUNTER_WAIT, 1);
    return 0;
}

int rh_wait_for(struct rh_job *job, const uint64_t *word, uint64_t value, int from,
                const char *what)
{
    struct rh_wait wait = {word, RH_AT_LEAST, value, from, RH_TIMEOUT_DEFAULT};
    int result = rh_wait_word(job, &wait);
    if (unlikely(what && (result == RH_ETIMEOUT || result == RH_EDEAD))) {
        struct error_state said;
        error_save(&said);
        return error_set(result, said.rank, "waiting for %s: %s", what, said.text);
    }
    return result;
}

int rh_wait_until(struct rh_job *job, const struct rh_until *until)
{
    return rma_wait_until(job, until, NULL);
}

int rma_wait_until(struct rh_job *job, const struct rh_until *until, rma_describe describe)
{
    if (unlikely(until->from != RH_ANY_RANK && !rma_rank_is_valid(job, until->from)))
        return rma_refuse_rank(job, until->from);
    struct nic_wait request = {.is_met = until->is_met,
                               .describe = describe,
                               .context = until->context,
                               .from = until->from,
                               .timeout_ns = rma_timeout_ns(job, until->timeout_ns),
                               .until = until};
    counter_add(job->counters, COUNTER_WAIT, 1);
    return job->nic->ops->wait(job->nic, &request);
}

void rma_progress(struct rh_job *job)
{
    uint64_t never = 0;
    struct nic_wait look = {.word = &never, .when = RH_NOT_EQUAL, .from = job->nic_job.rank};
    job->nic->ops->wait(job->nic, &look);
}

void rma_copied(struct rh_job *job, uint64_t length)
{
    job->nic->ops->copied(job->nic, length);
}

/* ---- Counters ------------------------------------------------------------------------------- */

int rh_counter(const struct rh_job *job, const char *name, uint64_t *value)
{
    for (unsigned i = 0; i < COUNTERS_MAX; i++) {
        const struct counter_spec *spec = counter_spec(i);
        if (spec && (strcmp(spec->name, name) == 0 || (spec->was && !strcmp(spec->was, name)))) {
            *value = counter_read(job->counters, i);
            return 0;
        }
    }
    return error_fail(RH_EINVALID,
                      "there is no counter \"%s\"; `rhinet info --counters` lists them", name);
}
