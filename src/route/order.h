/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A topological order of the channels that is kept up as turns are added (Pearce and Kelly): a turn
 * that goes forward in the order can close no loop and costs nothing; one that goes backward needs
 * a search only among the channels between its two ends.
 */
#ifndef ROUTE_ORDER_H
#define ROUTE_ORDER_H

#include "route/turns.h"

struct order {
    const struct net *net;
    struct turns *turns; /* the turns accepted so far; the order adds to it */
    uint32_t *place;     /* channel -> place in the order, all different */
    uint64_t *seen;      /* out-slots met in the search at hand, one row for each switch */
    uint32_t *touched;   /* switches whose seen row must be cleared */
    uint32_t touched_count;
    uint32_t *ahead, *behind;    /* channels found by the forward and the backward search */
    uint32_t *places, *standing; /* scratch for dealing places out again */
    uint64_t search_count;
};

/* initial[channel] says roughly where channels should stand, so that few turns go backward. */
int order_create(struct order **order, struct turns *turns, const double *initial);
void order_destroy(struct order *order);

/* Adds a turn and its reverse, unless that closes a loop. Returns whether it was added. Both
 * directions are checked: each may be harmless alone and the two together close a loop. */
bool order_turn_add(struct order *order, uint32_t in, uint32_t out);

#endif
