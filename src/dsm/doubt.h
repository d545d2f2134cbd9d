/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on a peer's words that timed out and may have happened, or may still.
 *
 * The call that had asked has given up. What it did not learn is kept for the next call on the same
 * word, which learns it first: if that asks for the same operation, this is its result, so that
 * what was begun is ended instead of done twice. Until then a compare-and-swap that turned out to
 * have succeeded counts as not done yet: whoever loads the word finds what the swap had expected,
 * and so comes to ask for it again.
 */
#ifndef DSM_DOUBT_H
#define DSM_DOUBT_H

#include "dsm/dsm.h"

/* As the NIC's operation; is carried out once. RH_ETIMEOUT: it is kept, if it is in doubt. */
int dsm_doubt_atomic(struct rh_dsm *dsm, struct rh_remote word,
                     const struct nic_atomic_operands *operands, uint64_t *old);

/* Load a word of a peer. */
int dsm_doubt_load(struct rh_dsm *dsm, struct rh_remote word, uint64_t *value);

int dsm_doubts_open(struct rh_dsm *dsm);
void dsm_doubts_close(struct rh_dsm *dsm);

#endif
