/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a network and its traffic to finished tables: the one entry point that commands and tests
 * use.
 */
#ifndef ROUTE_ROUTING_ROUTING_H
#define ROUTE_ROUTING_ROUTING_H

#include "route/tables/lft.h"
#include "route/tables/load.h"
#include "route/turns/algorithm.h"

struct routing_options {
    struct algorithm_options algorithm;
    bool no_tables;                               /* turns only */
    void (*progress)(void *context, double part); /* 0 … 1, called now and then; may be NULL */
    void *progress_context;
};

struct routing {
    const struct net *net;
    const struct traffic *traffic;
    const struct algorithm *algorithm;
    struct turns *turns;
    struct lft *lft;
    struct load *load;
    uint32_t lane_count;   /* virtual channels that the tables need */
    uint32_t hops_most;    /* longest way between hosts, in switch-to-switch channels */
    double turns_seconds;  /* time it took: demand and turns */
    double tables_seconds; /* trees and balance */
    double cpu_seconds;    /* processor time of all threads, for both */
};

int routing_create(struct routing **routing, const struct traffic *traffic,
                   const struct algorithm *algorithm, const struct routing_options *options);
void routing_destroy(struct routing *routing);

/* Does a packet change to the next lane when it passes this switch? */
bool routing_lane_raises(const struct routing *routing, uint32_t at);

#endif
