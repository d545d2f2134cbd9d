/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Improves the balance of a table: switches on the way over a busy channel are offered other
 * outputs, and take the one that makes the sum of high powers of the loads least. Every step keeps
 * the table valid: only allowed turns, no one cut off.
 */
#pragma once

#include "route/tables/load.h"
#include "route/turns/turns.h"

struct tune_options {
    uint32_t rounds_max;         /* times to go through the table; 0: 100 */
    uint64_t looks_max;          /* trees to look at closely at most; 0: no limit */
    uint32_t idle_max;           /* looks without a change, in a row; 0: no limit */
    uint64_t moves_max;          /* entries to change at most; 0: no limit */
    uint64_t moves;              /* entries changed; filled in */
    bool longer;                 /* may use ways that are longer */
    bool bulky;                  /* entries that carry most first: fewer moves for the same gain */
    float goal[TRAFFIC_CLASSES]; /* only channels above this load matter; 0: the busiest few */
    float worth;                 /* a change must bring the cost down to this part; 0: any gain */
};

/* load must be the table's load, and is kept up. */
int tune_table(struct lft *table, const struct turns *turns, struct load *load,
               struct tune_options *options);

/* Improves only given entries, which are listed target by target; the rest of the table stays. */
struct tune_entry {
    uint32_t target, at;
};
int tune_entries(struct lft *table, const struct turns *turns, struct load *load,
                 const struct tune_entry *entries, size_t entry_count, uint32_t rounds);
