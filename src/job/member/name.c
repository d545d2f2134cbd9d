/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of ranks, which the task manager of the host keeps.
 */
#include "base/error.h"
#include "job/member/parts.h"

#include <string.h>

_Static_assert(JOB_NAME_MAX == PROTOCOL_NAME_MAX, "both say how long a name may be");

static int ask(struct rh_job *job, enum request_kind kind, const char *name,
               struct exchange *exchange)
{
    size_t length = strlen(name);
    if (length == 0 || length > JOB_NAME_MAX)
        return error_fail(RH_EINVALID, "a name of %zu bytes; 1 to %d are allowed", length,
                          JOB_NAME_MAX);
    exchange->request.kind = kind;
    exchange->request.length = length;
    exchange->send_fd = -1;
    memcpy(exchange->request.card, name, length);
    return job_exchange(job, exchange);
}

int job_name_put(struct rh_job *job, const char *name, uint32_t number)
{
    struct exchange exchange = {.request = {.sid = number}};
    return job->line.fd < 0 ? 0 : ask(job, REQUEST_NAME_PUT, name, &exchange);
}

int job_name_drop(struct rh_job *job, const char *name)
{
    struct exchange exchange = {0};
    return job->line.fd < 0 ? 0 : ask(job, REQUEST_NAME_DROP, name, &exchange);
}

int job_name_find(struct rh_job *job, const char *name, int *rank, uint32_t *number)
{
    struct exchange exchange = {0};
    if (job->line.fd < 0)
        return error_fail(RH_EAGAIN, "this process is alone, and none of it is called \"%s\"",
                          name);
    int result = ask(job, REQUEST_NAME_GET, name, &exchange);
    if (result < 0)
        return result;
    if (exchange.reply.rank < 0 || exchange.reply.rank >= job->nic_job.size)
        return error_fail(RH_ECORRUPT, "the task manager says that \"%s\" is rank %d of %d", name,
                          exchange.reply.rank, job->nic_job.size);
    *rank = exchange.reply.rank;
    *number = (uint32_t)exchange.reply.size;
    return 0;
}
