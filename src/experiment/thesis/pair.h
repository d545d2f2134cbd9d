/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two nodes with a process each, for measurements. Private to this folder.
 */
#pragma once

#include "experiment/thesis/measure.h"

#define PAIR_MEMORY   (4u << 20)
#define PAIR_SEND     PROCESS_DATA                /* where data is sent from */
#define PAIR_RECEIVE  (PROCESS_DATA + (2u << 20)) /* and where it goes */
#define PAIR_DEADLINE (100 * SIM_MS)
#define PAIR_PAGE     5

struct pair {
    const struct measure_setup *setup;
    struct sim *sim;
    struct network_link links[2];
    struct network_plan plan;
    struct cluster *cluster;
    struct process *process[2];
    enum measure_way way;
    struct measure_stream stream;
    uint32_t size;
    uint64_t sent[2]; /* bytes in the time that counts */
    sim_time begin, end;
    int failure;
};

/* Always followed by pair_close(), also when it fails. */
int pair_open(struct pair *pair, const struct measure_setup *setup, uint32_t windows);
void pair_close(struct pair *pair);

/* Runs a program on each node (second may be NULL) to their ends; the network's books must be right
 * then. */
int pair_run(struct pair *pair, void (*first)(void *), void (*second)(void *));

static inline double pair_us(sim_time time)
{
    return (double)time / (double)SIM_US;
}
