/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on a peer's entry that timed out and may have happened, or may still: waiters,
 * conditions, who adopts. (Swaps of a word, which decide who owns what, are in step.h.)
 *
 * The call that had asked has given up. What it did not learn is kept for the next call on the same
 * place, which learns it first: if that asks for the same operation, this is its result, so that
 * what was begun is ended instead of done twice.
 */
#pragma once

#include "dsm/dsm.h"

/* As the NIC's operation; is carried out once. RH_ETIMEOUT: it is kept, if it is in doubt. */
int dsm_doubt_atomic(struct rh_dsm *dsm, struct rh_remote word,
                     const struct nic_atomic_operands *operands, uint64_t *old);

int dsm_doubts_open(struct rh_dsm *dsm);
void dsm_doubts_close(struct rh_dsm *dsm);
