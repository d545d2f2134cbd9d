/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grows the tree of one target: from its switch outward, every switch takes the shortest way that
 * the turns allow, and of several the one with the least loaded channels.
 *
 * A forwarding table knows the target only, not where a packet came from. So once a switch has
 * chosen its output, only neighbours from which that output may be turned to can join it, and
 * growth can get stuck. grow_rescue() then always succeeds; see there.
 */
#pragma once

#include "base/arena.h"
#include "route/tables/load.h"
#include "route/trees/hub.h"
#include "route/trees/price.h"
#include "route/trees/ways.h"
#include "route/turns/reach.h"

struct rescue;

struct grow {
    struct arena memory; /* of the arrays */
    const struct net *net;
    const struct turns *turns;
    const struct reach *reach;
    struct load *load;
    struct price *price;
    const uint64_t **price_at; /* switch -> the prices it goes by, for the target at hand */
    uint64_t *cost;
    uint32_t *level;
    uint32_t *order; /* switches as they joined */
    uint32_t order_count;
    struct ways *ways;
    struct hub *hub;
    uint32_t *waiting; /* switches that had no choice left when their turn came */
    uint32_t waiting_count;
    bool bare;   /* the target at hand is a switch without hosts */
    bool frugal; /* leave switches without hosts alone if the target has none either */
    uint32_t *scratch;
    float *flow[TRAFFIC_CLASSES];
    struct rescue *rescue;
    uint64_t rescue_count;
};

int grow_create(struct grow **grow, const struct turns *turns, const struct reach *reach,
                struct load *load);
void grow_destroy(struct grow *grow);

/* Fills next[] of every switch for the target, LFT_NONE only where the turns allow no way at all.
 * Does not touch the loads. */
void grow_tree(struct grow *grow, uint32_t target, uint8_t *next);

/* Adds the load of the tree grown last, and prices it anew. */
void grow_tree_load(struct grow *grow, uint32_t target, const uint8_t *next);

/* Rescues what growth has not reached, and lets growth go on from there. Returns whether it changed
 * the way of anybody who has hosts: then order[] is out of date. */
bool grow_stragglers_join(struct grow *grow, uint32_t target, uint8_t *next);

int rescue_create(struct rescue **rescue, const struct net *net);
void rescue_destroy(struct rescue *rescue);

/* Marks the switches on the ways from switches with hosts, which rescuing others leaves alone as
 * long as that is possible. */
void rescue_busy_mark(struct grow *grow, const uint8_t *next);

/* Gives a switch that has no output one (rescue.c), without losing a switch that has joined.
 * Returns false if the turns allow no way. Switches that join thereby are appended to order[].
 * *bold: ways that carry traffic had to change. */
bool grow_rescue(struct grow *grow, uint32_t target, uint32_t at, uint8_t *next, bool *bold);
