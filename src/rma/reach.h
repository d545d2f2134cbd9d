/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short way: a few bytes, or one word, of a peer's plain memory on this host, when nothing is
 * unusual. It is what most operations are, and its length is their latency: a store is seen by the
 * peer only when everything before it is done. So it calls nothing and asks each question once;
 * what does not fit is left to the NIC, which finds out why.
 *
 * What has been found out about a segment, a reach, is kept in a slot of the job until the job is
 * left, and its view with it: who holds one while it is replaced writes where rh_store() would,
 * into a mapping that nobody reads any more. So no lock or guard is needed here, and a mapping of
 * each of the few that are ever made. (One's own memory is unmapped by the detach: whoever writes
 * it meanwhile, by whatever call, writes what the program itself has given away.) There are few
 * slots; a segment that finds none does without.
 */
#pragma once

#include "base/small_copy.h"
#include "rma/rma.h"

#define REACH_LENGTH 64 /* bytes, at most: what small_copy() moves */

/* Called when the short way was not open to a short operation that the NIC carried out: open it,
 * if that is worth while. */
void reach_make(struct rh_job *job, struct rh_remote remote);

static inline uint64_t reach_key(struct rh_remote remote)
{
    return (uint64_t)remote.sid << 32 | (uint32_t)remote.rank;
}

static inline _Atomic(struct job_reach *) *reach_slot(struct rh_job *job, struct rh_remote remote)
{
    /* the highest bits depend on all of the key: SIDs of the library differ from users' in
     * theirs */
    return &job->reach[reach_key(remote) * 0x9E3779B97F4A7C15ULL >> (64 - JOB_REACH_BITS)];
}

static inline bool reach_stands(const struct job_reach *reach)
{
    return atomic_load_explicit(reach->stands, memory_order_acquire) == reach->stood;
}

/* What the peer has there, if the operation may take the short way; else NULL. */
static inline const struct job_reach *reach_find(struct rh_job *job, struct rh_remote remote,
                                                 size_t length, unsigned rights)
{
    const struct job_reach *reach = atomic_load_explicit(reach_slot(job, remote),
                                                         memory_order_acquire);
    if (likely(reach && reach->key == reach_key(remote) && (reach->rights & rights) == rights &&
               remote.offset <= reach->length && length <= reach->length - remote.offset &&
               reach_stands(reach) && roster_peer_state(reach->peer) < RH_PEER_LEFT))
        return reach;
    return NULL;
}

/* After every write: is the owner asleep? The sleeper sees to the order of this (nic/nic.h). */
static inline int reach_wrote(struct rh_job *job, const struct job_reach *reach, int rank)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(atomic_load_explicit(reach->sleeper, memory_order_relaxed) != 0))
        return job->nic->ops->wake(job->nic, rank);
    return 0;
}

/* Words that somebody polls arrive whole, and after what was written before them. */
static inline bool reach_is_word(const char *place, size_t length)
{
    return length == 8 && (uintptr_t)place % 8 == 0;
}

static inline void reach_write(char *place, const void *source, size_t length)
{
    uint64_t word;
    if (likely(reach_is_word(place, length))) {
        memcpy(&word, source, sizeof(word));
        __atomic_store_n((uint64_t *)(void *)place, word, __ATOMIC_RELEASE);
    } else {
        small_copy(place, source, length);
    }
}

static inline void reach_read(void *target, const char *place, size_t length)
{
    if (likely(reach_is_word(place, length))) {
        uint64_t word = __atomic_load_n((const uint64_t *)(const void *)place, __ATOMIC_ACQUIRE);
        memcpy(target, &word, sizeof(word));
    } else {
        small_copy(target, place, length);
    }
}
