/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Acquiring for reading when there is no valid copy, or somebody stands in the way.
 */
#include "dsm/reach.h"
#include "rma/inside.h"

/* Change the own word, whatever else changes in it meanwhile, as long as `needed` is set. Returns
 * the word as it was; if needed was not set, nothing has changed. If somebody wanted the own copy,
 * and it stops being one that must be waited for, they are told. */
static uint64_t leave(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t needed, uint64_t set)
{
    uint64_t word = dsm_own_word(dsm, variable), next;
    do {
        if ((word & needed) != needed)
            return word;
        next = (word & ~needed) | set;
        if (!(next & (WORD_OWNER | WORD_FETCHING | WORD_READERS)))
            next &= ~WORD_WANTED;
    } while (!dsm_own_swap_if(dsm, variable, &word, next));
    if ((word & ~next) & WORD_WANTED)
        dsm_waiters_signal(dsm, variable);
    rh_wake(dsm->job, dsm->rank); /* threads of this rank that wait for us */
    return word;
}

/* The owner lets us read: bring the data here. FETCHING is set and keeps writers waiting. 1:
 * acquired; 0: the owner is gone. Unless acquired, FETCHING is still set. */
static int fetch(struct rh_dsm *dsm, rh_dsm_variable variable, int owner,
                 struct dsm_patience *patience)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_FETCHING);
    int result = dsm_data_pull(dsm, variable, owner, patience);
    if (result < 0)
        return result == RH_EDEAD ? 0 : result;
    uint64_t word = dsm_own_word(dsm, variable), next;
    do
        next = word_with_hint((word & ~(WORD_FETCHING | WORD_FRESH)) | WORD_VALID, owner) +
               WORD_READER_ONE;
    while (!dsm_own_swap_if(dsm, variable, &word, next));
    dsm_count(dsm, variable, read_misses, COUNTER_DSM_FETCH, 1);
    rh_wake(dsm->job, dsm->rank);
    return 1;
}

/* No longer in the queue: granted with the data (VALID and one reader more), granted to fetch, or
 * not granted. 1: acquired; else FETCHING is set, even if this rank is the owner: it says that this
 * thread is still at it. */
static int end_wait(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience)
{
    uint64_t word = dsm_own_word(dsm, variable);
    while (word & WORD_WAIT_READ) {
        uint64_t next = (word & ~WORD_WAIT_READ) | WORD_FETCHING;
        if (dsm_own_swap_if(dsm, variable, &word, next))
            return 0;
    }
    if (word & WORD_FETCHING)
        return fetch(dsm, variable, word_hint(word), patience);
    __atomic_fetch_and(&dsm->entries[variable].word, ~WORD_GRANTED, __ATOMIC_SEQ_CST);
    rh_wake(dsm->job, dsm->rank);
    return 1;
}

/* The target owns it and is busy: queue up there, and wait. As end_wait(). */
static int queue_up(struct rh_dsm *dsm, rh_dsm_variable variable, int target,
                    struct dsm_patience *patience)
{
    struct dsm_await await = {.mask = WORD_WAIT_READ,
                              .value = WORD_WAIT_READ,
                              .seen = dsm_own_signal(dsm, variable),
                              .from = target};
    uint64_t old;
    int result = dsm_or(dsm, target, variable, DSM_WAITERS_READ, dsm_bit(dsm->rank), &old);
    if (result == 0)
        result = dsm_or(dsm, target, variable, DSM_WORD, WORD_WANTED, &old);
    if (result == 0 && (old & WORD_OWNER) && !word_is_readable(old))
        result = dsm_await(dsm, variable, &await, patience);
    int granted = end_wait(dsm, variable, patience);
    if (granted != 0)
        return granted;
    return result == RH_EDEAD ? 0 : result; /* the search looks for another owner */
}

/* Ask one rank. 1: acquired; 0: ask on, perhaps elsewhere. The own word is FETCHING. */
static int ask(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_search *search,
               struct dsm_patience *patience)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_FETCHING);
    uint64_t old = 0;
    if (dsm_is_gone(dsm, search->target))
        return dsm_owner_find(dsm, variable, search, patience);
    int result = dsm_or(dsm, search->target, variable, DSM_WORD, word_copy(dsm->rank), &old);
    if (result == RH_EDEAD || dsm_is_gone(dsm, search->target))
        return 0;
    if (result < 0)
        return result;
    if (likely(word_is_readable(old)))
        return fetch(dsm, variable, search->target, patience);
    if (!(old & WORD_OWNER))
        return dsm_follow(dsm, variable, search, old, patience);
    dsm_count(dsm, variable, waits, COUNTER_DSM_WAIT, 1);
    leave(dsm, variable, WORD_FETCHING, WORD_WAIT_READ);
    return queue_up(dsm, variable, search->target, patience);
}

/* The own word is FETCHING: find the owner and get the data. */
static int fetch_from_owner(struct rh_dsm *dsm, rh_dsm_variable variable,
                            struct dsm_patience *patience)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_FETCHING);
    struct dsm_search search = {.target = word_hint(dsm_own_word(dsm, variable))};
    int result = 0;
    while (result == 0) {
        uint64_t word = dsm_own_word(dsm, variable);
        if (unlikely(search.target == dsm->rank && !(word & WORD_OWNER)))
            search.target = word_hint(word);
        if (unlikely(search.target == dsm->rank)) /* points at itself: it was adopted elsewhere */
            result = dsm_owner_find(dsm, variable, &search, patience);
        if (result == 0)
            result = ask(dsm, variable, &search, patience);
    }
    if (result < 0)
        leave(dsm, variable, WORD_FETCHING, 0);
    return result < 0 ? result : 0;
}

/* The owner is this rank: another thread of it writes, or others are before us. 1: acquired. */
static int wait_at_home(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t word,
                        struct dsm_patience *patience)
{
    if (!(word & (WORD_TAKEN | WORD_READERS))) { /* wanted, but nobody is there to hand it on */
        if (dsm_own_swap_if(dsm, variable, &word, word | WORD_SERVING))
            dsm_serve(dsm, variable);
        return 0;
    }
    if (!dsm_own_swap_if(dsm, variable, &word, word | WORD_WAIT_READ))
        return 0;
    dsm_count(dsm, variable, waits, COUNTER_DSM_WAIT, 1);
    int result = queue_up(dsm, variable, dsm->rank, patience);
    if (result <= 0)
        leave(dsm, variable, WORD_FETCHING, 0);
    return result;
}

/* Another thread of this rank is at it, or the copy is being given up: wait for a change. */
static int wait_for_threads(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t word,
                            struct dsm_patience *patience)
{
    const uint64_t mask = WORD_BUSY | WORD_WANTED | WORD_VALID | WORD_READERS;
    struct dsm_await await = {.mask = mask,
                              .value = word & mask,
                              .seen = dsm_own_signal(dsm, variable),
                              .from = dsm->rank};
    return dsm_await(dsm, variable, &await, patience);
}

/* A valid copy that somebody wants, or seems to want. */
static int enter_wanted(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t word,
                        struct dsm_patience *patience)
{
    if (word & WORD_READERS)
        return wait_for_threads(dsm, variable, word, patience);
    if (dsm_own_swap_if(dsm, variable, &word, word & ~WORD_WANTED))
        dsm_waiters_signal(dsm, variable);
    return 0;
}

int dsm_read_slow(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    struct dsm_patience patience = {.purpose = "read",
                                    .timeout_ns = rma_timeout_ns(dsm->job, timeout_ns)};
    dsm_settle(dsm);
    for (int result = 0;;) {
        uint64_t word = dsm_own_word(dsm, variable);
        bool is_stopped = word & (WORD_TAKEN | WORD_BUSY | WORD_WANTED);
        if ((word & WORD_VALID) && !is_stopped && (word & WORD_READERS) != WORD_READERS) {
            if (dsm_own_swap_if(dsm, variable, &word, (word + WORD_READER_ONE) & ~WORD_FRESH)) {
                dsm_stat_add(&dsm->own[variable].stat.read_hits, 1);
                return 0;
            }
        } else if (word & WORD_BUSY) {
            result = wait_for_threads(dsm, variable, word, &patience);
        } else if (word & WORD_OWNER) {
            result = wait_at_home(dsm, variable, word, &patience);
        } else if (word & WORD_VALID) {
            result = enter_wanted(dsm, variable, word, &patience);
        } else if (dsm_own_swap_if(dsm, variable, &word, word | WORD_FETCHING)) {
            return fetch_from_owner(dsm, variable, &patience);
        }
        if (result != 0)
            return result < 0 ? result : 0;
    }
}
