/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan.h. Switches keep the numbers that they have in struct net; hosts are its targets.
 */
#include "plan/plan.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for the simulated network's plan");
}

/* Each cable between switches once, then those of the hosts. */
static void links_fill(struct sim_plan *plan, const struct net *net)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < net->channel_count; c++) {
        uint32_t back = net->reverse[c];
        if (c < back)
            plan->links[count++] = (struct network_link){.a = {net->tail[c], net->port[c]},
                                                         .b = {net->tail[back], net->port[back]}};
    }
    for (uint32_t h = 0; h < net->host_count; h++)
        plan->links[count++] = (struct network_link){
            .a = {net->switch_count + h, 1}, .b = {net->target_switch[h], net->target_port[h]}};
    plan->plan.link_count = count;
}

int sim_plan_begin(struct sim_plan *plan, const struct net *net)
{
    uint32_t nodes = net->switch_count + net->host_count;
    memset(plan, 0, sizeof(*plan));
    plan->links = calloc(net->channel_count + net->host_count + 1u, sizeof(*plan->links));
    plan->names = calloc(nodes + 1u, sizeof(*plan->names));
    if (!plan->links || !plan->names)
        return no_memory();
    for (uint32_t i = 0; i < net->switch_count; i++)
        plan->names[i] = net_name(net, i);
    for (uint32_t i = 0; i < net->host_count; i++)
        plan->names[net->switch_count + i] = net->fabric->nodes[net->target_node[i]].name;
    links_fill(plan, net);
    plan->plan.switch_count = net->switch_count;
    plan->plan.host_count = net->host_count;
    plan->plan.links = plan->links;
    plan->plan.names = plan->names;
    plan->plan.lane_count = 1;
    return 0;
}

static uint8_t port_of(const struct lft *lft, uint32_t at, uint32_t target)
{
    const struct net *net = lft->net;
    uint8_t slot = lft_tree(lft, target)[at];
    if (slot == LFT_HERE)
        return net->target_port[target];
    return slot == LFT_NONE ? NETWORK_NO_PORT : net->port[net->first[at] + slot];
}

static void raises_fill(struct sim_plan *plan, const struct net *net, enum sim_plan_lanes lanes)
{
    for (uint32_t i = 0; i < net->switch_count; i++)
        plan->raises[i] = lanes == SIM_PLAN_HOP ||
                          (lanes == SIM_PLAN_BRANCH && net_degree(net, i) > 2);
    /* a ring of switches with two cables each needs one place where the channel changes */
    if (lanes == SIM_PLAN_BRANCH && net->degree_max <= 2)
        plan->raises[0] = true;
}

/* Virtual channels that the longest way needs. */
static int lanes_count(struct sim_plan *plan, const struct lft *lft)
{
    const struct net *net = lft->net;
    uint32_t *order = malloc((net->switch_count + 1u) * sizeof(*order));
    uint32_t *scratch = malloc(LFT_SCRATCH(net) * sizeof(*scratch));
    uint32_t *lane = calloc(net->switch_count + 1u, sizeof(*lane));
    uint32_t most = 0;
    int result = order && scratch && lane ? 0 : no_memory();
    for (uint32_t target = 0; result == 0 && target < net->host_count; target++) {
        uint32_t count = lft_tree_order(lft, target, order, scratch);
        lane[order[0]] = 0;
        for (uint32_t i = 1; i < count; i++) {
            uint32_t at = order[i], slot = lft_tree(lft, target)[at];
            uint32_t to = net->head[net->first[at] + slot];
            lane[at] = lane[to] + (to != order[0] && plan->raises[to]);
            most = lane[at] > most ? lane[at] : most;
        }
    }
    free(order);
    free(scratch);
    free(lane);
    if (result == 0 && most >= NETWORK_LANES_MAX)
        result = error_set(-EINVAL, ERROR_NO_RANK,
                           "these tables need %u virtual channels, a switch has at most %u",
                           most + 1, NETWORK_LANES_MAX);
    plan->plan.lane_count = most + 1;
    return result;
}

int sim_plan_by_table(struct sim_plan *plan, const struct lft *lft, enum sim_plan_lanes lanes)
{
    const struct net *net = lft->net;
    int result = sim_plan_begin(plan, net);
    if (result == 0) {
        plan->port_to = malloc((size_t)net->switch_count * net->host_count + 1);
        plan->raises = calloc(net->switch_count + 1u, sizeof(*plan->raises));
        result = plan->port_to && plan->raises ? 0 : no_memory();
    }
    if (result == 0) {
        for (uint32_t s = 0; s < net->switch_count; s++) {
            for (uint32_t h = 0; h < net->host_count; h++)
                plan->port_to[(size_t)s * net->host_count + h] = port_of(lft, s, h);
        }
        raises_fill(plan, net, lanes);
        plan->plan.port_to = plan->port_to;
        plan->plan.raises = plan->raises;
        if (lanes != SIM_PLAN_ONE)
            result = lanes_count(plan, lft);
    }
    if (result < 0)
        sim_plan_free(plan);
    return result;
}

void sim_plan_free(struct sim_plan *plan)
{
    free(plan->links);
    free(plan->names);
    free(plan->port_to);
    free(plan->path_to);
    free(plan->steps);
    free(plan->raises);
    memset(plan, 0, sizeof(*plan));
}
