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
#pragma once

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

/* The own word becomes SERVING, if it is not yet, and WRITER no more, until the step has ended. The
 * caller holds the one or the other, or TAKING, and has nothing more to do with the variable. */
void dsm_step_keep(struct rh_dsm *dsm, rh_dsm_variable variable, enum dsm_step_kind kind,
                   const struct dsm_step *step);

/* Until all has ended, or the time is over. */
void dsm_settle_all(struct rh_dsm *dsm, int64_t timeout_ns);
