/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which turns are allowed: for every switch a symmetric bit matrix over its slots. Symmetric,
 * because a turn and its reverse are always decided together. Row j of a switch is the set of slots
 * a packet may have come in by if it leaves by slot j, and equally the set it may leave by if it
 * came in by j. U-turns are never allowed.
 */
#pragma once

#include "base/arena.h"
#include "route/fabric/net.h"

struct turns {
    struct arena memory; /* of the arrays */
    const struct net *net;
    uint32_t words; /* 64-bit words in a row */
    uint64_t *rows; /* one row for each channel */
    int64_t *width; /* channel: of two outputs of a switch, all that may turn to the one with the
                       smaller width may turn to the other too, except for the U-turn */
    bool ranked;    /* the widths are ranks: see turns_from_rank() */
};

/* All turns prohibited. */
int turns_create(struct turns **turns, const struct net *net);
void turns_destroy(struct turns *turns);

static inline uint64_t *turns_row(const struct turns *turns, uint32_t channel)
{
    return turns->rows + (size_t)channel * turns->words;
}

/* May a packet go from `in` to `out`, two channels that meet at a switch? */
static inline bool turns_allowed(const struct turns *turns, uint32_t in, uint32_t out)
{
    uint32_t slot = net_slot_in(turns->net, in);
    return turns_row(turns, out)[slot / 64] >> (slot % 64) & 1;
}

void turns_allow(struct turns *turns, uint32_t in, uint32_t out); /* and the reverse */
void turns_prohibit(struct turns *turns, uint32_t in, uint32_t out);
void turns_allow_all(struct turns *turns);

/* Ranks of channels are an order in which every channel stands opposite its reverse. The channels
 * are numbered -n+1, -n+3, …, n-1, so rank[reverse[c]] = -rank[c].
 *
 * Numbers the channels by rising keys. key[reverse[c]] must be -key[c], and less than 2^40; equal
 * keys are told apart by their channels. rank may be key. */
int turns_rank_by_key(int64_t *rank, const int64_t *key, const struct net *net);

/* Where a channel of this rank stands in the order, 0 first. */
static inline uint32_t turns_rank_place(const struct net *net, int64_t rank)
{
    return (uint32_t)((rank + (int64_t)net->channel_count - 1) / 2);
}

/* Allows exactly the turns along which rank rises. The result has no loop, and no turn could be
 * added without one. The ranks become the widths. */
void turns_from_rank(struct turns *turns, const int64_t *rank);

/* How many other slots may lead into this out-channel. */
uint32_t turns_in_count(const struct turns *turns, uint32_t channel);

/* Turn pairs, and how many of them are prohibited, of one switch. */
uint32_t turns_prohibited(const struct turns *turns, uint32_t at, uint32_t *total);
