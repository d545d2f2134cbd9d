/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses of processes: one's own, and which rank has one.
 */
#include "base/error.h"
#include "job/member/parts.h"
#include "job/open_job.h"

#include <string.h>

static uint32_t serial_of(const struct rh_job *job, int rank)
{
    return atomic_load_explicit(&job->nic_job.roster->peer[rank].serial, memory_order_relaxed);
}

int rh_address(const struct rh_job *job, void *bytes, size_t *size)
{
    struct job_address address;
    _Static_assert(sizeof(address) <= RH_ADDRESS_MAX, "as promised");
    size_t room = *size;
    *size = sizeof(address);
    if (room < sizeof(address))
        return error_fail(RH_ENOSPACE, "an address has %zu bytes, there is room for %zu",
                          sizeof(address), room);
    job_address_make(&address, job->nic_job.job_id, job->nic_job.rank,
                     serial_of(job, job->nic_job.rank));
    memcpy(bytes, &address, sizeof(address));
    return 0;
}

/* Of another job: why it is of no use to us. */
static int refuse_stranger(const struct rh_job *job, const struct job_address *address)
{
    struct job_address own;
    job_address_make(&own, job->nic_job.job_id, job->nic_job.rank, 0);
    if (memcmp(own.host, address->host, sizeof(own.host)) != 0)
        return error_fail(RH_EUNSUP,
                          "that address is of a process on another host (or in other namespaces of "
                          "it), which this job does not reach; start both by one launcher");
    if (own.user != address->user)
        return error_fail(RH_EREFUSED,
                          "that address is of a process of user %u, and this one is of user %u",
                          address->user, own.user);
    if (!job->nic_job.roster->is_open)
        return error_fail(
            RH_EUNSUP, "that address is of a process of job %llx, and this one is in job %llx",
            (unsigned long long)address->job_id, (unsigned long long)job->nic_job.job_id);
    return error_fail(RH_EDEAD,
                      "that address is of a process of job %llx, which is over, or which has "
                      "another name (RHINET_OPEN_JOB) than ours, %llx",
                      (unsigned long long)address->job_id, (unsigned long long)job->nic_job.job_id);
}

/* The task manager alone knows whether the rank is still the process's; it notes that we have
 * met. */
static int ask_for_peer(struct rh_job *job, const struct job_address *address)
{
    struct exchange exchange = {
        .request = {.kind = REQUEST_PEER, .rank = address->rank, .length = address->serial},
        .send_fd = -1};
    int result = job_exchange(job, &exchange);
    if (result == RH_EDEAD)
        return error_set(RH_EDEAD, address->rank, "rh_peer: %s", exchange.reply.text);
    return result;
}

int rh_peer(struct rh_job *job, const void *bytes, size_t size, int *rank)
{
    struct job_address address;
    int result = job_address_read(&address, bytes, size);
    if (result < 0)
        return result;
    if (address.job_id != job->nic_job.job_id)
        return refuse_stranger(job, &address);
    if (address.rank < 0 || address.rank >= job->nic_job.size)
        return error_fail(RH_EINVALID, "that address is of rank %d, but the job has room for %d",
                          address.rank, job->nic_job.size);
    bool is_own = address.rank == job->nic_job.rank;
    if (is_own && address.serial != serial_of(job, address.rank))
        return error_set(RH_EDEAD, address.rank,
                         "rh_peer: the process with that address has left; rank %d is ours now",
                         address.rank);
    if (job->nic_job.roster->is_open && !is_own)
        result = ask_for_peer(job, &address);
    else if (roster_state(job->nic_job.roster, address.rank) >= RH_PEER_LEFT)
        result = error_set(RH_EDEAD, address.rank, "rh_peer: rank %d has died or left",
                           address.rank);
    if (result == 0)
        *rank = address.rank;
    return result;
}
