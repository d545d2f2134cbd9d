/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two or more simulated nodes for tests, with a process on each: job 7, process = node number,
 * window 0, all memory pinned and open as segment 1. Virtual addresses are physical ones plus
 * NODE_VIRTUAL.
 */
#ifndef TESTS_SIM_NODE_H
#define TESTS_SIM_NODE_H

#include "support.h"

#include "sim/cluster/cluster.h"

#define NODE_PGID     7
#define NODE_SID      1
#define NODE_VIRTUAL  0x40000000ULL
#define NODE_CONTFLAG 8  /* physical addresses */
#define NODE_FLAG     64 /* acks and pull flags */
#define NODE_DATA     8192
#define NODE_MEMORY   (1 << 20)

struct nodes {
    struct sim *sim;
    struct cluster *cluster;
    int result[8];
    sim_time time[16];
};

void nodes_open(struct nodes *nodes, struct cluster_spec spec, bool is_warm);
void nodes_close(struct nodes *nodes);
/* Starts a fiber with `nodes` as argument, and runs until all is over. */
void nodes_start(struct nodes *nodes, const char *name, void (*body)(void *));
void nodes_run(struct nodes *nodes);

uint64_t *node_word(struct nodes *nodes, uint32_t node, uint64_t physical);

/* In a fiber: writes a request to window 0 and kicks. Does not wait for contflag. */
struct node_request {
    uint32_t node, target;
    enum chip_kick kick;
    uint64_t local, offset; /* physical at the node, offset in the segment */
    uint32_t length;
    bool wants_flag;
    uint32_t sid; /* 0: NODE_SID */
};
void node_kick(struct nodes *nodes, const struct node_request *request);
/* The same, and waits for contflag. Returns what it became. */
uint64_t node_ask(struct nodes *nodes, const struct node_request *request);

#endif
