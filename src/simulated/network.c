/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See network.h.
 */
#include "simulated/network.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static int lanes_read(const char *text, enum algorithm_lanes *lanes)
{
    static const char *const names[] = {[ALGORITHM_ONE_LANE] = "one",
                                        [ALGORITHM_LANE_PER_HOP] = "hop",
                                        [ALGORITHM_LANE_AT_BRANCHES] = "branch"};
    *lanes = ALGORITHM_ONE_LANE;
    if (!text[0])
        return 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *lanes = (enum algorithm_lanes)i;
            return 0;
        }
    }
    return error_fail(RH_EINVALID, "RHINET_MARTINI: lanes=%s; it is one, hop or branch", text);
}

/* Says which setting it was, before what the reader said of the file. */
static int refuse(int result)
{
    char reason[512];
    snprintf(reason, sizeof(reason), "%s", rh_error_text());
    return error_fail(result == -ENOMEM ? RH_ENOSPACE : RH_EINVALID, "RHINET_MARTINI: %s", reason);
}

int martini_network_open(struct martini_network *network, const struct martini_settings *settings,
                         uint32_t ranks)
{
    struct sim_plan_wish wish = {
        .topology = settings->topology, .routing = text_or_null(settings->routing), .hosts = ranks};
    memset(network, 0, sizeof(*network));
    if (!settings->topology[0]) {
        const char *alone = settings->routing[0] ? "routing" : settings->lanes[0] ? "lanes" : NULL;
        return alone ? error_fail(RH_EINVALID, "RHINET_MARTINI: %s goes with topology=FILE only",
                                  alone)
                     : 0;
    }
    int result = lanes_read(settings->lanes, &wish.lanes);
    if (result < 0)
        return result;
    result = sim_plan_open(&network->files, &wish);
    if (result < 0)
        return refuse(result);
    for (uint32_t i = 0; i < network->files.plan.plan.link_count; i++)
        network->files.plan.links[i].mbps = (uint32_t)settings->constants.cluster_mbps;
    network->plan = &network->files.plan.plan;
    return 0;
}

void martini_network_close(struct martini_network *network)
{
    sim_plan_close(&network->files);
    network->plan = NULL;
}
