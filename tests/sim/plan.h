/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks for tests: chains of switches made by hand, and fabrics routed by the routing module.
 */
#pragma once

#include "support.h"

#include "plan/plan.h"
#include "route/generate/generate.h"
#include "route/routing/routing.h"
#include "sim/switch/switch.h"

#define CHAIN_MAX 16

/* Switches in a row, with as many hosts on each. Port 1 leads down, port 2 up, hosts from 3 on. */
struct chain {
    uint32_t switches, hosts; /* hosts of each switch */
    struct network_link links[CHAIN_MAX * 8];
    uint8_t port_to[CHAIN_MAX * CHAIN_MAX * 8];
    struct network_plan plan;
};
void chain_make(struct chain *chain, uint32_t switches, uint32_t hosts);

/* A generated fabric, routed by an algorithm of that name. */
struct routed {
    struct fabric *fabric;
    struct net *net;
    struct traffic *traffic;
    struct routing *routing;
    struct sim_plan plan;
};
void routed_make(struct routed *routed, const char *kind, const struct generate_options *options,
                 const char *algorithm);
void routed_free(struct routed *routed);

/* What arrived. */
struct inbox {
    struct sim *sim;
    struct network *network;
    uint64_t count;
    uint64_t late_count; /* arrivals out of order of their cookies, for each pair */
    struct network_arrival last;
    sim_time last_tail;
    uint64_t by_host[CHAIN_MAX * 64];
    uint64_t cookie[64 * 64]; /* [source * 64 + target]: last one, for few hosts */
};
void inbox_deliver(void *context, const struct network_arrival *arrival);

/* A world with a network in it. */
void inbox_open(struct inbox *inbox, const struct network_plan *plan,
                struct network_options options, uint64_t seed);
void inbox_close(struct inbox *inbox);
void inbox_send(struct inbox *inbox, uint32_t source, uint32_t target, uint32_t flits);
/* Runs until nothing is left, checks that everything was kept. */
void inbox_finish(struct inbox *inbox);
