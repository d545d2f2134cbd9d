/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network that a user asks for in RHINET_MARTINI, read from files. Private to src/simulated.
 */
#pragma once

#include "plan/plan.h"
#include "simulated/world.h"

struct martini_network {
    struct sim_plan_files files;
    const struct network_plan *plan; /* NULL: none was asked for */
};

/* For this number of ranks, which are the first hosts of the topology, on links of cluster_mbps.
 * RH_EINVALID names setting, file, line and value; RH_ENOSPACE. */
int martini_network_open(struct martini_network *network, const struct martini_settings *settings,
                         uint32_t ranks);
void martini_network_close(struct martini_network *network);
