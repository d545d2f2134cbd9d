/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Freeing what other threads read without a lock.
 *
 * A thread that follows pointers of a lock-free table is inside a guard meanwhile: two plain stores
 * to a line of its own. Whoever has taken something out of the table frees it only when
 * guard_idle() has said once, later, that every thread was outside. The order that this needs is
 * made by the one who asks (membarrier), which is rare, not by those who enter, which is often.
 */
#pragma once

#include "base/likely.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_record {
    _Alignas(64) _Atomic uint32_t depth; /* written by its thread only */
    _Atomic bool is_taken;
    struct guard_record *next;
};

extern _Thread_local struct guard_record *guard_mine __attribute__((tls_model("initial-exec")));

/* This thread's record, made at its first use. Never NULL: without memory, one that is always
 * busy. */
struct guard_record *guard_register(void);

static inline struct guard_record *guard_enter(void)
{
    struct guard_record *mine = guard_mine;
    if (unlikely(!mine))
        mine = guard_register();
    uint32_t depth = atomic_load_explicit(&mine->depth, memory_order_relaxed);
    atomic_store_explicit(&mine->depth, depth + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the rest is the membarrier in guard_idle() */
    return mine;
}

static inline void guard_leave(struct guard_record *mine)
{
    uint32_t depth = atomic_load_explicit(&mine->depth, memory_order_relaxed);
    atomic_store_explicit(&mine->depth, depth - 1,
                          memory_order_release); /* pairs with guard_idle */
}

/* True if no thread is inside just now: what was out of the tables before this call is nobody's any
 * more. Always false where the kernel has no membarrier. */
bool guard_idle(void);
