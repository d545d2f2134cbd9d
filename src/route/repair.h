/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mends a table after cables or switches have gone or come back. Only entries that lead nowhere any
 * more, and those that must give way for them, change. The new ways use only turns that fit the
 * ways still in use: old and new entries together have no loop, in whatever order switches take
 * them over.
 */
#ifndef ROUTE_REPAIR_H
#define ROUTE_REPAIR_H

#include "route/lft.h"
#include "route/load.h"
#include "route/reach.h"

struct repair_result {
    uint64_t entries_forced;  /* led over something that is gone, or were missing */
    uint64_t entries_changed; /* all in all, the forced ones included */
    uint32_t targets_changed;
    double seconds;
};

/* The turns a mended table may use: those in use, and more that fit beside them. rank (may be NULL)
 * is what the table was made by; if all its turns follow it and it still connects everything it is
 * taken as it is, which is quick. Otherwise turn addition adds what it can to the turns in use.
 * -ELOOP: the table in use has a loop itself; -ENETUNREACH: these turns connect not everything any
 * more, so a change without interruption is impossible. */
int repair_turns(struct turns **turns, const struct lft *in_use, const struct traffic *traffic,
                 const int64_t *rank);

/* Mends lft. Its dead entries are LFT_NONE, as formats_lft_import() leaves them. load is the load
 * of the table as it is now, and is kept up. */
int repair_table(struct lft *lft, const struct turns *turns, struct load *load,
                 struct repair_result *result);

/* How many entries no mending with these turns can keep: those that lead nowhere any more, and
 * those that lead to a switch from which no allowed way leads on. in_use is the table before
 * mending. */
uint64_t repair_unavoidable(const struct lft *in_use, const struct reach *reach);

#endif
