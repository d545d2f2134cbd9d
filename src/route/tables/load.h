/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much traffic each channel carries, by class, and the paper's measure made of it: network
 * throughput = link capacity 1.00 / load of the busiest link.
 */
#pragma once

#include "base/arena.h"
#include "route/tables/lft.h"
#include "route/traffic/traffic.h"

struct load {
    struct arena memory; /* of the arrays */
    const struct net *net;
    const struct traffic *traffic;
    float *channel[TRAFFIC_CLASSES];
};

int load_create(struct load **load, const struct traffic *traffic);
void load_destroy(struct load *load);

/* Adds up a whole table. Entries that lead nowhere carry nothing. */
int load_of_table(struct load *load, const struct lft *table);

/* Adds the traffic to one target along its tree, whose switches are listed nearest first; with
 * sign -1 takes it away again. flow is scratch, one float for each switch. */
struct load_tree {
    const uint8_t *next; /* the tree: slot for each switch */
    const uint32_t *order;
    uint32_t order_count;
    uint32_t target;
    float sign;
};
void load_tree_add(struct load *load, const struct load_tree *tree, float *flow);

/* A picture for Graphviz; load may be NULL: then no colours. */
int load_dot_write(const struct net *net, const struct load *load, FILE *out);

double load_max(const struct load *load, uint32_t class);
double load_throughput(const struct load *load, uint32_t class);
