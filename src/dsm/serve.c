/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Releasing what others wait for: all waiting readers get to read, then the next writer becomes the
 * owner. Ranks take turns, beginning after this one, so nobody waits for ever.
 *
 * While a thread serves, the own word is SERVING, and nobody else begins anything with it. A rank
 * that does not answer ends it, so that releasing takes no longer than one time-out: who is not
 * served looks for itself before long. Where it is not known whether a rank was let in, SERVING
 * stays until it is (step.h), and nobody else is served.
 */
#include "dsm/step.h"

uint64_t dsm_signal_value(struct rh_dsm *dsm)
{
    uint64_t count = atomic_fetch_add(&dsm->signal_count, 1) + 1;
    return count << 16 | (unsigned)(dsm->rank + 1);
}

static int dsm_signal(struct rh_dsm *dsm, rh_dsm_variable variable, int rank)
{
    if (dsm_is_gone(dsm, rank))
        return RH_EDEAD;
    return dsm_post(dsm, rank, variable, DSM_SIGNAL, dsm_signal_value(dsm));
}

static void signal_all(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t waiters)
{
    for (int rank = 0; rank < dsm->size && waiters != 0; rank++) {
        if ((waiters & dsm_bit(rank)) && dsm_signal(dsm, variable, rank) == RH_ETIMEOUT)
            return;
    }
}

void dsm_waiters_signal(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_entry *entry = &dsm->entries[variable];
    uint64_t waiters = __atomic_exchange_n(&entry->waiters_read, 0, __ATOMIC_SEQ_CST) |
                       __atomic_exchange_n(&entry->waiters_write, 0, __ATOMIC_SEQ_CST);
    signal_all(dsm, variable, waiters);
}

void dsm_waiters_inherit(struct rh_dsm *dsm, rh_dsm_variable variable, int from)
{
    struct dsm_entry *entry = &dsm->entries[variable];
    uint64_t readers = 0, writers = 0;
    if (dsm_swap(dsm, from, variable, DSM_WAITERS_READ, 0, &readers) < 0 ||
        dsm_swap(dsm, from, variable, DSM_WAITERS_WRITE, 0, &writers) < 0)
        return; /* it is gone; they look for themselves */
    __atomic_fetch_or(&entry->waiters_read, readers, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&entry->waiters_write, writers, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&entry->word, WORD_WANTED, __ATOMIC_SEQ_CST);
}

/* A rank that waits, but has not yet stepped down after having served itself, gets nothing: its
 * word is about to change. It is told to look again. */
static bool is_out(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, uint64_t word)
{
    if (likely(rank == dsm->rank || !(word & WORD_TAKEN)))
        return true;
    dsm_signal(dsm, variable, rank);
    return false;
}

/* ---- Readers -------------------------------------------------------------------------------- */

/* Let a waiting rank read: among the copies first, so that no writer can miss it. */
static int grant_read(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, struct dsm_step *step)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_SERVING);
    uint64_t word, next;
    int result = dsm_load(dsm, rank, variable, DSM_WORD, &word);
    if (rank != dsm->rank)
        __atomic_fetch_or(&dsm->entries[variable].word, word_copy(rank), __ATOMIC_SEQ_CST);
    while (result == 0 && (word & WORD_WAIT_READ) && is_out(dsm, variable, rank, word)) {
        next = word & ~(WORD_WAIT_READ | WORD_FRESH);
        if (rank == dsm->rank)
            next = (next | WORD_GRANTED) + WORD_READER_ONE;
        else
            next = word_with_hint(next | WORD_FETCHING, dsm->rank);
        result = dsm_word_swap(dsm, rank, variable, &word, next, step);
    }
    if (result > 0)
        rh_wake(dsm->job, rank);
    return result;
}

/* A grant has timed out: if it is in doubt, so is the variable. */
static bool is_kept(struct rh_dsm *dsm, rh_dsm_variable variable, enum dsm_step_kind kind,
                    const struct dsm_step *step)
{
    if (step->ticket.is_open)
        dsm_step_keep(dsm, variable, kind, step);
    return step->ticket.is_open;
}

/* True if a grant is in doubt, and this thread is through. */
static bool serve_readers(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t waiters)
{
    for (int rank = 0; rank < dsm->size && waiters != 0; rank++) {
        struct dsm_step step = {0};
        if ((waiters & dsm_bit(rank)) && !dsm_is_gone(dsm, rank) &&
            grant_read(dsm, variable, rank, &step) == RH_ETIMEOUT)
            return is_kept(dsm, variable, DSM_STEP_GRANT, &step);
    }
    return false;
}

/* ---- Writers -------------------------------------------------------------------------------- */

/* Whether a rank other than this one that has the same bit stands in a queue to write. Who stood in
 * the waiters that were taken has said so in its word before; whoever has come since sets the bit
 * again. */
static bool others_share(struct rh_dsm *dsm, rh_dsm_variable variable, int rank)
{
    uint64_t word;
    for (int same = rank & 63; same < dsm->size; same += 64) {
        if (same == rank || dsm_is_gone(dsm, same))
            continue;
        int result = dsm_load(dsm, same, variable, DSM_WORD, &word);
        if (result == RH_EDEAD || (result == 0 && !(word & WORD_WAIT_WRITE)))
            continue;
        return true; /* or no answer: better one question too many */
    }
    return false;
}

/* Who else waits when a rank is let in. */
static uint64_t all_but(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t waiters, int rank)
{
    if (likely(dsm->size <= 64) || !others_share(dsm, variable, rank))
        return waiters & ~dsm_bit(rank);
    return waiters;
}

static bool may_write_here(uint64_t word)
{
    return (word & WORD_WAIT_WRITE) && !(word & WORD_READERS);
}

/* Make a waiting thread of this rank the writer. The word stays that of the owner. */
static bool grant_write_here(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t waiters)
{
    struct dsm_entry *entry = &dsm->entries[variable];
    uint64_t word = dsm_own_word(dsm, variable);
    uint64_t others = may_write_here(word) ? all_but(dsm, variable, waiters, dsm->rank) : 0;
    if (others != 0) {
        __atomic_fetch_or(&entry->waiters_write, others, __ATOMIC_SEQ_CST);
        word = __atomic_or_fetch(&entry->word, WORD_WANTED, __ATOMIC_SEQ_CST);
    }
    while (may_write_here(word)) {
        uint64_t next = word & ~(WORD_WAIT_WRITE | WORD_SERVING);
        next = word_with_hint(next | WORD_WRITER, dsm->rank);
        if (dsm_own_swap_if(dsm, variable, &word, next)) {
            rh_wake(dsm->job, dsm->rank);
            return true;
        }
    }
    return false;
}

/* Make another waiting rank the owner, with what others wait for. 1: done. */
static int grant_write_to(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, uint64_t waiters,
                          struct dsm_step *step)
{
    uint64_t own = dsm_own_word(dsm, variable), others = 0, word, old;
    ASSERT(rank != dsm->rank);
    ASSERT(own & WORD_SERVING);
    uint64_t copies = (own & WORD_COPIES) | (own & WORD_READERS ? word_copy(dsm->rank) : 0);
    int result = dsm_load(dsm, rank, variable, DSM_WORD, &word);
    if (result == 0 && (word & WORD_WAIT_WRITE))
        others = all_but(dsm, variable, waiters, rank);
    if (result == 0 && others != 0)
        result = dsm_or(dsm, rank, variable, DSM_WAITERS_WRITE, others, &old);
    while (result == 0 && (word & WORD_WAIT_WRITE) && is_out(dsm, variable, rank, word)) {
        uint64_t next = word & ~(WORD_WAIT_WRITE | WORD_FRESH | WORD_COPIES);
        next |= WORD_OWNER | WORD_WRITER | copies | (others != 0 ? WORD_WANTED : 0);
        next = word_with_hint(next, dsm->rank);
        result = dsm_word_swap(dsm, rank, variable, &word, next, step);
    }
    return dsm_is_gone(dsm, rank) ? 0 : result;
}

uint64_t dsm_step_down(struct rh_dsm *dsm, rh_dsm_variable variable, int successor)
{
    uint64_t word = dsm_own_word(dsm, variable), next;
    do {
        next = word & (WORD_BUSY | WORD_READERS);
        if (next & WORD_READERS)
            next |= WORD_VALID;
        next = word_with_hint(next, successor);
    } while (!dsm_own_swap_if(dsm, variable, &word, next));
    rh_wake(dsm->job, successor);
    return word;
}

/* True if a writer has it now, or may have it, and this thread is through. */
static bool serve_writer(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t waiters)
{
    for (int i = 1; i <= dsm->size && waiters != 0; i++) {
        int rank = (dsm->rank + i) % dsm->size;
        if (!(waiters & dsm_bit(rank)))
            continue;
        struct dsm_step step = {0};
        int result = 0;
        if (rank == dsm->rank)
            result = grant_write_here(dsm, variable, waiters);
        else if (!dsm_is_gone(dsm, rank))
            result = grant_write_to(dsm, variable, rank, waiters, &step);
        if (result == RH_ETIMEOUT)
            return is_kept(dsm, variable, DSM_STEP_GIVE, &step);
        if (result > 0 && rank != dsm->rank && (dsm_step_down(dsm, variable, rank) & WORD_WANTED))
            dsm_waiters_signal(dsm, variable);
        if (result > 0)
            return true;
        if (likely(dsm->size <= 64)) /* else there may be others of the same bit */
            waiters &= ~dsm_bit(rank);
    }
    return false;
}

void dsm_serve(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_entry *entry = &dsm->entries[variable];
    for (;;) {
        ASSERT(__atomic_load_n(&entry->word, __ATOMIC_SEQ_CST) & WORD_OWNER);
        ASSERT(__atomic_load_n(&entry->word, __ATOMIC_SEQ_CST) & WORD_SERVING);
        __atomic_fetch_and(&entry->word, ~WORD_WANTED, __ATOMIC_SEQ_CST);
        uint64_t readers = __atomic_exchange_n(&entry->waiters_read, 0, __ATOMIC_SEQ_CST);
        uint64_t writers = __atomic_exchange_n(&entry->waiters_write, 0, __ATOMIC_SEQ_CST);
        if (serve_readers(dsm, variable, readers) || serve_writer(dsm, variable, writers))
            return;
        uint64_t word = dsm_own_word(dsm, variable);
        while (!(word & WORD_WANTED)) {
            if (dsm_own_swap_if(dsm, variable, &word, word & ~WORD_SERVING)) {
                rh_wake(dsm->job, dsm->rank);
                return;
            }
        }
    }
}
