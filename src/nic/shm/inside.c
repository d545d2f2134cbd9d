/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For a NIC that has this one inside; see shm.h. Its part of append is in queue_send.c.
 */
#include "nic/shm/shm_nic.h"

void shm_inside_of(struct nic *nic, const struct shm_outside *outside)
{
    static const struct shm_outside none;
    shm_nic_of(nic)->outside = outside ? *outside : none;
}

void shm_inside_ring(struct nic *nic)
{
    shm_wake(nic, nic->job->rank);
}

void shm_inside_rest(struct nic *nic)
{
    shm_rest(shm_nic_of(nic));
}

bool shm_inside_find(struct nic *nic, rh_sid sid, struct shm_own_segment *own)
{
    struct shm_nic *shm = shm_nic_of(nic);
    const struct shm_entry *entry = shm_entry_find(shm, shm->door, sid);
    if (!entry)
        return false;
    uint64_t state = atomic_load(&entry->state);
    *own = (struct shm_own_segment){.generation = state,
                                    .length = atomic_load(&entry->length),
                                    .is_open = SHM_KIND(state) != 0};
    return true;
}

int shm_inside_refuse(struct nic *nic, int rank, rh_sid sid, bool counted, int code)
{
    return shm_explain(shm_nic_of(nic), rank, sid, counted, code);
}

int shm_inside_refuse_access(struct nic *nic, const struct shm_refused *refused)
{
    struct shm_nic *shm = shm_nic_of(nic);
    const struct shm_view view = {.rank = refused->remote.rank,
                                  .sid = refused->remote.sid,
                                  .length = refused->segment_length,
                                  .rights = refused->rights_granted};
    if ((refused->rights & ~refused->rights_granted) != 0)
        return shm_refuse_rights(shm, &view, refused->rights);
    return shm_refuse_bounds(shm, &view, refused->remote.offset, refused->length);
}
