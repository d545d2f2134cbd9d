/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fabric as the algorithms see it: switches 0 … n-1 and directed channels between them, packed
 * into arrays. Read-only once made, so threads share it.
 *
 * The out-channels of switch s are first[s] … first[s+1]-1; the place in that row is the channel's
 * slot. A packet that came in from the neighbour of slot i is said to come in by slot i, so a turn
 * at a switch is a pair of slots. Targets are what tables have entries for: first all host ports,
 * ordered by their switch, then the switches themselves.
 */
#pragma once

#include "base/arena.h"
#include "route/fabric/fabric.h"

struct net {
    struct arena memory; /* of the arrays */
    const struct fabric *fabric;
    uint32_t switch_count;
    uint32_t channel_count;
    uint32_t host_count;   /* cabled host ports */
    uint32_t target_count; /* host_count + switch_count */
    uint32_t degree_max;   /* most channels of one switch */
    uint32_t *first;       /* switch_count + 1 */
    uint32_t *head;        /* channel -> switch it leads to */
    uint32_t *tail;        /* channel -> switch it leaves */
    uint32_t *reverse;     /* channel -> the other direction of its cable */
    uint8_t *port;         /* channel -> port at its tail */
    uint32_t *node;        /* switch -> fabric node */
    uint32_t *host_first;  /* switch -> its first target; switch_count + 1 */
    uint32_t *target_switch;
    uint32_t *target_node;
    uint8_t *target_port; /* port of target_switch that leads to it; 0: the switch itself */
    uint32_t *target_lid;
    uint8_t *target_lmc;    /* 2^lmc LIDs lead to it, all by the same ways */
    uint32_t *switch_index; /* fabric node -> switch, FABRIC_NONE for hosts */
};

/* The fabric must outlive the net. -EINVAL: no switch, no hosts; -ENETUNREACH: not connected. */
int net_create(struct net **net, const struct fabric *fabric);
void net_destroy(struct net *net);

/* The slot of each port of each switch, [switch * NET_PORTS + port]; 255: no switch behind it. The
 * array is the caller's. */
#define NET_PORTS 256
int net_port_slots(const struct net *net, uint8_t **slots);

/* Distances over cables from the first `count` switches of the queue, UINT32_MAX: no way. The
 * queue, with room for all, then lists all that were found, nearest first; returns how many. */
uint32_t net_levels(const struct net *net, uint32_t *level, uint32_t *queue, uint32_t count);

static inline uint32_t net_degree(const struct net *net, uint32_t at)
{
    return net->first[at + 1] - net->first[at];
}

static inline bool net_has_hosts(const struct net *net, uint32_t at)
{
    return net->host_first[at] != net->host_first[at + 1];
}

/* The slot by which a channel comes in at its head. */
static inline uint32_t net_slot_in(const struct net *net, uint32_t channel)
{
    return net->reverse[channel] - net->first[net->head[channel]];
}

static inline uint32_t net_slot_out(const struct net *net, uint32_t channel)
{
    return channel - net->first[net->tail[channel]];
}

static inline const char *net_name(const struct net *net, uint32_t at)
{
    return net->fabric->nodes[net->node[at]].name;
}
