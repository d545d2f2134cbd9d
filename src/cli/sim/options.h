/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of `rhinet sim run`.
 */
#ifndef CLI_SIM_OPTIONS_H
#define CLI_SIM_OPTIONS_H

#include "cli/sim/traffic.h"
#include "sim/switch/switch.h"

struct sim_options {
    const char *topology, *routing, *paths, *traffic, *trace, *hot, *links;
    const char *json, *plot, *log;
    struct sim_loads loads;
    struct workload_spec spec;
    struct network_options network;
    struct sim_constants constants;
    int lanes; /* enum sim_plan_lanes */
    uint64_t seed, link_rows;
};

/* Names of enum network_kind. */
extern const char *const sim_network_names[];

/* Reads them; 0, or the exit status after it has said what is wrong. */
int sim_options_read(struct sim_options *options, int argc, char **argv);

#endif
