/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands of `rhinet sim` share.
 */
#pragma once

#include "cli/cli.h"
#include "sim/platform/platform.h"
#include "sim/workload/workload.h"

#include <stdio.h>

/* --platform, for all commands that simulate a machine: a line of their tables. */
#define SIM_PLATFORM_OPTION(list_)                                                                 \
    CLI_LIST("platform", "NAME", list_,                                                            \
             "which machine: a name of `rhinet sim platform list`, or a file",                     \
             .suggest = sim_platform_name, .takes_file = true)
const char *sim_platform_name(size_t index);

/* The constants of the machine. Where nodes may not differ, ranges is NULL. 0, or the exit status
 * after it has said what is wrong. */
int sim_platform_apply(const struct cli_list *platforms, struct sim_constants *constants,
                       struct platform_ranges *ranges);

/* --set NAME=VALUE, one after the other, and whether a machine can be made of it. 0, or the exit
 * status. */
int sim_set_apply(const struct cli_list *texts, struct sim_constants *constants);

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
    sim_time latency_min; /* of the shortest way, by the closed formula */
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

extern const struct cli_command cli_sim_run, cli_sim_constants;
