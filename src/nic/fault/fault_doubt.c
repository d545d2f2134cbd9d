/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fault_doubt.h.
 */
#include "nic/fault/fault_doubt.h"

#include "base/error.h"

#include <stdlib.h>

struct fault_doubt {
    struct fault_doubt *next;
    int result;
    uint64_t old;
};

void fault_doubts_init(struct fault_doubts *doubts)
{
    pthread_mutex_init(&doubts->lock, NULL);
    doubts->first = NULL;
}

void fault_doubts_destroy(struct fault_doubts *doubts)
{
    while (doubts->first) {
        struct fault_doubt *doubt = doubts->first;
        doubts->first = doubt->next;
        free(doubt);
    }
    pthread_mutex_destroy(&doubts->lock);
}

int fault_doubt_begin(struct fault_doubts *doubts, struct nic_ticket *ticket, int rank, int result,
                      uint64_t old)
{
    struct fault_doubt *doubt = ticket && !ticket->is_open ? malloc(sizeof(*doubt)) : NULL;
    if (!doubt)
        return result;
    *doubt = (struct fault_doubt){.result = result, .old = old};
    pthread_mutex_lock(&doubts->lock);
    doubt->next = doubts->first;
    doubts->first = doubt;
    pthread_mutex_unlock(&doubts->lock);
    ticket->is_open = true;
    ticket->handle = doubt;
    return error_set(RH_ETIMEOUT, rank, "rank %d's answer is held back (RHINET_FAULT)", rank);
}

bool fault_doubt_end(struct fault_doubts *doubts, struct nic_ticket *ticket, int *result,
                     uint64_t *old)
{
    if (!ticket || !ticket->is_open)
        return false;
    pthread_mutex_lock(&doubts->lock);
    struct fault_doubt **link = &doubts->first;
    while (*link && *link != ticket->handle)
        link = &(*link)->next;
    struct fault_doubt *doubt = *link;
    if (doubt)
        *link = doubt->next;
    pthread_mutex_unlock(&doubts->lock);
    if (!doubt)
        return false; /* the inner NIC's */
    ticket->is_open = false;
    ticket->handle = NULL;
    *result = doubt->result;
    if (old)
        *old = doubt->old;
    free(doubt);
    return true;
}
