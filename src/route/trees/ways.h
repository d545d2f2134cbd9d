/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shortest ways to one switch, for all hosts that hang on it: which outputs each switch may
 * choose from. Their trees differ only in the choices, so this is found once for all of them.
 */
#pragma once

#include "base/arena.h"
#include "route/turns/turns.h"

struct ways {
    struct arena memory; /* of the arrays */
    const struct turns *turns;
    uint32_t root;
    uint32_t *order; /* switches, nearest first; those that no way leads from are missing */
    uint32_t order_count;
    uint32_t *level;  /* switch -> length of its way, UINT32_MAX: none */
    uint64_t *choice; /* switch -> slots to choose from, turns->words each */
    uint8_t *depends; /* switch: whether a choice of it is allowed depends on what the next one
                         chooses; else all are */
};

int ways_create(struct ways **ways, const struct turns *turns);
void ways_destroy(struct ways *ways);

/* Finds the ways to `root`; does nothing if they are the ones at hand. */
void ways_find(struct ways *ways, uint32_t root);

static inline const uint64_t *ways_choice(const struct ways *ways, uint32_t at)
{
    return ways->choice + (size_t)at * ways->turns->words;
}
