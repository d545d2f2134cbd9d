/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator's own speed: what `rhinet sim bench` measures. Rates are per second of processor
 * time, so that a busy machine changes them little.
 */
#pragma once

#include "plan/plan.h"

#include "sim/process/process.h"

struct bench_result {
    double messages, events; /* per second */
    double flit_hops;        /* per second */
    double instructions;     /* of the on-chip processor, per second */
    double seconds;
    double idle_bytes; /* of memory, for a node that does nothing yet */
};

/* Two nodes, PUSHes of 8 bytes to and fro. */
int bench_ping_pong(struct bench_result *result);

/* The on-chip processor alone, in a loop. */
int bench_processor(struct bench_result *result);

/* A fat tree of switches with so many ports; every host sends 8 bytes to every other: with a
 * controller in each, and the network alone. */
struct bench_tree;
int bench_tree_open(struct bench_tree **tree, uint32_t ports);
void bench_tree_close(struct bench_tree *tree);
uint32_t bench_tree_hosts(const struct bench_tree *tree);
int bench_controllers(const struct bench_tree *tree, struct bench_result *result);
int bench_network(const struct bench_tree *tree, struct bench_result *result);
