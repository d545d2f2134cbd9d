/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In which order a fabric goes from one table to another. Switches take over entries in an order
 * that nobody controls, so an old entry at one switch and a new one at another may be in use at
 * once, and together make a turn that neither table allows. Where that could be, the change is made
 * in stages: a whole table for each, and the next is loaded when all switches have the one before
 * and the packets of older ways are gone. Within a stage any order is safe.
 *
 * An entry goes from old to new in some stage. Where entries wait for each other in a circle, some
 * of them drop their packets from the first stage on until their turn has come.
 */
#pragma once

#include "route/tables/lft.h"
#include "route/turns/turns.h"

#define STAGES_MAX 4 /* entries that would have to wait longer drop packets meanwhile */

struct stages_entry {
    uint32_t target, at;
    uint8_t slot;      /* the old one */
    uint8_t old_until; /* the stage in which it goes */
    uint8_t new_from;  /* the stage in which the new one comes */
};

struct stages {
    const struct lft *after;
    const struct lft_dump *held;  /* by the switches, before all */
    uint32_t count;               /* 1: any order will do */
    struct stages_entry *entries; /* all that differ and do not change in the first stage */
    size_t entry_count, entry_room;
    uint64_t dropped; /* working entries that drop packets for a while */
    bool drained;     /* all that changes does */
};

/* held: what the switches hold, on the fabric as it is now. turns: allowed ones, without a loop,
 * among which are all that either table uses. Tables are kept and must outlive the stages. */
int stages_find(struct stages *stages, const struct lft_dump *held, const struct lft *after,
                const struct turns *turns);

/* For tables that have no such turns in common: all that changes drops its packets, and when they
 * are gone the new entries come. Safe whenever both tables are by themselves. */
int stages_drain(struct stages *stages, const struct lft_dump *held, const struct lft *after);
void stages_free(struct stages *stages);

/* The table of a stage, from 1 to `count`, where it is `after`. */
int stages_table(const struct stages *stages, uint32_t stage, struct lft_dump *table);
