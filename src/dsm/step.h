/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps on a peer that this rank has given up waiting for, but that decide who owns a variable or
 * who has a valid copy: a compare-and-swap of its word that is in doubt, data pushed to it that may
 * still land. Until it is known how such a step has ended the own word stays SERVING, so that
 * nobody goes on with the variable: it could otherwise happen in the middle of what comes after.
 * tests/model/dsm_doubt.pml is the model.
 *
 * There is one such step per variable at most, since SERVING is one thread's. It is looked after
 * wherever this rank waits for shared memory, on slow paths, in barriers and at the end.
 */
#ifndef DSM_STEP_H
#define DSM_STEP_H

#include "dsm/reach.h"

enum dsm_step_kind {
    DSM_STEP_NONE,
    DSM_STEP_SETTLING, /* a thread is at it */
    DSM_STEP_GRANT,    /* a copy was granted, or marked as valid */
    DSM_STEP_PUSH,     /* data was pushed */
    DSM_STEP_GIVE,     /* the rank was made the owner */
    DSM_STEP_TAKE,     /* ownership was taken from it; the own word is TAKING, too */
    DSM_STEP_RETURN,   /* and given back to it */
    DSM_STEP_FETCH     /* this rank owns the variable, but its data is still at the other */
};

/* As dsm_swap_if() on a peer's word. RH_ETIMEOUT: if step->ticket is open it is in doubt; a step
 * that matters is to be kept then. */
int dsm_far_swap_word(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, uint64_t *expected,
                      uint64_t desired, struct dsm_step *step);

static inline int dsm_word_swap(struct rh_dsm *dsm, int rank, rh_dsm_variable variable,
                                uint64_t *expected, uint64_t desired, struct dsm_step *step)
{
    uint64_t *word = dsm_near(dsm, rank, variable, DSM_WORD);
    if (unlikely(!word))
        return dsm_far_swap_word(dsm, rank, variable, expected, desired, step);
    return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* The own word becomes SERVING, if it is not yet, and WRITER no more, until the step has ended. The
 * caller holds the one or the other, or TAKING, and has nothing more to do with the variable. */
void dsm_step_keep(struct rh_dsm *dsm, rh_dsm_variable variable, enum dsm_step_kind kind,
                   const struct dsm_step *step);

/* Go on with what is unfinished, a moment each. True: some of it has ended. */
bool dsm_settle_some(struct rh_dsm *dsm);

static inline bool dsm_settle(struct rh_dsm *dsm)
{
    return unlikely(atomic_load(&dsm->step_count) > 0) && dsm_settle_some(dsm);
}

/* Until all has ended, or the time is over. */
void dsm_settle_all(struct rh_dsm *dsm, int64_t timeout_ns);

#endif
