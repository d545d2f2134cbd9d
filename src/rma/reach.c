/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening the short way to a segment; the rest is in reach.h.
 */
#include "rma/reach.h"

#include <stdlib.h>

#define REACHES_MAX 256 /* made in a job's life: who detaches without end does without */

static bool is_near(const struct rh_job *job, int rank)
{
    const struct roster *roster = job->nic_job.roster;
    return roster->peer[rank].node == roster->peer[job->nic_job.rank].node;
}

/* Near is what the NIC says: it may have reasons to reach a rank of this host as if it were far, or
 * hide a rank's own memory. That does not change, so it is asked once. Beyond so many ranks some
 * share a bit, and do without if one must. */
static _Atomic uint64_t *refusals(struct rh_job *job, int rank, uint64_t *bit)
{
    unsigned at = (unsigned)rank % JOB_NO_REACH;
    *bit = 1ull << at % 64;
    return &job->no_reach[at / 64];
}

static bool is_refused(struct rh_job *job, int rank)
{
    uint64_t bit, bits = atomic_load_explicit(refusals(job, rank, &bit), memory_order_relaxed);
    return (bits & bit) != 0;
}

static void refuse(struct rh_job *job, int rank)
{
    uint64_t bit;
    atomic_fetch_or_explicit(refusals(job, rank, &bit), bit, memory_order_relaxed);
}

/* Asks for the whole segment, with all rights that it grants: such a view is kept until the job is
 * left. False for memory that only calls reach; they cost far more than this question. */
static bool look_up(struct rh_job *job, struct rh_remote remote, struct nic_view *view)
{
    const struct nic_ops *ops = job->nic->ops;
    struct rh_remote start = rh_at(remote.rank, remote.sid, 0);
    if (ops->view(job->nic, start, 0, 0, view) < 0 || view->kind != NIC_SEGMENT_ALLOCATED)
        return false;
    if (!view->sleeper) {
        refuse(job, remote.rank);
        return false;
    }
    if (ops->view(job->nic, start, view->length, view->rights, view) < 0)
        return false;
    if (view->pointer && view->sleeper)
        return true;
    ops->view_release(job->nic, view);
    return false;
}

static struct job_reach *make(struct rh_job *job, struct rh_remote remote)
{
    struct nic_view view;
    if (!look_up(job, remote, &view))
        return NULL;
    struct job_reach *reach = aligned_alloc(alignof(struct job_reach), sizeof(*reach));
    if (!reach) {
        job->nic->ops->view_release(job->nic, &view);
        return NULL;
    }
    *reach = (struct job_reach){.key = reach_key(remote),
                                .length = view.length,
                                .base = view.pointer,
                                .stands = view.stands,
                                .stood = view.stood,
                                .sleeper = view.sleeper,
                                .peer = &job->nic_job.roster->peer[remote.rank],
                                .rights = view.rights};
    return reach;
}

/* A slot is its segment's as long as that stands. */
static bool is_free(const struct job_reach *reach)
{
    return !reach || !reach_stands(reach) || roster_peer_state(reach->peer) >= RH_PEER_LEFT;
}

void reach_make(struct rh_job *job, struct rh_remote remote)
{
    _Atomic(struct job_reach *) *slot = reach_slot(job, remote);
    if (!job->nic->has_pointers || !is_free(atomic_load_explicit(slot, memory_order_acquire)) ||
        !is_near(job, remote.rank) || is_refused(job, remote.rank) ||
        atomic_exchange_explicit(&job->is_reach_made, true, memory_order_acquire))
        return;
    struct job_reach *reach = job->reach_count < REACHES_MAX ? make(job, remote) : NULL;
    if (reach) {
        job->reach_count++;
        reach->older = job->reaches;
        job->reaches = reach;
        atomic_store_explicit(slot, reach, memory_order_release); /* pairs with reach_find() */
    }
    atomic_store_explicit(&job->is_reach_made, false, memory_order_release);
}
