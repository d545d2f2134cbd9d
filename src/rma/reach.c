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

/* Asks for the whole segment, with all rights that it grants: such a view is kept until the job is
 * left. False for memory that only calls reach; they cost far more than this question. */
static bool look_up(struct rh_job *job, struct rh_remote remote, struct nic_view *view)
{
    const struct nic_ops *ops = job->nic->ops;
    struct rh_remote start = rh_at(remote.rank, remote.sid, 0);
    if (ops->view(job->nic, start, 0, 0, view) < 0 || view->kind != NIC_SEGMENT_ALLOCATED ||
        ops->view(job->nic, start, view->length, view->rights, view) < 0)
        return false;
    if (view->pointer && view->sleeper)
        return true;
    ops->view_release(job->nic, view);
    return false;
}

static struct job_reach *make(struct rh_job *job, struct rh_remote remote)
{
    struct nic_view view;
    struct job_reach *reach = aligned_alloc(alignof(struct job_reach), sizeof(*reach));
    if (!reach || !look_up(job, remote, &view)) {
        free(reach);
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
        !is_near(job, remote.rank) ||
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
