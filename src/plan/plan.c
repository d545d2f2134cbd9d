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
    return error_fail(-ENOMEM, "no memory for the simulated network's plan");
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
    ARENA_TAKE(&plan->memory, plan->links, (size_t)net->channel_count + net->host_count);
    ARENA_TAKE(&plan->memory, plan->names, nodes);
    if (plan->memory.is_short)
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

/* Virtual channels: where packets change to the next, and how many the longest way needs. */
static int lanes_fill(struct sim_plan *plan, const struct lft *lft, enum algorithm_lanes lanes)
{
    const struct net *net = lft->net;
    for (uint32_t i = 0; i < net->switch_count; i++)
        plan->raises[i] = lanes_raise(net, lanes, i);
    int result = lanes_count(lft, lanes, net->host_count, &plan->plan.lane_count);
    if (result == 0 && plan->plan.lane_count > NETWORK_LANES_MAX)
        result = error_fail(-EINVAL,
                            "these tables need %u virtual channels, a switch has at most %u",
                            plan->plan.lane_count, NETWORK_LANES_MAX);
    return result;
}

int sim_plan_by_table(struct sim_plan *plan, const struct lft *lft, enum algorithm_lanes lanes)
{
    const struct net *net = lft->net;
    int result = sim_plan_begin(plan, net);
    if (result == 0) {
        ARENA_TAKE(&plan->memory, plan->port_to, (size_t)net->switch_count * net->host_count);
        ARENA_TAKE(&plan->memory, plan->raises, net->switch_count);
        result = plan->memory.is_short ? no_memory() : 0;
    }
    if (result == 0) {
        for (uint32_t s = 0; s < net->switch_count; s++) {
            for (uint32_t h = 0; h < net->host_count; h++)
                plan->port_to[(size_t)s * net->host_count + h] = port_of(lft, s, h);
        }
        plan->plan.port_to = plan->port_to;
        plan->plan.raises = plan->raises;
        result = lanes_fill(plan, lft, lanes);
    }
    if (result < 0)
        sim_plan_free(plan);
    return result;
}

void sim_plan_free(struct sim_plan *plan)
{
    arena_free(&plan->memory);
    free(plan->steps);
    memset(plan, 0, sizeof(*plan));
}
