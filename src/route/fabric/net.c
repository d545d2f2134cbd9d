/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See net.h.
 */
#include "route/fabric/net.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static bool is_switch(const struct fabric *fabric, uint32_t node)
{
    return node != FABRIC_NONE && fabric->nodes[node].kind == FABRIC_SWITCH;
}

/* A cable that traffic can use: to another switch. A loop back to the same one leads nowhere. */
static bool is_channel(const struct fabric *fabric, uint32_t node, uint32_t port)
{
    uint32_t peer = fabric->nodes[node].ports[port].peer_node;
    return is_switch(fabric, peer) && peer != node;
}

static bool is_host_port(const struct fabric *fabric, uint32_t node, uint32_t port)
{
    uint32_t peer = fabric->nodes[node].ports[port].peer_node;
    return peer != FABRIC_NONE && fabric->nodes[peer].kind == FABRIC_HOST;
}

static void counts_fill(struct net *net, const struct fabric *fabric)
{
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        if (!is_switch(fabric, i))
            continue;
        net->switch_count++;
        for (uint32_t p = 1; p <= fabric->nodes[i].port_count; p++) {
            net->channel_count += is_channel(fabric, i, p);
            net->host_count += is_host_port(fabric, i, p);
        }
    }
    net->target_count = net->host_count + net->switch_count;
}

static bool arrays_allocate(struct net *net, const struct fabric *fabric)
{
    uint32_t channels = net->channel_count + 1, targets = net->target_count + 1;
    ARENA_TAKE(&net->memory, net->first, net->switch_count + 1);
    ARENA_TAKE(&net->memory, net->host_first, net->switch_count + 1);
    ARENA_TAKE(&net->memory, net->node, net->switch_count + 1);
    ARENA_TAKE(&net->memory, net->switch_index, fabric->node_count + 1);
    ARENA_TAKE(&net->memory, net->head, channels);
    ARENA_TAKE(&net->memory, net->tail, channels);
    ARENA_TAKE(&net->memory, net->reverse, channels);
    ARENA_TAKE(&net->memory, net->port, channels);
    ARENA_TAKE(&net->memory, net->target_switch, targets);
    ARENA_TAKE(&net->memory, net->target_node, targets);
    ARENA_TAKE(&net->memory, net->target_lid, targets);
    ARENA_TAKE(&net->memory, net->target_lmc, targets);
    ARENA_TAKE(&net->memory, net->target_port, targets);
    return !net->memory.is_short;
}

static void switches_number(struct net *net, const struct fabric *fabric)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        net->switch_index[i] = FABRIC_NONE;
        if (!is_switch(fabric, i))
            continue;
        net->switch_index[i] = count;
        net->node[count++] = i;
    }
}

static void ports_fill(struct net *net, const struct fabric *fabric)
{
    uint32_t channel = 0, target = 0;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        const struct fabric_node *node = &fabric->nodes[net->node[s]];
        net->first[s] = channel;
        net->host_first[s] = target;
        for (uint32_t p = 1; p <= node->port_count; p++) {
            const struct fabric_port *port = &node->ports[p];
            if (is_channel(fabric, net->node[s], p)) {
                net->tail[channel] = s;
                net->head[channel] = net->switch_index[port->peer_node];
                net->port[channel++] = (uint8_t)p;
            } else if (is_host_port(fabric, net->node[s], p)) {
                net->target_switch[target] = s;
                net->target_node[target] = port->peer_node;
                net->target_lid[target] = fabric->nodes[port->peer_node].ports[port->peer_port].lid;
                net->target_lmc[target] = fabric->nodes[port->peer_node].ports[port->peer_port].lmc;
                net->target_port[target++] = (uint8_t)p;
            }
        }
        if (channel - net->first[s] > net->degree_max)
            net->degree_max = channel - net->first[s];
    }
    net->first[net->switch_count] = channel;
    net->host_first[net->switch_count] = target;
    for (uint32_t s = 0; s < net->switch_count; s++, target++) {
        net->target_switch[target] = s;
        net->target_node[target] = net->node[s];
        net->target_lid[target] = fabric->nodes[net->node[s]].ports[0].lid;
        net->target_lmc[target] = fabric->nodes[net->node[s]].ports[0].lmc;
    }
}

static void reverse_fill(struct net *net, const struct fabric *fabric)
{
    for (uint32_t c = 0; c < net->channel_count; c++) {
        const struct fabric_port *port =
            &fabric->nodes[net->node[net->tail[c]]].ports[net->port[c]];
        uint32_t at = net->first[net->head[c]];
        while (net->port[at] != port->peer_port)
            at++;
        net->reverse[c] = at;
    }
}

uint32_t net_levels(const struct net *net, uint32_t *level, uint32_t *queue, uint32_t count)
{
    memset(level, 0xff, net->switch_count * sizeof(*level));
    for (uint32_t i = 0; i < count; i++)
        level[queue[i]] = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t c = net->first[queue[i]]; c < net->first[queue[i] + 1]; c++) {
            if (level[net->head[c]] == UINT32_MAX) {
                level[net->head[c]] = level[queue[i]] + 1;
                queue[count++] = net->head[c];
            }
        }
    }
    return count;
}

static int connected_check(const struct net *net)
{
    struct arena memory = {0};
    uint32_t *queue = ARENA_TAKE(&memory, queue, net->switch_count);
    uint32_t *level = ARENA_TAKE(&memory, level, net->switch_count);
    uint32_t lost = 0;
    int result = 0;
    if (memory.is_short) {
        result = error_fail(-ENOMEM, "no memory for %u switches", net->switch_count);
    } else {
        net_levels(net, level, queue, 1);
        while (lost < net->switch_count && level[lost] != UINT32_MAX)
            lost++;
    }
    arena_free(&memory);
    if (result == 0 && lost < net->switch_count)
        result = error_fail(-ENETUNREACH,
                            "the fabric is not connected: no cables lead from '%s' to '%s'; route "
                            "each part by itself",
                            net_name(net, 0), net_name(net, lost));
    return result;
}

int net_create(struct net **out, const struct fabric *fabric)
{
    struct net *net = arena_owner(sizeof(*net));
    if (!net)
        return error_fail(-ENOMEM, "no memory for the network");
    net->fabric = fabric;
    counts_fill(net, fabric);
    int result = 0;
    if (net->switch_count == 0)
        result = error_fail(-EINVAL, "the fabric has no switch, nothing to route");
    else if (net->host_count == 0)
        result = error_fail(-EINVAL, "no host is cabled to a switch, nothing to route");
    else if (!arrays_allocate(net, fabric))
        result = error_fail(-ENOMEM, "no memory for %u channels", net->channel_count);
    if (result == 0) {
        switches_number(net, fabric);
        ports_fill(net, fabric);
        reverse_fill(net, fabric);
        result = connected_check(net);
    }
    if (result < 0) {
        net_destroy(net);
        return result;
    }
    *out = net;
    return 0;
}

int net_port_slots(const struct net *net, uint8_t **slots)
{
    size_t size = (size_t)net->switch_count * NET_PORTS;
    *slots = malloc(size);
    if (!*slots)
        return error_fail(-ENOMEM, "no memory for the ports of %u switches", net->switch_count);
    memset(*slots, 255, size);
    for (uint32_t c = 0; c < net->channel_count; c++)
        (*slots)[(size_t)net->tail[c] * NET_PORTS + net->port[c]] = (uint8_t)net_slot_out(net, c);
    return 0;
}

void net_destroy(struct net *net)
{
    arena_owner_free(net);
}
