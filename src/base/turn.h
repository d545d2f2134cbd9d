/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking turns, cheaply as long as one thread is alone.
 *
 * A lock costs a locked instruction, and that waits until all earlier stores have reached memory:
 * after a store to a line of another core that is a whole trip. So the thread that made the turn
 * enters with plain stores only. The first other thread that comes makes it shared: it says so, has
 * every core drain its stores (membarrier), waits until the owner is outside, and only then may it
 * and all others take the lock. Model: tests/model/turn.pml.
 */
#pragma once

#include "base/assert.h"
#include "base/guard.h"
#include "base/likely.h"

enum turn_stage { TURN_OWNED, TURN_CHANGING, TURN_SHARED };

struct turn {
    struct guard_record *owner; /* the thread that may enter cheaply while TURN_OWNED */
    _Atomic bool is_inside;     /* it has; written by it alone */
    _Atomic int stage;          /* enum turn_stage; only grows */
    _Atomic bool is_taken;      /* the lock, once TURN_SHARED */
};

/* The calling thread becomes the owner. */
void turn_init(struct turn *turn);

void turn_take_shared(struct turn *turn);

/* For assertions: somebody has it, and while it has one owner only, that is the calling thread. */
static inline bool turn_is_taken(const struct turn *turn)
{
    return (turn->owner == guard_mine &&
            atomic_load_explicit(&turn->is_inside, memory_order_relaxed)) ||
           atomic_load_explicit(&turn->is_taken, memory_order_relaxed);
}

static inline void turn_take(struct turn *turn)
{
    if (likely(turn->owner == guard_mine)) {
        atomic_store_explicit(&turn->is_inside, true, memory_order_relaxed);
        atomic_signal_fence(
            memory_order_seq_cst); /* the rest is the membarrier of the other side */
        if (likely(atomic_load_explicit(&turn->stage, memory_order_acquire) == TURN_OWNED))
            return;
        atomic_store_explicit(&turn->is_inside, false, memory_order_release);
    }
    turn_take_shared(turn);
}

static inline void turn_give(struct turn *turn)
{
    ASSERT(turn_is_taken(turn));
    if (likely(turn->owner == guard_mine &&
               atomic_load_explicit(&turn->is_inside, memory_order_relaxed)))
        atomic_store_explicit(&turn->is_inside, false, memory_order_release);
    else
        atomic_store_explicit(&turn->is_taken, false, memory_order_release);
}
