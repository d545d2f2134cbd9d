/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Answers that are held back: the operation has been carried out, but its caller is told
 * RH_ETIMEOUT and gets the result when it goes on with its ticket (nic.h).
 */
#pragma once

#include "nic/nic.h"

#include <pthread.h>

struct fault_doubt;

struct fault_doubts {
    pthread_mutex_t lock;
    struct fault_doubt *first;
};

void fault_doubts_init(struct fault_doubts *doubts);
void fault_doubts_destroy(struct fault_doubts *doubts);

/* Hold the answer of an operation with this ticket back; without one the answer is given. */
int fault_doubt_begin(struct fault_doubts *doubts, struct nic_ticket *ticket, int rank, int result,
                      uint64_t old);

/* True if the ticket's answer is one that was held back: it is *result and *old (may be NULL). */
bool fault_doubt_end(struct fault_doubts *doubts, struct nic_ticket *ticket, int *result,
                     uint64_t *old);
