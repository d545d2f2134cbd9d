/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checker: vector clocks. Each rank has one, an entry per rank: its own entry is its time, which
 * goes on at each release, signal and barrier; the others say up to which time of that rank
 * everything is known to have happened before. Of each variable its home keeps a record: what the
 * next holder is after, and when each rank has last used it. All calls are made under the checker's
 * lock.
 *
 * What cannot be had any more (a home is gone) counts as known: no race is made up for want of
 * knowledge, by this rank or by who comes after it.
 */
#pragma once

#include "dsm/dsm.h"

/* A variable's record: rows of one word per rank, and one word more. */
enum clock_row {
    CLOCK_WRITERS,    /* clocks of those who have released it after writing, or signalled, joined */
    CLOCK_READERS,    /* the same after reading */
    CLOCK_WROTE,      /* when the rank last held it for writing */
    CLOCK_READ,       /* the same for reading */
    CLOCK_TRESPASSED, /* when it last accessed it otherwise, times 2, and 1 more if it wrote */
    CLOCK_IS_SHARED,  /* one word: memory bound to it is bound to another one, too */
};

struct check_clocks {
    uint64_t *now;     /* this rank's clock */
    uint64_t *record;  /* a copy of the record that was looked at last */
    uint64_t *segment; /* clocks at this rank's last two barriers, then records */
    uint64_t barrier_count;
};

/* Make this rank's part; then, once all have, see whether they did: if not, there are no clocks. */
void check_clock_make(struct rh_dsm *dsm);
void check_clock_meet(struct rh_dsm *dsm);
void check_clock_close(struct rh_dsm *dsm);

/* Copy a variable's record here; false: it is not to be had. */
bool check_clock_look(struct rh_dsm *dsm, rh_dsm_variable variable);
/* A rank's word of the copy. */
uint64_t check_clock_word(const struct rh_dsm *dsm, enum clock_row row, int rank);
/* Raise this rank's word of a row in the variable's record, or the one word of CLOCK_IS_SHARED. */
void check_clock_note(struct rh_dsm *dsm, rh_dsm_variable variable, enum clock_row row,
                      uint64_t value);

/* This rank is after all that the row of the copy says. */
void check_clock_join(struct rh_dsm *dsm, enum clock_row row);
/* Who acquires the variable next is after all this rank has done so far. */
void check_clock_publish(struct rh_dsm *dsm, rh_dsm_variable variable, enum clock_row row);

void check_clock_enter_barrier(struct rh_dsm *dsm);
void check_clock_leave_barrier(struct rh_dsm *dsm, bool is_met);
