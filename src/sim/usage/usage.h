/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the time of a simulated cluster went: how busy each part was, how long its modules were in
 * which state, how full its FIFOs were, how long packets and calls took. Counted always, since that
 * costs next to nothing; told when a run has ended, for people or as JSON ("rhinet usage 1").
 */
#pragma once

#include "sim/cluster/cluster.h"
#include "sim/usage/histogram.h"

/* What programs asked for, by name. */
struct usage_call {
    const char *name;
    const struct histogram *latency;
};

struct usage_view {
    const struct cluster *cluster;
    sim_time span; /* virtual time of the run */
    const struct usage_call *calls;
    size_t call_count;
};

void usage_print(const struct usage_view *view, FILE *out);
void usage_json(const struct usage_view *view, FILE *out);
