/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member's conversation with its task manager. Private to src/job.
 */
#ifndef JOB_EXCHANGE_H
#define JOB_EXCHANGE_H

#include "job/job.h"
#include "job/protocol.h"

/* One request and its answer. The manager's refusal is returned with its text. */
struct exchange {
    struct request request;
    int send_fd;  /* or -1 */
    int fd[2];    /* received */
    int fd_count; /* must come back exactly this many */
    struct reply reply;
};
int job_exchange(struct rh_job *job, struct exchange *exchange);

/* Fills job->broker with operations that ask the task manager. */
void job_broker_fill(struct rh_job *job);

#endif
