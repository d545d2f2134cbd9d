/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of tuning share.
 */
#pragma once

#include "base/arena.h"
#include "route/trees/tune.h"

/* A switch whose way leads over a busy channel. */
struct offender {
    float flow; /* over its busy class; 0 unless that is what they are sorted by */
    uint32_t depth, at;
};

struct busy {
    uint32_t channel;
    bool inside; /* with traffic inside its group, and not between groups */
};

struct tune {
    struct arena memory; /* of the arrays */
    const struct net *net;
    const struct turns *turns;
    struct load *load;
    uint32_t classes;
    double most[TRAFFIC_CLASSES]; /* the busiest channel's load */
    float busy[TRAFFIC_CLASSES];  /* channels above this are worth a look */
    float unit[TRAFFIC_CLASSES];  /* load that counts as 1 in the powers */
    float *source[TRAFFIC_CLASSES];
    float *flow[TRAFFIC_CLASSES]; /* through each switch, for the target at hand */
    uint64_t *joined;             /* switch -> slots by which others have joined it */
    uint32_t *hops, *path;
    uint8_t *marked;
    struct offender *offenders;
    uint32_t offender_count;
    struct busy *busy_list; /* channels above the limit */
    uint32_t busy_count;
    uint8_t *next;
    uint32_t root;
    bool longer, bulky;
    bool gaining; /* the last round was some good */
    float worth;
    const float *goal;
    uint64_t moves, moves_max;
    uint64_t looks, looks_max;
    uint32_t idle, idle_max; /* looks since the last change */
};

/* Decides which channels are worth a look: those above `share` of the busiest. */
void tune_limits_set(struct tune *tune, float share);

/* Lists them. */
void tune_busy_list(struct tune *tune);

/* Does a target's tree use a busy channel at all? Spares most targets the closer look. */
bool tune_uses_busy(const struct tune *tune, const struct lft *table, uint32_t target);
