/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leases of our own claims: a loader shows that it is alive and at work by changing the head of the
 * row, which also tells it whether the claim is still its own. See cell.h.
 */
#include "cache/directory/directory.h"

struct directory_lease *directory_lease_keep(struct directory *directory, struct directory_row *row)
{
    struct directory_lease *kept = NULL;
    pthread_mutex_lock(&directory->leases_lock);
    for (int i = 0; i < DIRECTORY_LEASES_MAX && !kept; i++) {
        if (!directory->leases[i].row)
            kept = &directory->leases[i];
    }
    if (kept)
        *kept = (struct directory_lease){.row = row};
    pthread_mutex_unlock(&directory->leases_lock);
    return kept;
}

void directory_lease_end(struct directory *directory, struct directory_lease *lease)
{
    if (!lease)
        return;
    pthread_mutex_lock(&directory->leases_lock);
    lease->row = NULL;
    pthread_mutex_unlock(&directory->leases_lock);
}

void directory_leases_renew(struct directory *directory)
{
    pthread_mutex_lock(&directory->leases_lock);
    for (int i = 0; i < DIRECTORY_LEASES_MAX; i++) {
        struct directory_lease *lease = &directory->leases[i];
        if (lease->row && !lease->is_lost)
            lease->is_lost = directory_head_set(directory, lease->row,
                                                head_renewed(lease->row->head)) != 1;
    }
    pthread_mutex_unlock(&directory->leases_lock);
}
