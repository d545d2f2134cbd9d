/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether it pays to spin before the core is given away.
 *
 * Counting ranks and cores says it beforehand where there are fewer cores than ranks, but not where
 * a launcher, a batch system or a busy machine puts two ranks on one core: then each spins in vain
 * while the other has what it waits for. So it is learnt: a wait that spun to the end and was over
 * as soon as the core had been given away once was on the core of the one it waited for. After a
 * few such waits in a row the core is given away at once; now and then one spins all the same, and
 * if that pays again, so do the others. Ends of waits that sleep say nothing: the other one was
 * busy.
 */
#pragma once

#include "base/likely.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HABIT_WASTED 3    /* spins in vain in a row before the habit changes */
#define HABIT_PAID   2    /* trials that paid, in a row, before it changes back */
#define HABIT_TRIALS 64   /* one wait of so many is a trial */
#define HABIT_LOOKS  2048 /* before anything else is looked at: a trip or two between cores */

enum habit_end {
    HABIT_SPUN,   /* it was over while we spun */
    HABIT_YIELDED /* it was over when the core came back to us for the first time */
};

/* All relaxed: threads of one rank share it, and a note that is lost does no harm. */
struct shm_habit {
    _Atomic bool yields;    /* give the core away instead of spinning */
    _Atomic bool is_fixed;  /* there are more ranks than cores: nothing to learn */
    _Atomic uint8_t row;    /* notes in a row that speak against the habit */
    _Atomic uint32_t waits; /* since it yields */
    _Atomic uint32_t looks; /* for whom may look without asking: 0 while there is something to learn
                               from each wait */
};

static inline void habit_set_looks(struct shm_habit *habit, bool is_settled)
{
    atomic_store_explicit(&habit->looks, is_settled ? HABIT_LOOKS : 0, memory_order_relaxed);
}

static inline void habit_begin(struct shm_habit *habit, bool is_crowded)
{
    atomic_store_explicit(&habit->yields, is_crowded, memory_order_relaxed);
    atomic_store_explicit(&habit->is_fixed, is_crowded, memory_order_relaxed);
    habit_set_looks(habit, !is_crowded);
}

static inline bool habit_yields(const struct shm_habit *habit)
{
    return atomic_load_explicit(&habit->yields, memory_order_relaxed);
}

/* Whether this wait is to spin; asked once for each that is not over at the first looks. */
static inline bool habit_spins(struct shm_habit *habit)
{
    if (!habit_yields(habit))
        return true;
    if (atomic_load_explicit(&habit->is_fixed, memory_order_relaxed))
        return false;
    uint32_t waits = atomic_load_explicit(&habit->waits, memory_order_relaxed) + 1;
    atomic_store_explicit(&habit->waits, waits, memory_order_relaxed);
    return waits % HABIT_TRIALS == 0;
}

/* A wait for which habit_spins() said true is over. */
static inline void habit_note(struct shm_habit *habit, enum habit_end end)
{
    bool yields = habit_yields(habit);
    bool is_against = (end == HABIT_SPUN) == yields;
    unsigned row = is_against ? atomic_load_explicit(&habit->row, memory_order_relaxed) + 1U : 0;
    if (row >= (yields ? HABIT_PAID : HABIT_WASTED)) {
        yields = !yields;
        atomic_store_explicit(&habit->yields, yields, memory_order_relaxed);
        atomic_store_explicit(&habit->waits, 0, memory_order_relaxed);
        row = 0;
    }
    atomic_store_explicit(&habit->row, (uint8_t)row, memory_order_relaxed);
    habit_set_looks(habit, !yields && row == 0);
}

/* The first looks were enough: cheap, since that is where speed counts. */
static inline void habit_note_quick(struct shm_habit *habit)
{
    if (unlikely(atomic_load_explicit(&habit->looks, memory_order_relaxed) == 0) &&
        !habit_yields(habit)) {
        atomic_store_explicit(&habit->row, 0, memory_order_relaxed);
        habit_set_looks(habit, true);
    }
}
