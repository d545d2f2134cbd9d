/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the routing module's fabrics and tables to what the simulated network takes. Neither of the
 * two knows the other; this is where they meet, for `rhinet sim run` and for NIC martini.
 */
#pragma once

#include "base/arena.h"
#include "route/tables/lanes.h"
#include "route/traffic/traffic.h"
#include "sim/switch/switch.h"

struct sim_plan {
    struct network_plan plan; /* to hand on; points into the rest */
    struct arena memory;      /* of all but the steps */
    struct network_link *links;
    const char **names;
    uint8_t *port_to;
    uint32_t *path_to;
    struct network_step *steps;
    bool *raises;
};

/* Destination routing by a table. Names stay the fabric's. -EINVAL: more than NETWORK_LANES_MAX
 * virtual channels would be needed; -ENOMEM. */
int sim_plan_by_table(struct sim_plan *plan, const struct lft *lft, enum algorithm_lanes lanes);

/* What a plan is made from. */
struct sim_plan_fabric {
    const struct fabric *fabric;
    const struct net *net;
    const struct traffic *traffic;
};

/* Destination routing by the name of an algorithm, or of a file with tables ("-": standard input),
 * whose virtual channels change as `lanes` says. -EINVAL names what is wrong, with file and line;
 * -ENOMEM. */
int sim_plan_by_name(struct sim_plan *plan, const struct sim_plan_fabric *from, const char *routing,
                     enum algorithm_lanes lanes);

/* A plan with all that it stands on. */
struct sim_plan_files {
    struct fabric *fabric;
    struct net *net;
    struct traffic *traffic;
    struct sim_plan plan;
};

/* Which files; routing NULL: SIM_PLAN_ROUTING. */
struct sim_plan_wish {
    const char *topology, *routing;
    enum algorithm_lanes lanes; /* of tables from a file */
    uint32_t hosts;             /* this many are used, the first ones of the topology */
};
#define SIM_PLAN_ROUTING "turn-addition"

/* Reads a topology, and makes a plan for traffic among its first hosts. -EINVAL names file, line
 * and reason: not enough hosts, no way between two of them; -ENOMEM, -ENOENT and the like. */
int sim_plan_open(struct sim_plan_files *files, const struct sim_plan_wish *wish);
void sim_plan_close(struct sim_plan_files *files);

/* Source routing by the file that `rhinet route compute --paths` writes. -EINVAL names file, line
 * and reason. */
int sim_plan_by_paths(struct sim_plan *plan, const struct net *net, const char *path);

/* Speeds and lengths of single links: lines of "NODE PORT MBPS METRES", 0 for what stays. */
int sim_plan_links_read(struct sim_plan *plan, const struct net *net, const char *path);

void sim_plan_free(struct sim_plan *plan);

/* The part that all plans have: links and names, no way yet. */
int sim_plan_begin(struct sim_plan *plan, const struct net *net);
