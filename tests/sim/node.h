/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulated nodes for tests, with a process on each: job NODE_PGID, process = node number, one
 * window, all memory. Offsets in a process's memory are physical addresses.
 */
#pragma once

#include "support.h"

#include "sim/process/process.h"

#define NODE_PGID   7
#define NODE_DATA   8192
#define NODE_MEMORY (1 << 20)
#define NODES_MAX   4

struct nodes {
    struct sim *sim;
    struct cluster *cluster;
    struct process *process[NODES_MAX];
    int result[8];
    sim_time time[4];
};

void nodes_open(struct nodes *nodes, struct cluster_spec spec, bool is_warm);
void nodes_open_seeded(struct nodes *nodes, struct cluster_spec spec, bool is_warm, uint64_t seed);
void nodes_close(struct nodes *nodes);
/* Starts a fiber with `nodes` as argument, and runs until all is over. */
void nodes_start(struct nodes *nodes, const char *name, void (*body)(void *));
void nodes_run(struct nodes *nodes);

uint64_t *node_word(struct nodes *nodes, uint32_t node, uint64_t offset);

/* In a fiber: kicks a request of a node, and waits for contflag. Returns what it became. */
uint64_t node_ask(struct nodes *nodes, uint32_t node, const struct process_transfer *transfer,
                  enum chip_kick kick);

/* In a fiber: sends a packet image (BOTF) from node 0 to node 1, and waits for CHIP_ANSWER_DONE at
 * NODE_ANSWER. -ETIMEDOUT: something else came, or nothing. */
#define NODE_CONTFLAG (NODE_DATA + 2048)
#define NODE_ANSWER   (NODE_DATA + 1024) /* two words: what firmware answers */
int node_image(struct nodes *nodes, struct chip_header header, const uint64_t *payload);
