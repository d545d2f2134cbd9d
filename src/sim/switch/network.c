/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making a network of a plan, sending into it, counting.
 */
#include "sim/switch/network.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const event_names[EVENT_COUNT] = {
    "arrive", "done", "retry", "credit", "stop", "go", "room", "drain",
};

const struct sim_constants *network_constants(const struct network *network)
{
    return &network->constants;
}

sim_time network_flit_time(const struct network *network)
{
    int64_t mbps = network->options.kind == NETWORK_RHINET2 ? network->constants.rhinet2_mbps
                                                            : network->constants.rhinet3_mbps;
    return network->constants.flit_bits * 1000000 / mbps;
}

uint32_t network_flits(const struct network *network, uint32_t bytes)
{
    const struct sim_constants *constants = &network->constants;
    return (uint32_t)(constants->header_flits +
                      (bytes + constants->flit_bytes - 1) / constants->flit_bytes);
}

const char *network_name(const struct network *network, uint32_t node, char text[NETWORK_NAME_MAX])
{
    uint32_t switches = network->plan.switch_count;
    if (network->plan.names)
        snprintf(text, NETWORK_NAME_MAX, "%s", network->plan.names[node]);
    else if (node < switches)
        snprintf(text, NETWORK_NAME_MAX, "switch %u", node);
    else
        snprintf(text, NETWORK_NAME_MAX, "host %u", node - switches);
    return text;
}

/* A node has as many ports as its highest cable asks for; port 0 of hosts is their queue. */
static int ports_count(struct network *network)
{
    const struct network_plan *plan = &network->plan;
    network->node_count = plan->switch_count + plan->host_count;
    if (!ARENA_TAKE(&network->memory, network->port_first, network->node_count + 2))
        return -ENOMEM;
    uint32_t *most = network->port_first + 1;
    for (uint32_t i = 0; i < plan->link_count; i++) {
        const struct network_end *ends[] = {&plan->links[i].a, &plan->links[i].b};
        for (int k = 0; k < 2; k++) {
            if (ends[k]->node >= network->node_count || ends[k]->port == 0)
                return error_fail(-EINVAL, "link %u ends at node %u, port %u", i, ends[k]->node,
                                  ends[k]->port);
            if (most[ends[k]->node] < ends[k]->port)
                most[ends[k]->node] = ends[k]->port;
        }
    }
    for (uint32_t i = 0; i < network->node_count; i++)
        most[i] += 1 + network->port_first[i];
    network->port_count = network->port_first[network->node_count];
    return 0;
}

static int memory_make(struct network *network)
{
    size_t lanes = (size_t)network->port_count * network->lane_count;
    ARENA_TAKE(&network->memory, network->ports, network->port_count);
    ARENA_TAKE(&network->memory, network->lanes, lanes);
    ARENA_TAKE(&network->memory, network->link_ports, 2 * (size_t)network->plan.link_count);
    if (network->memory.is_short)
        return -ENOMEM;
    for (size_t i = 0; i < lanes; i++) {
        network->lanes[i].first = network->lanes[i].last = NONE;
        network->lanes[i].credits = flow_capacity(network);
    }
    for (uint32_t node = 0; node < network->node_count; node++) {
        for (uint32_t p = network->port_first[node]; p < network->port_first[node + 1]; p++) {
            struct port *port = &network->ports[p];
            port->peer = port->first = port->last = port->sending = port->reading = NONE;
            port->node = node;
            port->number = (uint8_t)(p - network->port_first[node]);
        }
    }
    return 0;
}

static int link_make(struct network *network, const struct network_link *link)
{
    const struct network_end *ends[] = {&link->a, &link->b};
    uint32_t switches = network->plan.switch_count;
    uint32_t metres = link->metres ? link->metres : network->options.metres;
    char name[NETWORK_NAME_MAX];
    for (int k = 0; k < 2; k++) {
        uint32_t here = network->port_first[ends[k]->node] + ends[k]->port;
        uint32_t there = network->port_first[ends[!k]->node] + ends[!k]->port;
        struct port *port = &network->ports[here];
        if (port->peer != NONE || (ends[k]->node >= switches && ends[k]->port != 1))
            return error_fail(-EINVAL, "port %u of %s has two cables, or is a host's",
                              ends[k]->port, network_name(network, ends[k]->node, name));
        port->peer = there;
        port->is_inter_switch = link->a.node < switches && link->b.node < switches;
        port->flit_time = link->mbps ? network->constants.flit_bits * 1000000 / link->mbps
                                     : network_flit_time(network);
        port->delay = metres * network->constants.fibre_ps_per_metre;
        port->bits_to_error = errors_next(network);
        network->link_ports[network->link_count++] = here;
        int result = flow_link_check(network, port);
        if (result < 0)
            return result;
    }
    return 0;
}

static int links_make(struct network *network)
{
    const struct network_plan *plan = &network->plan;
    char name[NETWORK_NAME_MAX];
    for (uint32_t i = 0; i < plan->link_count; i++) {
        int result = link_make(network, &plan->links[i]);
        if (result < 0)
            return result;
    }
    for (uint32_t i = plan->switch_count; i < network->node_count; i++) {
        uint32_t port = network->port_first[i] + 1;
        if (port >= network->port_first[i + 1] || network->ports[port].peer == NONE)
            return error_fail(-EINVAL, "%s has no cable", network_name(network, i, name));
    }
    return 0;
}

static int network_make(struct network *network)
{
    if (network->lane_count > NETWORK_LANES_MAX)
        return error_fail(-EINVAL, "%u virtual channels are more than %u", network->lane_count,
                          NETWORK_LANES_MAX);
    int result = ports_count(network);
    if (result == 0)
        result = memory_make(network);
    if (result == -ENOMEM)
        return error_fail(-ENOMEM, "no memory for a network of %u nodes", network->node_count);
    if (result == 0)
        result = links_make(network);
    if (result < 0)
        return result;
    result = sim_actor_add(network->sim, &(struct sim_actor){
                                             .name = "network",
                                             .handle = crossbar_event,
                                             .expect = crossbar_expect,
                                             .context = network,
                                             .kinds = event_names,
                                             .kind_count = EVENT_COUNT,
                                         });
    network->actor = (uint32_t)result;
    return result < 0 ? result : 0;
}

int network_create(struct network **network, struct sim *sim, const struct network_plan *plan,
                   const struct network_options *options)
{
    struct network *made = arena_owner(sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for a network");
    made->sim = sim;
    made->plan = *plan;
    made->options = *options;
    made->constants = options->constants ? *options->constants : sim_constants_default();
    made->lane_count = plan->lane_count ? plan->lane_count : 1;
    made->packet_flits_max = network_flits(made, (uint32_t)made->constants.mtu_bytes);
    pool_init(&made->packets, sizeof(struct packet));
    pool_init(&made->stays, sizeof(struct stay));
    pool_init(&made->requests, sizeof(struct request));
    pool_init(&made->notices, sizeof(struct notice));
    int result = network_make(made);
    if (result < 0) {
        network_destroy(made);
        return result;
    }
    *network = made;
    return 0;
}

void network_destroy(struct network *network)
{
    if (!network)
        return;
    for (uint32_t i = 0; i < network->packets.count; i++)
        free(packet_at(network, i)->targets);
    pool_free(&network->packets);
    pool_free(&network->stays);
    pool_free(&network->requests);
    pool_free(&network->notices);
    arena_owner_free(network);
}

static int packet_check(const struct network *network, const struct network_packet *packet)
{
    uint32_t hosts = network->plan.host_count;
    if (packet->source >= hosts || packet->target_count == 0)
        return error_fail(-EINVAL, "host %u of %u cannot send to %u targets", packet->source, hosts,
                          packet->target_count);
    if (packet->flits == 0 || packet->flits > network->packet_flits_max)
        return error_fail(-EINVAL, "a packet has 1 to %u flits, not %u", network->packet_flits_max,
                          packet->flits);
    if (packet->target_count > 1 && network->plan.steps)
        return error_fail(-EINVAL, "multicast needs destination routing");
    for (uint32_t i = 0; i < packet->target_count; i++) {
        if (packet->targets[i] >= hosts)
            return error_fail(-EINVAL, "there is no host %u", packet->targets[i]);
        if (network->plan.steps &&
            way_first_step(network, packet->source, packet->targets[i]) >= network->plan.step_count)
            return error_fail(-ENETUNREACH, "no path from host %u to host %u", packet->source,
                              packet->targets[i]);
    }
    return 0;
}

int network_send(struct network *network, const struct network_packet *packet)
{
    int result = packet_check(network, packet);
    if (result < 0)
        return result;
    uint32_t number = pool_take(network, &network->packets);
    uint32_t index = number == NONE ? NONE : pool_take(network, &network->stays);
    if (index == NONE)
        return network->failure;
    struct packet *made = packet_at(network, number);
    *made = (struct packet){.number = network->number++,
                            .cookie = packet->cookie,
                            .source = packet->source,
                            .flits = packet->flits,
                            .target_count = packet->target_count,
                            .target = packet->targets[0],
                            .step = way_first_step(network, packet->source, packet->targets[0]),
                            .sent = sim_now(network->sim),
                            .is_live = true};
    if (packet->target_count > 1) {
        made->targets = malloc(packet->target_count * sizeof(*made->targets));
        if (!made->targets)
            return network->failure = error_fail(-ENOMEM, "no memory for a packet");
        memcpy(made->targets, packet->targets, packet->target_count * sizeof(*made->targets));
    }
    network->sent += packet->target_count;
    struct stay *stay = stay_at(network, index);
    uint32_t queue = network->port_first[network->plan.switch_count + packet->source];
    stay->packet = number;
    stay->flits = packet->flits;
    stay->cookie = packet->cookie;
    stay->place = queue * network->lane_count;
    stay->tail_ready = packet->tail_ready;
    crossbar_enqueue(network, index);
    return network->failure;
}

static uint64_t packets_inside(const struct network *network)
{
    uint64_t inside = 0;
    for (uint32_t i = 0; i < network->packets.count; i++) {
        const struct packet *packet = packet_at(network, i);
        inside += packet->is_live ? packet->target_count : 0;
    }
    return inside;
}

void network_count(const struct network *network, struct network_count *count)
{
    *count = (struct network_count){.packets_sent = network->sent,
                                    .packets_delivered = network->delivered,
                                    .packets_lost = network->lost,
                                    .packets_inside = packets_inside(network),
                                    .stops = network->stops};
    for (uint32_t i = 0; i < network->link_count; i++) {
        const struct port *port = &network->ports[network->link_ports[i]];
        count->flit_hops += port->sequence_sent;
        count->flits_resent += port->flits_resent;
        count->bits_corrected += port->bits_corrected;
    }
}

uint32_t network_link_count(const struct network *network)
{
    return network->link_count;
}

void network_link_load(const struct network *network, uint32_t link, struct network_load *load)
{
    const struct port *port = &network->ports[network->link_ports[link]];
    const struct port *peer = &network->ports[port->peer];
    *load = (struct network_load){.from = {port->node, port->number},
                                  .to = {peer->node, peer->number},
                                  .packets = port->packets,
                                  .flits = port->flits,
                                  .busy = port->busy};
}
