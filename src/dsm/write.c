/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Acquiring for writing when this rank does not own the variable, or somebody stands in the way;
 * and making the copies of others invalid.
 */
#include "dsm/step.h"
#include "rma/inside.h"

/* ---- Being alone ---------------------------------------------------------------------------- */

/* Copies that were there: groups of ranks that had one, and of those who had read it. */
struct copies {
    uint64_t had, used;
};

/* Make one rank's copy invalid. Waits while it is being read. */
static int invalidate(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, struct copies *copies,
                      struct dsm_patience *patience)
{
    struct dsm_await await = {.from = rank}; /* for the signal only */
    uint64_t word, old;
    struct dsm_step step = {0}; /* in doubt: one copy too few later does no harm */
    while (!dsm_is_gone(dsm, rank)) {
        await.seen = dsm_own_signal(dsm, variable);
        int result = dsm_load(dsm, rank, variable, DSM_WORD, &word);
        if (result < 0)
            return result == RH_EDEAD ? 0 : result;
        if (!(word & (WORD_VALID | WORD_FETCHING)))
            return 0;
        if (!(word & (WORD_READERS | WORD_FETCHING))) {
            uint64_t next = word_with_hint(word & ~(WORD_VALID | WORD_FRESH), dsm->rank);
            result = dsm_word_swap(dsm, rank, variable, &word, next, &step);
            if (result > 0) {
                copies->had |= word_copy(rank);
                copies->used |= word & WORD_FRESH ? 0 : word_copy(rank);
                dsm_count(dsm, variable, invalidations, COUNTER_DSM_INVALIDATE, 1);
                return 0;
            }
        } else {
            copies->had |= word_copy(rank);
            copies->used |= word_copy(rank);
            result = dsm_or(dsm, rank, variable, DSM_WAITERS_WRITE, dsm_bit(dsm->rank), &old);
            if (result == 0)
                result = dsm_or(dsm, rank, variable, DSM_WORD, WORD_WANTED, &old);
            if (result == 0 && (old & (WORD_READERS | WORD_FETCHING)))
                result = dsm_await(dsm, variable, &await, patience);
        }
        if (result < 0 && result != RH_EDEAD)
            return result;
    }
    return 0;
}

static int invalidate_all(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t groups,
                          struct copies *copies, struct dsm_patience *patience)
{
    for (int rank = 0; rank < dsm->size; rank++) {
        if (rank == dsm->rank || !(groups & word_copy(rank)))
            continue;
        int result = invalidate(dsm, variable, rank, copies, patience);
        if (result < 0)
            return result;
    }
    return 0;
}

int dsm_write_alone(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_OWNER);
    ASSERT(dsm_own_word(dsm, variable) & WORD_WRITER);
    uint64_t groups = dsm_own_word(dsm, variable) & WORD_COPIES;
    struct copies copies = {0, 0};
    if (groups != 0) {
        int result = invalidate_all(dsm, variable, groups, &copies, patience);
        if (result < 0) {
            dsm_write_end(dsm, variable);
            return result;
        }
        /* Bits that came meanwhile are of ranks that were refused. */
        __atomic_fetch_and(&dsm->entries[variable].word, ~WORD_COPIES, __ATOMIC_SEQ_CST);
    }
    dsm_write_begin(dsm, variable, copies.had, copies.used);
    return 0;
}

/* ---- Becoming the owner --------------------------------------------------------------------- */

/* The source is alive, and its data is as it was, since nobody has got any from us: make it the
 * owner again. It may not have stepped down yet, which would undo that. */
static int give_back(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_step *step)
{
    int source = step->rank;
    struct dsm_patience patience = {.purpose = "give back",
                                    .timeout_ns = rma_timeout_ns(dsm->job, RH_TIMEOUT_DEFAULT)};
    uint64_t copies = dsm_own_word(dsm, variable) & WORD_COPIES, word = 0;
    int result = 0;
    while (result == 0 && !dsm_is_gone(dsm, source)) {
        result = dsm_load(dsm, source, variable, DSM_WORD, &word);
        if (result == 0 && (word & WORD_OWNER))
            result = dsm_nap(dsm, variable, &patience);
        else if (result == 0)
            result = dsm_word_swap(dsm, source, variable, &word,
                                   word_with_hint(word | WORD_OWNER | WORD_VALID | copies, source),
                                   step);
    }
    rh_wake(dsm->job, source);
    return result < 0 && !dsm_is_gone(dsm, source) ? result : 0;
}

void dsm_own_drop(struct rh_dsm *dsm, rh_dsm_variable variable, int source)
{
    uint64_t word = dsm_own_word(dsm, variable), next;
    do
        next = word_with_hint(word & (WORD_BUSY | WORD_READERS), source);
    while (!dsm_own_swap_if(dsm, variable, &word, next));
    dsm_waiters_signal(dsm, variable);
}

/* There is nothing to own here. Who waits here looks elsewhere. If the source does not take it back
 * either, this rank keeps it, and gets the data when it can. */
rare_path int dsm_disown(struct rh_dsm *dsm, rh_dsm_variable variable, int source, int code)
{
    struct dsm_step step = {.rank = source};
    int result = code == RH_EDEAD ? 0 : give_back(dsm, variable, &step);
    if (result == RH_ETIMEOUT) {
        dsm_step_keep(dsm, variable, step.ticket.is_open ? DSM_STEP_RETURN : DSM_STEP_FETCH, &step);
        return code;
    }
    dsm_own_drop(dsm, variable, source);
    if (code != RH_EDEAD)
        return code;
    return error_set(RH_EDEAD, source, "rank %d died before it had handed on variable %u", source,
                     variable);
}

/* The own word has just become OWNER and WRITER: get the data from where it was, unless this rank
 * had a valid copy, and be alone. */
static int begin(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience)
{
    uint64_t word = dsm_own_word(dsm, variable);
    int source = word_hint(word);
    ASSERT(word & WORD_OWNER);
    ASSERT(word & WORD_WRITER);
    if (!(word & WORD_VALID)) {
        int result = dsm_data_pull(dsm, variable, source, patience);
        if (result < 0)
            return dsm_disown(dsm, variable, source, result);
        __atomic_fetch_or(&dsm->entries[variable].word, WORD_VALID, __ATOMIC_SEQ_CST);
    }
    struct dsm_own *own = &dsm->own[variable];
    if (source != dsm->rank) {
        dsm_count(dsm, variable, write_misses, COUNTER_DSM_OWN, 1);
        dsm_count(dsm, variable, bounces, COUNTER_DSM_BOUNCE, own->last_source == source);
        own->last_source = source;
        own->has_begin_work = dsm->bindings[variable].stamps != 0;
    }
    if (likely(!(word & WORD_COPIES) && !own->has_begin_work))
        return 0;
    return dsm_write_alone(dsm, variable, patience);
}

int dsm_become_owner(struct rh_dsm *dsm, rh_dsm_variable variable, int target, uint64_t taken,
                     uint64_t hold)
{
    ASSERT(hold == WORD_WRITER || hold == WORD_SERVING);
    ASSERT(word_is_free(taken));
    ASSERT(target != dsm->rank);
    uint64_t word = dsm_own_word(dsm, variable), next;
    if (unlikely(dsm_is_gone(dsm, target))) /* its word counts no more */
        return 0;
    do
        next = word_with_hint((word & ~(WORD_TAKING | WORD_COPIES | WORD_FRESH)) | WORD_OWNER |
                                  hold | (taken & WORD_COPIES & ~word_copy(dsm->rank)),
                              target);
    while (!dsm_own_swap_if(dsm, variable, &word, next));
    if (unlikely(dsm->size > WORD_COPY_GROUPS)) /* others share our bit */
        __atomic_fetch_or(&dsm->entries[variable].word, taken & word_copy(dsm->rank),
                          __ATOMIC_SEQ_CST);
    if (unlikely(taken & WORD_WANTED) && hold == WORD_WRITER)
        dsm_waiters_inherit(dsm, variable, target);
    return 1;
}

/* ---- Waiting for it ------------------------------------------------------------------------- */

/* No longer in the queue. 1: granted; 0: go on, TAKING is set. */
static int end_wait(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t word = dsm_own_word(dsm, variable);
    while (word & WORD_WAIT_WRITE) {
        if (dsm_own_swap_if(dsm, variable, &word, word & ~WORD_WAIT_WRITE))
            return 0;
    }
    __atomic_fetch_and(&dsm->entries[variable].word, ~WORD_TAKING, __ATOMIC_SEQ_CST);
    return 1;
}

static int queue_up(struct rh_dsm *dsm, rh_dsm_variable variable, int target,
                    struct dsm_patience *patience)
{
    struct dsm_await await = {.mask = WORD_WAIT_WRITE,
                              .value = WORD_WAIT_WRITE,
                              .seen = dsm_own_signal(dsm, variable),
                              .from = target};
    uint64_t old;
    dsm_count(dsm, variable, waits, COUNTER_DSM_WAIT, 1);
    __atomic_fetch_or(&dsm->entries[variable].word, WORD_WAIT_WRITE, __ATOMIC_SEQ_CST);
    int result = dsm_or(dsm, target, variable, DSM_WAITERS_WRITE, dsm_bit(dsm->rank), &old);
    if (result == 0)
        result = dsm_or(dsm, target, variable, DSM_WORD, WORD_WANTED, &old);
    if (result == 0 && (old & WORD_OWNER) && !word_is_free(old))
        result = dsm_await(dsm, variable, &await, patience);
    if (end_wait(dsm, variable) != 0)
        return 1;
    return result == RH_EDEAD ? 0 : result;
}

/* Threads of this rank read their copy: they must be through first. */
static int await_own_readers(struct rh_dsm *dsm, rh_dsm_variable variable,
                             struct dsm_patience *patience)
{
    struct dsm_await await = {
        .mask = WORD_READERS, .seen = dsm_own_signal(dsm, variable), .from = dsm->rank};
    struct dsm_entry *entry = &dsm->entries[variable];
    __atomic_fetch_or(&entry->waiters_write, dsm_bit(dsm->rank), __ATOMIC_SEQ_CST);
    uint64_t old = __atomic_fetch_or(&entry->word, WORD_WANTED, __ATOMIC_SEQ_CST);
    await.value = old & WORD_READERS;
    return await.value == 0 ? 0 : dsm_await(dsm, variable, &await, patience);
}

/* This rank owns it, as `word` says. 1: and now has it. */
static int take_at_home(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t word,
                        struct dsm_patience *patience)
{
    if (!word_is_free(word))
        return queue_up(dsm, variable, dsm->rank, patience);
    uint64_t next = word_with_hint((word & ~WORD_TAKING) | WORD_WRITER, dsm->rank);
    return dsm_own_swap_if(dsm, variable, &word, next);
}

/* Ask one rank. 1: this rank owns it; 0: ask on, perhaps elsewhere. The own word is TAKING. */
static int take_from(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_search *search,
                     struct dsm_patience *patience, struct dsm_step *step)
{
    ASSERT(search->target != dsm->rank);
    ASSERT(dsm_own_word(dsm, variable) & WORD_TAKING);
    int target = search->target;
    uint64_t word = 0;
    if (unlikely(dsm_is_gone(dsm, target)))
        return dsm_owner_find(dsm, variable, search, patience);
    int result = dsm_load(dsm, target, variable, DSM_WORD, &word);
    if (result == 0 && !(word & WORD_OWNER))
        return dsm_follow(dsm, variable, search, word, patience);
    if (result == 0 && !word_is_free(word))
        return queue_up(dsm, variable, target, patience);
    if (result == 0) {
        uint64_t next = word_with_hint(word & WORD_BUSY, dsm->rank);
        result = dsm_word_swap(dsm, target, variable, &word, next, step);
    }
    if (result > 0)
        return dsm_become_owner(dsm, variable, target, word, WORD_WRITER);
    return result == RH_EDEAD ? 0 : result;
}

/* The own word is TAKING: find the owner and become it. 1: done, the word is OWNER and WRITER, and
 * TAKING no more. RH_ETIMEOUT: if the step is open, this rank may own it. */
static int take(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience,
                struct dsm_step *step)
{
    struct dsm_search search = {.target = word_hint(dsm_own_word(dsm, variable))};
    int result = 0;
    while (result == 0) {
        uint64_t word = dsm_own_word(dsm, variable);
        if (word & WORD_OWNER) {
            result = take_at_home(dsm, variable, word, patience);
            continue;
        }
        if (unlikely(word & WORD_READERS)) {
            result = await_own_readers(dsm, variable, patience);
            continue;
        }
        if (unlikely(search.target == dsm->rank))
            search.target = word_hint(word);
        if (unlikely(search.target == dsm->rank))
            result = dsm_owner_find(dsm, variable, &search, patience);
        if (result == 0 && search.target != dsm->rank)
            result = take_from(dsm, variable, &search, patience, step);
    }
    return result;
}

/* Not acquired: let the other threads of this rank try, and tell who wanted our copy. */
void dsm_own_give_up(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t word = dsm_own_word(dsm, variable), next;
    do {
        ASSERT(word & WORD_TAKING);
        next = word & ~WORD_TAKING;
        if (!(word & (WORD_OWNER | WORD_READERS)))
            next &= ~WORD_WANTED;
    } while (!dsm_own_swap_if(dsm, variable, &word, next));
    if ((word & ~next) & WORD_WANTED)
        dsm_waiters_signal(dsm, variable);
    rh_wake(dsm->job, dsm->rank);
}

int dsm_own_begin(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience)
{
    for (;;) {
        uint64_t word = dsm_own_word(dsm, variable);
        if (!(word & WORD_BUSY)) {
            if (dsm_own_swap_if(dsm, variable, &word, word | WORD_TAKING))
                return 0;
            continue;
        }
        struct dsm_await await = {.mask = WORD_BUSY,
                                  .value = word & WORD_BUSY,
                                  .seen = dsm_own_signal(dsm, variable),
                                  .from = dsm->rank};
        int result = dsm_await(dsm, variable, &await, patience);
        if (result < 0)
            return result;
    }
}

int dsm_write_slow(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    struct dsm_patience patience = {.purpose = "write",
                                    .timeout_ns = rma_timeout_ns(dsm->job, timeout_ns)};
    struct dsm_step step = {0};
    dsm_settle(dsm);
    int result = dsm_own_begin(dsm, variable, &patience);
    if (result < 0)
        return result;
    result = take(dsm, variable, &patience, &step);
    if (result < 0 && step.ticket.is_open) {
        dsm_step_keep(dsm, variable, DSM_STEP_TAKE, &step);
        return result;
    }
    if (result < 0) {
        dsm_own_give_up(dsm, variable);
        return result;
    }
    rh_wake(dsm->job, dsm->rank); /* threads that waited for us may be served next */
    return begin(dsm, variable, &patience);
}
