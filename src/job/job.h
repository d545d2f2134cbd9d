/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a `struct rh_job` is made of. Private to the library: src/job fills it, the layers above use
 * the NIC and the world in it.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "base/settings.h"
#include "job/job_memory.h"
#include "job/protocol.h"
#include "nic/nic.h"

#include <pthread.h>

struct rh_job {
    struct nic *nic; /* first: every operation starts here */
    struct counters *counters;
    int64_t timeout_ns; /* what RH_TIMEOUT_DEFAULT means */
    struct nic_world world;
    struct nic_broker broker;
    struct settings settings;
    struct job_memory memory;
    int manager_fd; /* -1 in a job of one */
    pthread_mutex_t manager_lock;
};

/* One exchange with the task manager. fds may be NULL; *fds_count is how many are sent (0 or 1), and
 * afterwards how many came back. The manager's refusal is returned with its text. */
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
