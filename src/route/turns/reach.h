/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which switches can be reached by starting on which channel, with the allowed turns only. One bit
 * for each (channel, switch), computed along a topological order of the channels.
 */
#pragma once

#include "route/turns/turns.h"

struct reach {
    const struct net *net;
    uint32_t words;
    uint64_t *bits; /* [channel * words]: switches reached */
};

/* -ELOOP: the turns have a loop, there is no order. */
int reach_create(struct reach **reach, const struct turns *turns);
void reach_destroy(struct reach *reach);

static inline bool reach_has(const struct reach *reach, uint32_t channel, uint32_t at)
{
    return reach->bits[(size_t)channel * reach->words + at / 64] >> (at % 64) & 1;
}

/* Does every switch with hosts reach every switch, and every switch every one with hosts? Between
 * two switches without hosts nothing is ever sent, so a missing way there is no fault. If not,
 * *from and *to are the first pair that lacks a way. */
bool reach_complete(const struct reach *reach, uint32_t *from, uint32_t *to);

/* Channels, each after all that allowed turns lead to it from. Returns 0 or -ELOOP. */
int reach_order(const struct turns *turns, uint32_t *order);
