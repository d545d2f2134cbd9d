/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member's conversation with its task manager. Private to src/job.
 */
#ifndef JOB_MEMBER_EXCHANGE_H
#define JOB_MEMBER_EXCHANGE_H

#include "job/job.h"
#include "job/protocol.h"

void line_open(struct manager_line *line, int fd);
void line_close(struct manager_line *line);

/* One request and its answer, within the job's time-out. The manager's refusal is returned with its
 * text; RH_ETIMEOUT: it has not answered, and may still do what was asked; RH_EREFUSED: it is gone.
 * No point of cancellation. */
struct exchange {
    struct request request;
    int send_fd;  /* or -1 */
    int fd[2];    /* received */
    int fd_count; /* must come back exactly this many */
    struct reply reply;
};
int job_exchange(struct rh_job *job, struct exchange *exchange);

/* Operations that ask the task manager; the context is the job. */
extern const struct nic_broker job_broker;

#endif
