/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeps the traffic to one target together, in networks that have something like a top.
 *
 * In a fat tree nearly all traffic to a host comes down from one of the top switches, any of them,
 * and fills the cables below it. If every source chose its own top, by what it sees of the loads,
 * a target's traffic would be spread over many cables; each of these is then too full for all of
 * another target's, and too empty for none. In a perfect tree sources choose alike, because they
 * see the same loads; one failed cable ends that. So the top is chosen first, by the cables below
 * it, and all sources use it that can do so at no detour.
 */
#pragma once

#include "base/arena.h"
#include "route/tables/load.h"
#include "route/trees/ways.h"

struct hub {
    struct arena memory; /* of the arrays */
    const struct ways *ways;
    const struct load *load;
    uint32_t *candidates; /* switches by which nearly all traffic could come, nearest first */
    uint32_t count;
    float total;      /* traffic to the target */
    uint32_t level;   /* of the farthest; 0: there are none, sources choose for themselves */
    uint8_t *chosen;  /* switch: is the hub, or on the way from it */
    float *potential; /* switch: what could come by it; scratch */
    double *score;    /* switch */
};

int hub_create(struct hub **hub, const struct ways *ways, const struct load *load);
void hub_destroy(struct hub *hub);

/* Finds the candidates for the ways at hand, and a target at their end. */
void hub_candidates_find(struct hub *hub, uint32_t target);

/* Chooses one, when all candidates have chosen their outputs. */
void hub_choose(struct hub *hub, const uint8_t *next);
