/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All routing algorithms behind one interface: each decides which turns are allowed; trees and
 * paths are then grown by the same code for all of them, so that comparisons compare the turns.
 */
#pragma once

#include "route/turns/demand.h"
#include "route/turns/reach.h"

/* How a packet's virtual channel (lane) changes on its way. */
enum algorithm_lanes {
    ALGORITHM_ONE_LANE,
    ALGORITHM_LANE_PER_HOP,    /* structured buffer pool: the next lane at every switch */
    ALGORITHM_LANE_AT_BRANCHES /* the same, but not at switches with one or two cables */
};

struct algorithm_options {
    const uint32_t *roots; /* up-down: switches at the top; none: the best one is found */
    uint32_t root_count;
};

/* Allows turns, of which none was allowed before, and finds what they reach; *reach stays NULL
 * where they have loops. */
typedef int algorithm_decide(struct turns *turns, struct reach **reach, const struct demand *demand,
                             const struct algorithm_options *options);

struct algorithm {
    const char *name;
    const char *help;
    enum algorithm_lanes lanes;
    bool loop_free; /* without lanes; what is not is for comparison only */
    algorithm_decide *decide;
};

/* Ends with an entry whose name is NULL. */
extern const struct algorithm algorithms[];

/* The one with this name; NULL, and an error that suggests the nearest, if there is none. */
const struct algorithm *algorithm_find(const char *name);

/* What turn addition decides has no loop, connects every pair of switches, and no further turn
 * could be allowed. */
algorithm_decide algorithm_turn_addition, algorithm_up_down, algorithm_turn_prohibition,
    algorithm_fat_tree, algorithm_all_turns;

/* Prohibits turns from above to above: height[switch], higher is up, all different. */
void algorithm_turns_by_height(struct turns *turns, const int64_t *height);
