/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a network and its traffic to finished tables: the one entry point that commands and tests
 * use.
 */
#pragma once

#include "route/trees/trees.h"
#include "route/turns/algorithm.h"

struct routing_options {
    struct algorithm_options algorithm;
    bool no_tables; /* turns only */
    struct trees_progress progress;
};

struct routing {
    const struct net *net;
    const struct traffic *traffic;
    const struct algorithm *algorithm;
    struct turns *turns;
    struct lft *lft;
    struct load *load;
    uint32_t lane_count;   /* virtual channels that the tables need */
    double turns_seconds;  /* time it took: demand and turns */
    double tables_seconds; /* trees and balance */
    double cpu_seconds;    /* processor time of all threads, for both */
};

int routing_create(struct routing **routing, const struct traffic *traffic,
                   const struct algorithm *algorithm, const struct routing_options *options);
void routing_destroy(struct routing *routing);
