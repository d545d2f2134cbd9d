/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A topological order of the channels that is kept up as turns are added. The order is a list whose
 * members carry rising labels: a turn that goes forward in it can close no loop and costs nothing.
 * One that goes backward is searched from both ends at once, among the channels between the two
 * only. If the searches meet there is a loop; if one of them ends, the few channels it has found
 * move past the other end, and the other search need not be finished.
 */
#pragma once

#include "base/arena.h"
#include "route/turns/turns.h"

/* One of the two searches. */
struct order_side {
    uint64_t *seen;    /* slots met at each switch, one row for each */
    uint32_t *touched; /* switches whose seen row must be cleared */
    uint32_t touched_count;
    uint32_t *found; /* channels */
    uint32_t found_count, done;
    uint32_t *mark; /* channel -> number of the search that found it */
    uint64_t work;
};

struct order {
    struct arena memory; /* of the arrays */
    const struct net *net;
    struct turns *turns; /* the turns accepted so far; the order adds to it */
    uint64_t *label;     /* channel -> its place, all different */
    uint32_t *after;     /* channel -> the next in the list; [channel_count] is the list's end */
    uint32_t *before;
    struct labelled *sorting; /* scratch */
    struct order_side ahead, behind;
    uint64_t search_count;
    uint64_t work_max; /* steps after which a search gives up, and the turn is refused; 0: none */
};

/* initial[channel] says roughly where channels should stand, so that few turns go backward. */
int order_create(struct order **order, struct turns *turns, const double *initial);
void order_destroy(struct order *order);

/* Adds a turn and its reverse, unless that closes a loop. Returns whether it was added. Both
 * directions are checked: each may be harmless alone and the two together close a loop. */
bool order_turn_add(struct order *order, uint32_t in, uint32_t out);

/* place[channel] = 0, 1, … along the order. */
void order_places(const struct order *order, uint32_t *place);
