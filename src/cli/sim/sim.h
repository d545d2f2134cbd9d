/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands of `rhinet sim` share.
 */
#ifndef CLI_SIM_SIM_H
#define CLI_SIM_SIM_H

#include "sim/workload/workload.h"

#include <stdio.h>

/* "rhinet sim: <the last error>" on stderr; returns 1. */
int sim_fail(void);

/* One measured load of a run. */
struct sim_point {
    double load;
    struct workload_report report;
    double seconds; /* of the processor */
};

/* All that a run was asked for, and what came out. */
struct sim_result {
    const char *topology, *routing, *traffic, *network;
    uint32_t switch_count, host_count, lane_count, bytes;
    uint64_t seed;
    sim_time latency_least; /* of the shortest way, by the closed formula */
    struct sim_point *points;
    size_t point_count;
};

void sim_result_text(const struct sim_result *result, FILE *out);
/* Each returns 0, or 1 after it has said what is wrong. path "-": stdout. */
int sim_result_json(const struct sim_result *result, const struct network *network,
                    const char *path);
int sim_result_plot(const struct sim_result *result, const char *path);

/* The loads of links, busiest first, as many as asked for. */
void sim_links_text(const struct network *network, sim_time span, uint32_t most, FILE *out);

int cli_sim_run(int argc, char **argv);
int cli_sim_constants(int argc, char **argv);
int cli_sim_thesis(int argc, char **argv);
int cli_sim_bench(int argc, char **argv);

#endif
