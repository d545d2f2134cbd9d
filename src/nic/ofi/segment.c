/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This process's own segments: the inner NIC's, registered with libfabric, and taken back from
 * those who have looked them up before they go.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/handover.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>

static struct ofi_segment **chain_of(struct ofi_nic *ofi, rh_sid sid)
{
    return &ofi->segments[(uint64_t)sid * 0x9E3779B97F4A7C15ULL >> 40 & (OFI_CHAINS - 1)];
}

struct ofi_segment *ofi_segment_find(struct ofi_nic *ofi, rh_sid sid)
{
    struct ofi_segment *found = NULL;
    for (struct ofi_segment *segment = *chain_of(ofi, sid); segment; segment = segment->next) {
        if (segment->sid == sid && (!found || !segment->is_closed))
            found = segment; /* an open one counts more than one that is being made or removed */
    }
    return found;
}

static void segment_free(struct ofi_segment *segment)
{
    free(segment->users);
    free(segment->waiting);
    free(segment);
}

static struct ofi_segment *segment_create(struct ofi_nic *ofi, const struct nic_segment *wanted)
{
    size_t bytes = ((size_t)ofi->nic.job->size + 7) / 8;
    struct ofi_segment *segment = calloc(1, sizeof(*segment));
    if (!segment)
        return NULL;
    *segment = (struct ofi_segment){.sid = wanted->sid,
                                    .kind = wanted->kind,
                                    .rights = wanted->rights,
                                    .shape = wanted->shape,
                                    .users = calloc(1, bytes),
                                    .waiting = calloc(1, bytes)};
    if (segment->users && segment->waiting)
        return segment;
    segment_free(segment);
    return NULL;
}

static uint64_t access_of(const struct ofi_segment *segment)
{
    uint64_t access = 0;
    if (segment->rights & RH_READ)
        access |= FI_REMOTE_READ;
    if (segment->rights & RH_WRITE)
        access |= FI_REMOTE_WRITE;
    return access;
}

/* Whoever asks for it before it is open is told whether there was one before. */
static int announce(struct ofi_nic *ofi, struct ofi_segment *segment)
{
    struct shm_own_segment before;
    struct ofi_segment **chain = chain_of(ofi, segment->sid);
    ofi_lock(ofi);
    const struct ofi_segment *same = ofi_segment_find(ofi, segment->sid);
    bool is_taken = same && same->is_closing;
    segment->is_closed = true;
    segment->was_open = shm_inside_find(ofi->inner, segment->sid, &before);
    segment->next = *chain;
    *chain = segment;
    ofi_unlock(ofi);
    if (!is_taken)
        return 0;
    return error_fail(RH_EEXIST,
                      "segment %u could not be detached yet; detach it again or take another SID",
                      segment->sid);
}

static void forget(struct ofi_nic *ofi, struct ofi_segment *segment)
{
    ofi_lock(ofi);
    struct ofi_segment **link = chain_of(ofi, segment->sid);
    while (*link != segment)
        link = &(*link)->next;
    *link = segment->next;
    ofi_unlock(ofi);
    segment_free(segment);
}

/* The inner NIC has it; open it to the network. */
static int publish(struct ofi_nic *ofi, struct ofi_segment *segment,
                   const struct nic_segment *wanted)
{
    struct shm_own_segment own = {0};
    shm_inside_find(ofi->inner, wanted->sid, &own);
    segment->base = wanted->base;
    segment->length = own.length;
    segment->generation = (uint32_t)own.generation;
    int result = 0;
    ofi_lock(ofi);
    if (access_of(segment) != 0)
        result = ofi_register(ofi, segment->base, segment->length, access_of(segment),
                              &segment->mr);
    if (result == 0) {
        segment->key = segment->mr ? fi_mr_key(segment->mr) : 0;
        segment->is_closed = false;
        segment->was_open = true;
    }
    ofi_unlock(ofi);
    return result;
}

int ofi_segment_add(struct nic *nic, struct nic_segment *wanted)
{
    nic_assert_segment(wanted);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi->is_alone)
        return ofi->inner->ops->segment_add(ofi->inner, wanted);
    struct ofi_segment *segment = segment_create(ofi, wanted);
    if (!segment)
        return error_no_memory("segment %u", wanted->sid);
    int result = announce(ofi, segment);
    if (result == 0)
        result = ofi->inner->ops->segment_add(ofi->inner, wanted);
    if (result == 0) {
        result = publish(ofi, segment, wanted);
        if (result < 0)
            ofi->inner->ops->segment_remove(ofi->inner, wanted->sid, 0);
    }
    if (result < 0)
        forget(ofi, segment);
    return result;
}

/* ---- Removing ------------------------------------------------------------------------------- */

/* Ask all who have looked it up to let go. Under the lock. */
static struct ofi_task *ask_users(struct ofi_nic *ofi, const struct ofi_segment *segment)
{
    /* Ours, so that none of those who are asked can end it by dying. */
    struct ofi_task *task = ofi_task_start(ofi, ofi->nic.job->rank, NULL);
    if (!task)
        return NULL;
    for (int rank = 0; rank < ofi->nic.job->size; rank++) {
        struct ofi_message message;
        message.head = ofi_head(OFI_REVOKE, segment->sid, 0);
        if (!(segment->users[rank / 8] >> rank % 8 & 1) || ofi_is_gone(ofi, rank))
            continue;
        message.head.generation = segment->generation;
        if (ofi_call_add(ofi, task, rank, &message))
            ofi_send_soon(ofi, rank, &message, sizeof(message.head));
    }
    return task;
}

struct letting_go {
    struct ofi_nic *ofi;
    struct ofi_task *task;
};

/* Who has left does not answer, and leaving is no death that ends a wait. */
static bool all_have_let_go(void *context)
{
    struct letting_go *wait = context;
    struct ofi_nic *ofi = wait->ofi;
    if (atomic_load_explicit(&wait->task->pending, memory_order_acquire) == 0)
        return true;
    ofi_lock(ofi);
    for (int rank = 0; rank < ofi->nic.job->size; rank++) {
        if (ofi_is_gone(ofi, rank))
            ofi_peer_fail(ofi, rank);
    }
    ofi_unlock(ofi);
    return atomic_load_explicit(&wait->task->pending, memory_order_acquire) == 0;
}

/* Who has not answered. Under the lock. */
static int late_user(const struct ofi_nic *ofi, const struct ofi_task *task)
{
    for (uint32_t i = 0; i < OFI_CALLS; i++) {
        if (ofi->calls[i].id != 0 && ofi->calls[i].task == task)
            return ofi->calls[i].rank;
    }
    return ERROR_NO_RANK;
}

static int wait_for_users(struct ofi_nic *ofi, struct ofi_task *task, rh_sid sid,
                          int64_t timeout_ns)
{
    struct letting_go wait = {.ofi = ofi, .task = task};
    int result = ofi_wait_until(ofi, ofi->nic.job->rank, all_have_let_go, &wait, timeout_ns);
    ofi_lock(ofi);
    int rank = late_user(ofi, task);
    ofi_calls_cancel(ofi, task);
    ofi_task_free(ofi, task);
    ofi_unlock(ofi);
    if (result != RH_EAGAIN && result != RH_ETIMEOUT)
        return result;
    return error_set(RH_ETIMEOUT, rank,
                     "rank %d has not let go of segment %u, which may stay in its reach; is it "
                     "stopped? Detach again",
                     rank, sid);
}

/* Nobody may use it from now on; senders that wait for space are told. Under the lock. */
static void close_to_all(struct ofi_nic *ofi, struct ofi_segment *segment)
{
    segment->is_closed = true;
    if (segment->has_waiting) {
        atomic_fetch_sub(&ofi->waiting_queues, 1);
        segment->has_waiting = false;
    }
}

/* Close it to the network, and wait for those who use it. */
static int close_and_wait(struct ofi_nic *ofi, struct ofi_segment *segment, int64_t timeout_ns)
{
    int64_t most_ns = OFI_DETACH_MAX_S * NS_PER_S;
    bool is_attached = segment->kind == NIC_SEGMENT_ATTACHED;
    ofi_lock(ofi);
    struct ofi_task *task = ask_users(ofi, segment);
    ofi_unlock(ofi);
    int result = 0;
    if (task)
        result = wait_for_users(ofi, task, segment->sid,
                                is_attached || timeout_ns < most_ns ? timeout_ns : most_ns);
    ofi_lock(ofi);
    if (segment->mr) /* whoever did not answer loses its connection when it comes too late */
        fi_close(&segment->mr->fid);
    segment->mr = NULL;
    ofi_unlock(ofi);
    /* who may only read does no harm by being late */
    return is_attached && segment->rights & (RH_WRITE | RH_ATOMIC) ? result : 0;
}

/* The segment to remove: an open one, or one that could not be removed before. Others than the
 * caller do not find it meanwhile. */
static struct ofi_segment *begin_removal(struct ofi_nic *ofi, rh_sid sid)
{
    ofi_lock(ofi);
    struct ofi_segment *segment = ofi_segment_find(ofi, sid);
    if (segment && segment->is_closed && !segment->is_closing)
        segment = NULL;
    if (segment && !segment->is_closed)
        close_to_all(ofi, segment);
    if (segment)
        segment->is_closing = false;
    ofi_unlock(ofi);
    return segment;
}

int ofi_segment_remove(struct nic *nic, rh_sid sid, int64_t timeout_ns)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi->is_alone)
        return ofi->inner->ops->segment_remove(ofi->inner, sid, timeout_ns);
    struct ofi_segment *segment = begin_removal(ofi, sid);
    if (!segment)
        return error_fail(RH_ENOSEG, "this process has no segment %u", sid);
    int waited = close_and_wait(ofi, segment, timeout_ns);
    int result = 0;
    if (!segment->is_removed_inside)
        result = ofi->inner->ops->segment_remove(ofi->inner, sid, timeout_ns);
    segment->is_removed_inside = result != RH_ETIMEOUT;
    if (result == 0)
        result = waited;
    if (result == RH_ETIMEOUT) {
        ofi_lock(ofi);
        segment->is_closing = true;
        ofi_unlock(ofi);
    } else {
        forget(ofi, segment);
    }
    return result;
}

void ofi_segments_close(struct ofi_nic *ofi)
{
    for (int i = 0; i < OFI_CHAINS; i++) {
        while (ofi->segments[i]) {
            struct ofi_segment *segment = ofi->segments[i];
            ofi->segments[i] = segment->next;
            if (segment->mr)
                fi_close(&segment->mr->fid);
            segment_free(segment);
        }
    }
}
