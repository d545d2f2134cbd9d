/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans by names: of an algorithm or a file with tables, and of a file with a topology.
 */
#include "base/error.h"
#include "plan/plan.h"
#include "route/formats/formats.h"
#include "route/routing/routing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int plan_compute(struct sim_plan *plan, const struct sim_plan_fabric *from, const char *name)
{
    struct routing *routing;
    const struct algorithm *algorithm = algorithm_find(name);
    int result = algorithm ? routing_create(&routing, from->traffic, algorithm, NULL) : -EINVAL;
    if (result < 0)
        return result;
    result = sim_plan_by_table(plan, routing->lft, algorithm->lanes);
    routing_destroy(routing);
    return result;
}

static int plan_read(struct sim_plan *plan, const struct sim_plan_fabric *from, const char *path,
                     enum algorithm_lanes lanes)
{
    struct lft_dump dump = {0};
    struct lft *lft = NULL;
    int result = lft_dump_read(&dump, from->fabric, path);
    if (result == 0)
        result = lft_import(&lft, from->net, &dump);
    if (result == 0)
        result = sim_plan_by_table(plan, lft, lanes);
    lft_destroy(lft);
    lft_dump_free(&dump);
    return result;
}

int sim_plan_by_name(struct sim_plan *plan, const struct sim_plan_fabric *from, const char *routing,
                     enum algorithm_lanes lanes)
{
    bool is_file = access(routing, F_OK) == 0 || strcmp(routing, "-") == 0;
    return is_file ? plan_read(plan, from, routing, lanes) : plan_compute(plan, from, routing);
}

/* Each host that is used must reach each other one, or packets would vanish in the middle of a run.
 * Follows the ports: a table from a file may lead nowhere, or round in circles. */
static bool has_way(const struct sim_plan_files *files, uint32_t from, uint32_t to)
{
    const struct net *net = files->net;
    uint32_t at = net->target_switch[from];
    for (uint32_t hops = 0; hops <= net->switch_count; hops++) {
        uint8_t port = files->plan.port_to[(size_t)at * net->host_count + to];
        if (at == net->target_switch[to])
            return port == net->target_port[to];
        uint32_t c = net->first[at];
        while (c < net->first[at + 1] && net->port[c] != port)
            c++;
        if (c == net->first[at + 1])
            return false;
        at = net->head[c];
    }
    return false;
}

static int ways_check(const struct sim_plan_files *files, const struct sim_plan_wish *wish)
{
    const char *const *names = files->plan.names + files->net->switch_count;
    for (uint32_t a = 0; a < wish->hosts; a++) {
        for (uint32_t b = 0; b < wish->hosts; b++) {
            if (a != b && !has_way(files, a, b))
                return error_fail(-EINVAL, "%s, routing %s: there is no way from %s to %s",
                                  wish->topology, wish->routing ? wish->routing : SIM_PLAN_ROUTING,
                                  names[a], names[b]);
        }
    }
    return 0;
}

int sim_plan_open(struct sim_plan_files *files, const struct sim_plan_wish *wish)
{
    memset(files, 0, sizeof(*files));
    int result = formats_fabric_read(&files->fabric, wish->topology, NULL);
    if (result == 0)
        result = net_create(&files->net, files->fabric);
    if (result == 0 && files->net->host_count < wish->hosts)
        result = error_fail(-EINVAL, "%s has %u hosts, which is less than %u ranks", wish->topology,
                            files->net->host_count, wish->hosts);
    if (result == 0)
        result = traffic_uniform(&files->traffic, files->net);
    if (result == 0) {
        struct sim_plan_fabric from = {files->fabric, files->net, files->traffic};
        result = sim_plan_by_name(&files->plan, &from,
                                  wish->routing ? wish->routing : SIM_PLAN_ROUTING, wish->lanes);
    }
    if (result == 0)
        result = ways_check(files, wish);
    if (result < 0)
        sim_plan_close(files);
    return result;
}

void sim_plan_close(struct sim_plan_files *files)
{
    sim_plan_free(&files->plan);
    traffic_destroy(files->traffic);
    net_destroy(files->net);
    fabric_destroy(files->fabric);
    memset(files, 0, sizeof(*files));
}
