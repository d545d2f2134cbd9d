/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the layers above may know of a job.
 */
#include "rma/rma.h"

int64_t rma_timeout_ns(const struct rh_job *job, int64_t timeout_ns)
{
    return timeout_ns < 0 ? job->timeout_ns : timeout_ns;
}

int64_t rma_deadline_ns(struct rh_job *job, int64_t timeout_ns)
{
    return nic_deadline_ns(job->nic, rma_timeout_ns(job, timeout_ns));
}

int64_t rma_left_ns(struct rh_job *job, int64_t deadline_ns)
{
    return deadline_left_ns(deadline_ns, nic_now_ns(job->nic));
}

void rma_timeout_shorten(struct rh_job *job, int64_t timeout_ns)
{
    if (job->timeout_ns > timeout_ns)
        job->timeout_ns = timeout_ns;
}

const struct settings *rma_settings(const struct rh_job *job)
{
    return &job->settings;
}

struct counters *rma_counters(const struct rh_job *job)
{
    return job->counters;
}

const struct watch_job *rma_watch(const struct rh_job *job)
{
    return &job->nic_job.watch;
}

const _Atomic uint32_t *rma_peer_state(const struct rh_job *job, int rank)
{
    return &job->nic_job.roster->peer[rank].state;
}

const _Atomic uint32_t *rma_deaths(const struct rh_job *job)
{
    return roster_deaths(job->nic_job.roster, job->nic_job.rank);
}

const _Atomic uint32_t *rma_joins(const struct rh_job *job)
{
    return &job->nic_job.roster->joins;
}

int rma_used(const struct rh_job *job)
{
    return roster_used(job->nic_job.roster);
}

bool rma_is_open(const struct rh_job *job)
{
    return job->nic_job.roster->is_open != 0;
}

const _Atomic bool *rma_is_crowded(const struct rh_job *job)
{
    static const _Atomic bool never = false;
    return job->nic->is_crowded ? job->nic->is_crowded : &never;
}

bool rma_attached_is_slow(const struct rh_job *job)
{
    const _Atomic bool *is_slow = job->nic->attached_is_slow;
    return is_slow && atomic_load_explicit(is_slow, memory_order_relaxed);
}

void *rma_mailbox(const struct rh_job *job)
{
    return job->mailbox.state;
}

void rma_mailbox_keep(struct rh_job *job, void *state, void (*close)(void *state))
{
    job->mailbox = (struct job_guest){.state = state, .close = close};
}

int rma_peer_gone(struct rh_job *job, int rank, const char *during)
{
    return nic_peer_gone(job->nic, rank, during);
}
