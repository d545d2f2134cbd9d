/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a `struct rh_job` is made of. Private to the library: src/job fills it, the layers above use
 * the NIC and the world in it.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include "base/settings.h"
#include "job/job_memory.h"
#include "job/starter.h"
#include "nic/nic.h"

#include <pthread.h>

struct rh_job {
    struct nic *nic; /* first: every operation starts here */
    struct counters *counters;
    int64_t timeout_ns; /* what RH_TIMEOUT_DEFAULT means */
    char nic_name[64];  /* as the user would write it */
    struct nic_world world;
    struct nic_broker broker;
    struct settings settings;
    struct job_memory memory;
    int manager_fd;         /* -1 in a job of one */
    struct starter starter; /* ops is NULL unless there still is one */
    pthread_mutex_t manager_lock;
};

#endif
