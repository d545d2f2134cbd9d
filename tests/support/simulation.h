/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Test suites on NIC martini: all ranks are fibers of one simulated job, time is virtual, a rank
 * can be killed alone. What check.h and moment.h keep belongs to the rank that runs.
 */
#pragma once

#include "simulated/simulated.h"

struct simulation_options {
    int size;
    uint64_t seed;
    struct simulated_faults faults;
    char *const *environment;
    int (*rank_main)(struct rh_job *job, void *context);
    void *context;
    bool leaves_itself;
    bool is_hashed; /* run twice: both must be the same, event by event */
};

/* As simulated_run(); says on stderr what went wrong. */
int simulation_run(const struct simulation_options *options, struct simulated_report *report);

/* The job that runs. */
struct simulated *simulation_job(void);
