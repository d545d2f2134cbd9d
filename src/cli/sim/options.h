/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of `rhinet sim run`.
 */
#pragma once

#include "cli/option.h"
#include "cli/sim/sweep.h"
#include "cli/sim/traffic.h"
#include "sim/switch/switch.h"

struct sim_options {
    const char *topology, *routing, *paths, *traffic, *trace, *hot, *links;
    const char *json, *plot, *log;
    struct sim_loads loads;
    struct workload_spec spec;
    struct network_options network;
    struct sim_constants constants;
    int lanes; /* enum algorithm_lanes */
    int64_t warm_ns, measure_ns;
    uint64_t seed, link_rows;
    struct cli_list platforms, set;
    struct sweep sweep;
};

/* Names of enum network_kind. */
extern const char *const sim_network_names[];

extern const struct cli_option sim_run_options[];

/* What they say, checked together; NULL after it has said what is wrong, and *status is that of the
 * exit. */
struct sim_options *sim_options_get(int *status);
