/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks of channels: an order in which every channel stands opposite its reverse. The channels are
 * numbered -n+1, -n+3, …, n-1, so rank[reverse[c]] = -rank[c].
 */
#ifndef ROUTE_TURNS_RANK_H
#define ROUTE_TURNS_RANK_H

#include "route/fabric/net.h"

/* Numbers the channels by rising keys. key[reverse[c]] must be -key[c], and less than 2^40; equal
 * keys are told apart by their channels. rank may be key. */
int rank_by_key(int64_t *rank, const int64_t *key, const struct net *net);

/* Where a channel of this rank stands in the order, 0 first. */
static inline uint32_t rank_place(const struct net *net, int64_t rank)
{
    return (uint32_t)((rank + (int64_t)net->channel_count - 1) / 2);
}

#endif
