/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of repair share.
 */
#pragma once

#include "base/arena.h"
#include "route/repair/branch.h"
#include "route/repair/repair.h"
#include "route/trees/grow.h"
#include "route/trees/tune.h"

struct repair {
    struct arena memory; /* of the arrays */
    const struct net *net;
    const struct turns *turns;
    const struct reach *reach;
    struct grow *grow; /* for its prices, and for those who cannot join by themselves */
    struct branch *branch;
    uint8_t *next; /* the tree at hand */
    uint8_t *before;
    uint8_t *unrescued; /* the tree before others changed for those who are stuck */
    uint32_t *lost;     /* in the order in which they lost their ways */
    uint32_t lost_count;
    uint32_t *stuck;
    uint32_t stuck_count;
    uint32_t target, root;
    float *expected[TRAFFIC_CLASSES]; /* heavy: what switches sent on before */
    uint32_t *awaiting;               /* those for whom that counts as load meanwhile */
    uint32_t awaiting_count;
    bool heavy; /* much of the target's traffic was lost: who has hosts has chosen again */
    struct tune_entry *changed; /* all entries that changed */
    size_t changed_count, changed_capacity;
    float most_before[TRAFFIC_CLASSES]; /* the busiest channel's load, without what was lost */
};

/* Does a neighbour, over this channel to it, lead its packets here? */
static inline bool repair_is_behind(const struct repair *repair, uint32_t channel)
{
    return branch_is_behind(repair->branch, repair->next, channel);
}

/* Those behind a switch that would not be able to follow it to a new output. */
uint32_t repair_orphans_count(const struct repair *repair, uint32_t at, uint32_t out);

/* Takes the best output for a switch that has lost its way; those who cannot follow it there lose
 * theirs. Returns false if there is none. */
bool repair_way_renew(struct repair *repair, uint32_t at);
void repair_way_lose(struct repair *repair, uint32_t at);

/* A switch without hosts has found its way before those behind it have: what it sent on before
 * counts as its load, so that others do not all choose the same. Dropped when the first with hosts
 * chooses. */
void repair_expected_put(struct repair *repair, uint32_t at);
void repair_expected_drop(struct repair *repair);

/* What changes anyway may as well change to the best. Then a few more may change, where channels
 * have become busier than all others. */
int repair_balance(struct repair *repair, struct lft *lft, struct load *load,
                   struct repair_result *result);
