/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forwarding tables: for each target and switch the slot to leave by. Stored target by target,
 * since a target's entries form a tree that is built, loaded and repaired as one.
 */
#pragma once

#include "route/fabric/net.h"
#include "route/formats/dump.h"

#define LFT_NONE         255 /* no way known: drop */
#define LFT_SCRATCH(net) (2 * (size_t)(net)->switch_count + 3)
#define LFT_HERE         254 /* the target hangs on this switch */

struct lft {
    const struct net *net;
    uint8_t *next; /* [target * switch_count + switch] */
};

int lft_create(struct lft **table, const struct net *net); /* all LFT_NONE */
void lft_destroy(struct lft *table);

static inline uint8_t *lft_tree(const struct lft *table, uint32_t target)
{
    return table->next + (size_t)target * table->net->switch_count;
}

/* The switches of a target's tree, nearest to the target first, each after the one it leads to.
 * Returns how many there are; fewer than all if some have no way. scratch: LFT_SCRATCH words. */
uint32_t lft_order_find(const struct net *net, const uint8_t *next, uint32_t root, uint32_t *order,
                        uint32_t *scratch);

static inline uint32_t lft_tree_order(const struct lft *table, uint32_t target, uint32_t *order,
                                      uint32_t *scratch)
{
    return lft_order_find(table->net, lft_tree(table, target), table->net->target_switch[target],
                          order, scratch);
}

/* Hops from a switch to the target whose tree this is, UINT32_MAX if it has no way. hops[] holds
 * what is known already, LFT_UNKNOWN what is not, and 0 for the target's switch; the way's is
 * added. */
#define LFT_UNKNOWN (UINT32_MAX - 1)
uint32_t lft_hops(const struct net *net, const uint8_t *next, uint32_t from, uint32_t *hops);

/* Makes LFT_NONE of entries that lead round in a circle, as tables of others may; the rest of lft.h
 * and all who work on tables rely on there being none. Returns how many. */
uint64_t lft_circles_break(struct lft *table);

/* A table that switches hold, on this net. Entries that lead nowhere become
 * LFT_NONE. */
int lft_import(struct lft **table, const struct net *net, const struct lft_dump *dump);
/* The other way round, as if the table had been written and read again. */
int lft_export(struct lft_dump *dump, const struct lft *table);

/* Entries in which two tables of one net differ. */
uint64_t lft_difference(const struct lft *a, const struct lft *b);
