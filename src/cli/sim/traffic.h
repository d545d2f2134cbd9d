/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet sim run` reads of traffic: lists of loads, traces, names of hosts.
 */
#pragma once

#include "route/fabric/net.h"
#include "sim/workload/workload.h"

#define SIM_LOADS_MAX 64

struct sim_loads {
    double values[SIM_LOADS_MAX];
    size_t count;
};

/* "0.1,0.5,0.9" or "0.1:0.9:0.1" (from, to, step). -EINVAL says what is wrong. */
int sim_loads_parse(struct sim_loads *loads, const char *text);

/* By name or number. -EINVAL. */
int sim_host_find(const struct net *net, const char *text, uint32_t *host);

struct sim_trace {
    struct workload_message *messages; /* the caller frees them */
    size_t count;
};

/* Lines of "NANOSECONDS SOURCE TARGET BYTES", in order of time. -EINVAL names file and line. */
int sim_trace_read(struct sim_trace *trace, const struct net *net, const char *path);
