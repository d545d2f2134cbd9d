/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A branch of a target's tree: one switch, and all whose ways lead through it.
 */
#pragma once

#include "base/arena.h"
#include "route/tables/load.h"

struct branch {
    struct arena memory; /* of the arrays */
    const struct net *net;
    uint8_t *peer_slot; /* channel -> slot of the other direction, at its head */
    uint32_t *at;       /* the switches, the one where the branch begins first */
    uint32_t count;
    uint32_t *scratch;
    float *flow[TRAFFIC_CLASSES]; /* switch: what it sends on; only for switches of the branch */
};

int branch_create(struct branch **branch, const struct net *net);
void branch_destroy(struct branch *branch);

/* Does the neighbour at the end of this channel send its packets back by it? */
static inline bool branch_is_behind(const struct branch *branch, const uint8_t *next,
                                    uint32_t channel)
{
    return next[branch->net->head[channel]] == branch->peer_slot[channel];
}

/* Lists the branch that begins at a switch. */
void branch_list(struct branch *branch, const uint8_t *next, uint32_t from);

/* Lists the whole tree. */
void branch_list_all(struct branch *branch, const uint8_t *next, uint32_t root);

/* Puts the traffic of the branch listed last on the channels inside it, or with sign -1 takes it
 * off, and finds flow. */
void branch_load(struct branch *branch, struct load *load, const uint8_t *next, uint32_t target,
                 float sign);
