/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leases of our own claims: a loader shows that it is alive and at work by changing the head of the
 * row, which also tells it whether the claim is still its own. See node.h and cell.h.
 */
#include "cache/node/node.h"

struct node_claim *node_claim_keep(struct node *node, struct directory_row *row)
{
    struct node_claim *kept = NULL;
    pthread_mutex_lock(&node->claims_lock);
    for (int i = 0; i < NODE_PENDING_MOST && !kept; i++) {
        if (!node->claims[i].row)
            kept = &node->claims[i];
    }
    if (kept)
        *kept = (struct node_claim){.row = row};
    pthread_mutex_unlock(&node->claims_lock);
    return kept;
}

void node_claim_end(struct node *node, struct node_claim *claim)
{
    if (!claim)
        return;
    pthread_mutex_lock(&node->claims_lock);
    claim->row = NULL;
    pthread_mutex_unlock(&node->claims_lock);
}

void node_claims_renew(struct node *node)
{
    pthread_mutex_lock(&node->claims_lock);
    for (int i = 0; i < NODE_PENDING_MOST; i++) {
        struct node_claim *claim = &node->claims[i];
        if (claim->row && !claim->is_lost)
            claim->is_lost = directory_set_head(&node->directory, claim->row,
                                                head_renewed(claim->row->head)) != 1;
    }
    pthread_mutex_unlock(&node->claims_lock);
}
