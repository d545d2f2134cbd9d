/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The libfabric NICs: opening, closing and their tables of operations. How they work: ofi_nic.h.
 */
#include "nic/ofi/ofi.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/settings.h"
#include "nic/handover.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>

#define FAREWELL_NS (1 * NS_PER_S) /* to get out what the program has not flushed */

static void free_leftovers(struct ofi_nic *ofi)
{
    while (ofi->tasks) {
        struct ofi_task *task = ofi->tasks;
        ofi->tasks = task->next;
        free(task->sent);
        free(task);
    }
    while (ofi->outgoing) {
        struct ofi_outgoing *kept = ofi->outgoing;
        ofi->outgoing = kept->next;
        free(kept);
    }
    ofi_pieces_close(ofi);
}

/* Also after a failure in the middle of opening. */
static void close_all(struct ofi_nic *ofi)
{
    ofi_progress_thread_stop(ofi);
    ofi_segments_close(ofi);
    ofi_fabric_close(ofi);
    ofi_views_close(ofi);
    free_leftovers(ofi);
    if (ofi->inner)
        ofi->inner->ops->close(ofi->inner);
    ofi_peers_close(ofi);
    pthread_mutex_destroy(&ofi->lock);
    free(ofi);
}

static int open_parts(struct ofi_nic *ofi)
{
    struct nic_job *job = ofi->nic.job;
    int result = ofi_peers_open(ofi);
    if (result == 0)
        result = nic_open(&ofi->inner, "shm", job);
    if (result < 0 || ofi->is_alone || !job->broker)
        return result;
    result = ofi_library_load();
    if (result < 0)
        return result;
    ofi_signals_keep();
    result = ofi_fabric_open(ofi);
    ofi_signals_put_back();
    return result < 0 ? result : ofi_progress_thread_start(ofi);
}

static int open_kind(struct nic **nic, struct nic_job *job, const char *inner,
                     const struct nic_ops *ops)
{
    if (inner)
        return error_fail(RH_EINVALID, "NIC %s wraps nothing: drop \"(%s)\"", ops->name, inner);
    struct ofi_nic *ofi = calloc(1, sizeof(*ofi));
    if (!ofi)
        return error_no_memory("NIC %s", ops->name);
    ofi->nic.ops = ops;
    ofi->nic.job = job;
    ofi->is_mixed = ops == &mixed_ops;
    ofi->timeout_ns = (int64_t)setting_number(job->settings, SETTING_TIMEOUT);
    ofi->outgoing_end = &ofi->outgoing;
    ofi->progress_kick = ofi->cq_fd = -1;
    ofi->socket_count = 1;
    pthread_mutex_init(&ofi->lock, NULL);
    int result = open_parts(ofi);
    if (result < 0) {
        close_all(ofi);
        return result;
    }
    ofi->nic.attached_is_slow = ofi->inner->attached_is_slow; /* of neighbours' memory */
    ofi->nic.is_crowded = ofi->inner->is_crowded;
    ofi->nic.has_pointers = ofi->is_mixed && ofi->inner->has_pointers; /* neighbours' */
    *nic = &ofi->nic;
    return 0;
}

static int ofi_open_nic(struct nic **nic, struct nic_job *job, const char *inner)
{
    return open_kind(nic, job, inner, &ofi_ops);
}

static int mixed_open_nic(struct nic **nic, struct nic_job *job, const char *inner)
{
    return open_kind(nic, job, inner, &mixed_ops);
}

static bool all_is_sent(void *context)
{
    struct ofi_nic *ofi = context;
    ofi_lock(ofi);
    bool is_sent = !ofi->outgoing;
    ofi_unlock(ofi);
    return is_sent;
}

/* What was written without waiting must not be lost because its writer leaves. */
static void ofi_close_nic(struct nic *nic)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi->has_progress_thread) {
        if (ofi->timeout_ns > FAREWELL_NS)
            ofi->timeout_ns = FAREWELL_NS;
        ofi_flush(nic, RH_ANY_RANK);
        ofi_wait_until(ofi, nic->job->rank, all_is_sent, ofi, FAREWELL_NS);
    }
    close_all(ofi);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/* The inner NIC waits, and makes our progress meanwhile. When it reports a death, flags of
 * transfers to the dead must have been set before the program reuses them. */
static int ofi_wait(struct nic *nic, const struct nic_wait *wait)
{
    nic_assert_wait(nic, wait);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    int result = ofi->inner->ops->wait(ofi->inner, wait);
    if (result != RH_EDEAD || ofi->is_alone)
        return result;
    ofi_lock(ofi);
    for (int rank = 0; rank < nic->job->size; rank++) {
        if (ofi_is_gone(ofi, rank))
            ofi_peer_fail(ofi, rank);
    }
    ofi_unlock(ofi);
    return result;
}

/* Only near memory is written by plain stores. */
static int ofi_wake(struct nic *nic, int rank)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    return ofi_is_near(ofi, rank) ? ofi->inner->ops->wake(ofi->inner, rank) : 0;
}

#define OPERATIONS                                                                                 \
    .close = ofi_close_nic, .segment_add = ofi_segment_add, .segment_remove = ofi_segment_remove,  \
    .view = ofi_view, .view_release = ofi_view_release, .push = ofi_push, .pull = ofi_pull,        \
    .store = ofi_store, .atomic = ofi_atomic, .append = ofi_append, .append_try = ofi_append_try,  \
    .queue_peek = ofi_queue_peek, .queue_release = ofi_queue_release, .flush = ofi_flush,          \
    .wait = ofi_wait, .withdraw = ofi_withdraw, .wake = ofi_wake

const struct nic_ops ofi_ops = {
    .name = "ofi",
    .help = "hosts of a cluster, on libfabric",
    .open = ofi_open_nic,
    OPERATIONS,
};

const struct nic_ops mixed_ops = {
    .name = "mixed",
    .help = "hosts of a cluster; the ranks of one host by shared memory",
    .open = mixed_open_nic,
    OPERATIONS,
};
