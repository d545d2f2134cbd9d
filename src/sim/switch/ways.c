/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a packet goes on: by the tables of the switches, or by the steps that it carries; and the
 * closed formula for a packet that meets nobody.
 */
#include "base/error.h"
#include "sim/switch/network.h"

#include <errno.h>

static const struct way no_way = {NONE, 0};

static uint32_t port_of(const struct network *network, uint32_t node, uint8_t port)
{
    uint32_t first = network->port_first[node];
    if (port == 0 || port == NETWORK_NO_PORT || first + port >= network->port_first[node + 1])
        return NONE;
    return network->ports[first + port].peer == NONE ? NONE : first + port;
}

static struct way way_by_table(const struct network *network, uint32_t place, uint32_t target)
{
    const struct network_plan *plan = &network->plan;
    const struct port *in = &network->ports[place / network->lane_count];
    uint32_t node = in->node, lane = place % network->lane_count;
    uint8_t number = plan->port_to[(size_t)node * plan->host_count + target];
    uint32_t port = port_of(network, node, number);
    if (port == NONE)
        return no_way;
    bool goes_on = in->is_inter_switch && network->ports[port].is_inter_switch;
    if (goes_on && plan->raises && plan->raises[node])
        lane++;
    return lane < network->lane_count ? (struct way){port, lane} : no_way;
}

static struct way way_by_step(const struct network *network, uint32_t place,
                              const struct packet *packet)
{
    const struct network_plan *plan = &network->plan;
    uint32_t node = network->ports[place / network->lane_count].node;
    if (packet->step >= plan->step_count)
        return no_way;
    struct network_step step = plan->steps[packet->step];
    uint32_t port = port_of(network, node, step.port);
    if (port == NONE || step.lane >= network->lane_count)
        return no_way;
    return (struct way){port, step.lane};
}

struct way way_find(const struct network *network, uint32_t place, const struct packet *packet,
                    uint32_t target)
{
    const struct port *in = &network->ports[place / network->lane_count];
    if (node_is_host(network, in->node)) /* a host has one way only */
        return (struct way){port_of(network, in->node, 1), 0};
    return network->plan.steps ? way_by_step(network, place, packet)
                               : way_by_table(network, place, target);
}

uint32_t way_first_step(const struct network *network, uint32_t source, uint32_t target)
{
    const struct network_plan *plan = &network->plan;
    if (!plan->steps)
        return 0;
    uint32_t host_port = network->port_first[plan->switch_count + source] + 1;
    uint32_t at = network->ports[network->ports[host_port].peer].node;
    return plan->path_to[(size_t)at * plan->host_count + target];
}

int network_latency(const struct network *network, uint32_t source, uint32_t target, uint32_t flits,
                    sim_time *latency)
{
    uint32_t node = network->plan.switch_count + source;
    uint32_t place = network->port_first[node] * network->lane_count;
    struct packet packet = {.step = way_first_step(network, source, target)};
    sim_time sum = 0, slowest = 0;
    /* A way without a loop passes each switch once. */
    for (uint32_t hops = 0; hops <= network->plan.switch_count + 1; hops++) {
        struct way way = way_find(network, place, &packet, target);
        if (way.port == NONE)
            break;
        packet.step += hops > 0;
        const struct port *out = &network->ports[way.port];
        sum += out->flit_time + out->delay;
        slowest = out->flit_time > slowest ? out->flit_time : slowest;
        node = network->ports[out->peer].node;
        place = out->peer * network->lane_count + way.lane;
        if (!node_is_host(network, node)) {
            sum += network->constants.switch_ps;
            continue;
        }
        if (node != network->plan.switch_count + target)
            break;
        *latency = sum + (sim_time)(flits - 1) * slowest;
        return 0;
    }
    return error_fail(-ENETUNREACH, "the tables lead from host %u not to host %u", source, target);
}
