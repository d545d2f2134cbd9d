/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mends a table after cables or switches have gone or come back. Only entries that lead nowhere any
 * more, and those that must give way for them, change. The new ways use only turns that fit the
 * ways still in use: old and new entries together have no loop, in whatever order switches take
 * them over.
 *
 * The steps, each by itself so that commands can show what takes time: find the dead entries
 * (dead.c), the turns that may be used (turns.c), the loads without what is lost (load.c), then
 * mend (repair.c, way.c) and balance what has changed (balance.c). branch.h is what hangs on one
 * switch of a tree. stages.h is the change from the old table to the mended one.
 */
#pragma once

#include "route/tables/lft.h"
#include "route/tables/load.h"
#include "route/tables/memo.h"
#include "route/turns/reach.h"

/* An entry that leads nowhere any more, or was missing. */
struct dead {
    uint32_t target, at;
    uint32_t ahead; /* the switch that it led to; FABRIC_NONE: not known, or gone too */
};

struct dead_list {
    struct dead *items; /* target by target */
    size_t count, room;
    bool complete; /* where the lost traffic went can be followed: no switch is gone */
};

/* lft is the old table on the fabric as it is now, as lft_import() gives it. */
int dead_list_create(struct dead_list *list, const struct lft *lft, const struct lft_dump *old,
                     const struct fabric *old_fabric);
void dead_list_destroy(struct dead_list *list);

/* The turns a mended table may use, and what they reach: those in use, and more that fit beside
 * them. If memo is given (it may be NULL), its ranks leave room for all turns in use and they
 * connect everything, these ranks are used, which is quick. Otherwise turn addition adds what it
 * can to the turns in use. -ELOOP: the table in use has a loop itself; -ENETUNREACH: these turns
 * connect not everything any more, so a change without interruption is impossible. */
struct repair_room {
    struct turns *turns;
    struct reach *reach;
};
int repair_room_find(struct repair_room *room, const struct lft *in_use,
                     const struct traffic *traffic, const struct memo *memo,
                     const struct dead_list *dead);
void repair_room_free(struct repair_room *room);

/* The load of the table without what is lost; quick if memo (may be NULL) has loads by this very
 * traffic. */
int repair_load_find(struct load *load, const struct lft *in_use, const struct memo *memo,
                     const struct dead_list *dead);

struct repair_result {
    uint64_t entries_forced;  /* led over something that is gone, or were missing */
    uint64_t entries_changed; /* all in all, the forced ones included */
    uint64_t entries_idle;    /* changed between switches without hosts, where nothing is sent */
    uint32_t targets_changed;
    double mend_seconds, balance_seconds;
};

/* Mends lft. load is what repair_load_find() has found, and is kept up. */
int repair_table(struct lft *lft, const struct repair_room *room, struct load *load,
                 const struct dead_list *dead, struct repair_result *result);

/* How many entries no mending with these turns can keep: those that lead nowhere any more, and
 * those that lead to a switch from which no allowed way leads on. in_use is the table before
 * mending. */
uint64_t repair_unavoidable(const struct lft *in_use, const struct reach *reach,
                            const struct dead_list *dead);
