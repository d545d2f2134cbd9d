/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers' segments as this process sees them: looked up in the owner's door, mapped on first use,
 * kept until stale. Finding a view takes no lock; making one does.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory_room.h"
#include "base/rest.h"
#include "nic/handover.h"
#include "nic/shm/shm_nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POPULATE_MAX (16ULL << 20)
#define VANISHED_NS  (1 * NS_PER_S) /* the launcher needs a millisecond or so */
#define RETRIES_MAX  1000

/* What a peer's entry said, read in one consistent piece. */
struct reading {
    struct shm_entry *entry;
    uint64_t state;
    unsigned rights;
    uint64_t length;
    uint64_t address;
    struct rh_queue_shape shape;
};

/* ---- Refusals ------------------------------------------------------------------------------- */

static void count(struct shm_nic *shm, bool counted, unsigned which)
{
    if (counted)
        counter_add_exact(shm->nic.job->counters, which);
}

static int refuse_unknown(struct shm_nic *shm, int rank, rh_sid sid, bool counted)
{
    count(shm, counted, COUNTER_DENIED_SEGMENT);
    return error_set(RH_ENOSEG, rank,
                     "rank %d has no segment %u; if it is about to open it, use rh_segment_wait()",
                     rank, sid);
}

static int refuse_stale(struct shm_nic *shm, int rank, rh_sid sid, bool counted)
{
    count(shm, counted, COUNTER_DENIED_STALE);
    return error_set(RH_ESTALE, rank, "rank %d has detached segment %u", rank, sid);
}

int shm_refuse_queue(const struct shm_view *view)
{
    return error_set(RH_EINVALID, view->rank, "segment %u of rank %d is a queue; use rh_append()",
                     view->sid, view->rank);
}

int shm_refuse_alignment(struct rh_remote remote)
{
    return error_set(RH_EINVALID, remote.rank, "offset %llu is not aligned to 8 bytes",
                     (unsigned long long)remote.offset);
}

int shm_refuse_stale(struct shm_nic *shm, int rank, rh_sid sid)
{
    return refuse_stale(shm, rank, sid, true);
}

int shm_refuse_vanished(struct shm_nic *shm, int rank, const char *during)
{
    int64_t deadline_ns = clock_deadline_ns(VANISHED_NS);
    struct rest rest = {0};
    while (roster_state(shm->nic.job->roster, rank) < RH_PEER_LEFT && clock_now_ns() < deadline_ns)
        rest_once(&rest);
    return nic_peer_gone(&shm->nic, rank, during);
}

int shm_refuse_bounds(struct shm_nic *shm, const struct shm_view *view, uint64_t offset,
                      uint64_t length)
{
    count(shm, true, COUNTER_DENIED_BOUNDS);
    return error_set(RH_EBOUNDS, view->rank,
                     "%llu bytes at offset %llu do not fit segment %u of rank %d, which has %llu",
                     (unsigned long long)length, (unsigned long long)offset, view->sid, view->rank,
                     (unsigned long long)view->length);
}

int shm_refuse_rights(struct shm_nic *shm, const struct shm_view *view, unsigned rights)
{
    unsigned missing = rights & ~view->rights;
    count(shm, true, COUNTER_DENIED_RIGHTS);
    return error_set(RH_ERIGHTS, view->rank, "segment %u of rank %d does not grant %s", view->sid,
                     view->rank,
                     missing & RH_WRITE  ? "writing (RH_WRITE)"
                     : missing & RH_READ ? "reading (RH_READ)"
                                         : "atomic operations (RH_ATOMIC)");
}

/* ---- Making a view -------------------------------------------------------------------------- */

/* Read a peer's entry; 0, or RH_ENOSEG or RH_ESTALE without text. */
static int read_entry(struct shm_nic *shm, int rank, rh_sid sid, struct reading *reading)
{
    struct shm_door *door = shm_door_of(shm, rank);
    for (unsigned i = 0; i < RETRIES_MAX; i++) {
        struct shm_entry *entry = shm_entry_find(shm, door, sid);
        if (!entry)
            return RH_ENOSEG;
        reading->entry = entry;
        reading->state = atomic_load_explicit(&entry->state, memory_order_acquire);
        uint32_t found = atomic_load_explicit(&entry->sid, memory_order_acquire);
        reading->rights = atomic_load_explicit(&entry->rights, memory_order_acquire);
        reading->length = atomic_load_explicit(&entry->length, memory_order_acquire);
        reading->address = atomic_load_explicit(&entry->address, memory_order_acquire);
        reading->shape.slot_count = atomic_load_explicit(&entry->slot_count, memory_order_acquire);
        reading->shape.slot_length = atomic_load_explicit(&entry->slot_length,
                                                          memory_order_acquire);
        atomic_store_explicit(&entry->was_seen, 1, memory_order_release);
        if (atomic_load_explicit(&entry->state, memory_order_acquire) != reading->state ||
            found != sid)
            continue;
        return SHM_KIND(reading->state) == 0 ? RH_ESTALE : 0;
    }
    return RH_ESTALE; /* it changes faster than we can look */
}

static int map_view(struct shm_nic *shm, struct shm_view *view)
{
    const struct nic_broker *broker = shm->nic.job->broker;
    int fd;
    uint64_t length;
    int result = broker ? broker->fetch(broker->context, view->rank, view->sid, &fd) : RH_ENOSEG;
    if (result < 0)
        return result;
    if (!memory_is_sealed(fd, &length) || length < view->length) {
        close(fd);
        return error_set(RH_ECORRUPT, view->rank,
                         "rank %d published memory of another size as segment %u", view->rank,
                         view->sid);
    }
    int protection = view->rights & (RH_WRITE | RH_ATOMIC) ? PROT_READ | PROT_WRITE : PROT_READ;
    int populate = length <= POPULATE_MAX ? MAP_POPULATE : 0;
    void *base = mmap(NULL, length, protection, MAP_SHARED | populate, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return error_set(RH_ENOSPACE, view->rank,
                         "cannot map the %llu bytes of segment %u of rank %d: %s",
                         (unsigned long long)length, view->sid, view->rank, strerror(errno));
    view->base = base;
    view->mapped_length = length;
    return 0;
}

static int fill_view(struct shm_nic *shm, struct shm_view *view, const struct reading *reading)
{
    view->entry = reading->entry;
    view->state = reading->state;
    view->door = shm_door_of(shm, view->rank);
    view->rights = reading->rights;
    view->kind = SHM_KIND(reading->state);
    view->length = reading->length;
    view->address = reading->address;
    view->cut = shm_queue_cut(reading->shape);
    bool same_process = atomic_load_explicit(&view->door->process, memory_order_acquire) ==
                        shm_process_token();
    if (same_process) {
        view->base = (char *)(uintptr_t)reading->address;
        order_acquire(view->base);
    } else if (view->kind != NIC_SEGMENT_ATTACHED)
        return map_view(shm, view);
    return 0;
}

static int make_locked(struct shm_nic *shm, struct shm_view *view)
{
    struct reading reading;
    for (unsigned i = 0; i < RETRIES_MAX; i++) {
        int result = read_entry(shm, view->rank, view->sid, &reading);
        if (result == 0)
            result = fill_view(shm, view, &reading);
        if (result < 0 && result != RH_ENOSEG)
            return result;
        if (result == RH_ENOSEG && !shm_entry_find(shm, shm_door_of(shm, view->rank), view->sid))
            return result;
        /* The descriptor belongs to the entry we read only if that is still there. */
        if (result == 0 && shm_view_is_current(view))
            return 0;
        if (view->mapped_length)
            munmap(view->base, view->mapped_length);
        view->mapped_length = 0;
        view->base = NULL;
    }
    return RH_ESTALE;
}

static struct shm_view *existing_view(struct shm_nic *shm, int rank, rh_sid sid)
{
    struct shm_view *view = shm_table_get(shm, rank, sid);
    return view && shm_view_is_current(view) ? view : NULL;
}

int shm_explain(struct shm_nic *shm, int rank, rh_sid sid, bool counted, int result)
{
    if (roster_state(shm->nic.job->roster, rank) >= RH_PEER_LEFT)
        return nic_peer_gone(&shm->nic, rank, "remote access");
    if (result == RH_ENOSEG)
        return refuse_unknown(shm, rank, sid, counted);
    if (result == RH_ESTALE)
        return refuse_stale(shm, rank, sid, counted);
    return result;
}

static int make_view(struct shm_nic *shm, int rank, rh_sid sid, struct shm_view **made)
{
    struct shm_view *view = calloc(1, sizeof(*view));
    if (!view)
        return error_set(RH_ENOSPACE, rank, "no memory to look up segment %u", sid);
    view->rank = rank;
    view->sid = sid;
    pthread_mutex_lock(&shm->view_lock);
    *made = existing_view(shm, rank, sid); /* another thread may have been faster */
    int result = *made ? 0 : make_locked(shm, view);
    if (result == 0 && !*made) {
        result = shm_table_put(shm, view);
        if (result == 0)
            *made = view;
    }
    pthread_mutex_unlock(&shm->view_lock);
    if (*made != view)
        free(view);
    return result;
}

/* Jobs of several hosts take another NIC by themselves; a user may have asked for this one. */
static bool is_elsewhere(const struct shm_nic *shm, int rank, int *result)
{
    const struct nic_job *job = shm->nic.job;
    if (job->roster->peer[rank].node == job->roster->peer[job->rank].node)
        return false;
    *result = error_set(RH_EUNSUP, rank,
                        "NIC shm does not reach rank %d on host %s; use NIC mixed, the default for "
                        "several hosts",
                        rank, roster_node_of(job->roster, rank)->host);
    return true;
}

struct shm_view *shm_view_make(struct shm_nic *shm, int rank, rh_sid sid, bool counted, int *result)
{
    if (is_elsewhere(shm, rank, result))
        return NULL;
    if (roster_state(shm->nic.job->roster, rank) >= RH_PEER_LEFT) {
        *result = nic_peer_gone(&shm->nic, rank, "remote access");
        return NULL;
    }
    if (shm->nic.job->roster->is_open &&
        roster_state(shm->nic.job->roster, rank) == RH_PEER_STARTING) {
        *result = shm_explain(shm, rank, sid, counted, RH_ENOSEG); /* it has no door yet */
        return NULL;
    }
    struct shm_view *view = existing_view(shm, rank, sid); /* its first place may be another's */
    if (view)
        return view;
    int made = make_view(shm, rank, sid, &view);
    if (made == 0)
        return view;
    *result = shm_explain(shm, rank, sid, counted, made);
    return NULL;
}

static int look_up(struct shm_nic *shm, struct rh_remote remote, uint64_t length, unsigned rights,
                   struct nic_view *view)
{
    int result = 0;
    struct shm_view *found;
    do {
        found = rights ? shm_view_check(shm, remote, length, rights, &result)
                       : shm_view_make(shm, remote.rank, remote.sid, false, &result);
        if (!found)
            return result;
    } while (rights && !shm_view_pin(shm, found)); /* the caller keeps it */
    view->remote = remote;
    view->length = rights ? length : found->length;
    view->kind = found->kind;
    view->handle = found;
    view->pointer = found->kind == NIC_SEGMENT_ALLOCATED && rights && found->base
                        ? found->base + remote.offset
                        : NULL;
    view->rights = found->rights;
    view->stands = &found->entry->state;
    view->stood = found->state;
    view->sleeper = shm->has_membarrier ? &found->door->has_sleeper : NULL;
    return 0;
}

int shm_view(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
             struct nic_view *view)
{
    nic_assert_rank(nic, remote.rank);
    struct shm_nic *shm = shm_nic_of(nic);
    struct guard_record *guard = guard_enter();
    int result = look_up(shm, remote, length, rights, view);
    guard_leave(guard);
    return result;
}

void shm_view_release(struct nic *nic, const struct nic_view *view)
{
    struct guard_record *guard = guard_enter();
    shm_view_unpin(shm_nic_of(nic), view->handle);
    guard_leave(guard);
}
