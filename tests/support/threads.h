/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A whole job inside one process: each rank is a thread, the task manager another. For
 * ThreadSanitizer, which sees races between threads only, and for quick tests.
 */
#pragma once

#include <rhinet/job.h>
#include <stdbool.h>

struct threads_options {
    int size;        /* ranks */
    const char *nic; /* NULL: what RHINET_NIC says */
    /* The life of one rank between join and leave: returns 0, or what it failed with. */
    int (*rank_main)(struct rh_job *job, void *context);
    void *context;
    /* True: rank_main calls rh_leave() itself. */
    bool leaves_itself;
};

/* Runs the job to its end. Returns 0, or the first rank's failure. */
int threads_run(const struct threads_options *options);
