/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turn addition: start with every turn prohibited, then allow turns, the busiest first, unless that
 * closes a loop.
 */
#pragma once

#include "route/turns/demand.h"
#include "route/turns/reach.h"

/* What algorithm_turn_addition() does, but turns that are in use already come first of all. -ELOOP:
 * they have a loop; -ENETUNREACH: with them allowed not everything can be connected. */
int turn_addition_beside(struct turns *turns, struct reach **reach, const struct demand *demand,
                         const struct turns *in_use);

/* As far as they fit, adds some turns to those in use, which follow rank; the first ones have
 * precedence. Then all turns are allowed that fit to these and, otherwise, to rank. */
struct turn_pair {
    uint32_t in, out;
};
int turn_addition_local(struct turns *turns, const struct turns *in_use, const int64_t *rank,
                        const struct turn_pair *pairs, size_t pair_count);
