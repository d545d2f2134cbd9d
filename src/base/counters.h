/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters of one process: always on, cheap, and readable from outside while it runs, because they
 * lie in memory shared with the launcher. One table names them; top, info and JSON follow it.
 */
#ifndef BASE_COUNTERS_H
#define BASE_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum counter {
    COUNTER_PUSH,
    COUNTER_PUSH_BYTES,
    COUNTER_PULL,
    COUNTER_PULL_BYTES,
    COUNTER_INLINE,
    COUNTER_STORE,
    COUNTER_ATOMIC,
    COUNTER_APPEND,
    COUNTER_APPEND_FULL,
    COUNTER_RECEIVE,
    COUNTER_FLUSH,
    COUNTER_WAIT,
    COUNTER_WAIT_SLEEP,
    COUNTER_WAKE,
    COUNTER_AGENT,
    COUNTER_DENIED_SEGMENT,
    COUNTER_DENIED_STALE,
    COUNTER_DENIED_BOUNDS,
    COUNTER_DENIED_RIGHTS,
    COUNTER_DENIED_DEAD,
    COUNTER_DENIED_STRANGER,
    COUNTER_FAULT,
    COUNTER_MSG_INLINE,
    COUNTER_MSG_PUSH,
    COUNTER_MSG_RING,
    COUNTER_MSG_JOINT,
    COUNTER_MSG_PULL,
    COUNTER_MSG_BYTES,
    COUNTER_MSG_RECEIVED,
    COUNTER_MSG_UNEXPECTED,
    COUNTER_MSG_BLOCKED,
    COUNTER_DSM_FETCH,
    COUNTER_DSM_OWN,
    COUNTER_DSM_WAIT,
    COUNTER_DSM_INVALIDATE,
    COUNTER_DSM_UPDATE,
    COUNTER_DSM_BOUNCE,
    COUNTER_DSM_BYTES,
    COUNTER_COUNT
};

#define COUNTERS_MAX 120 /* room in the shared layout, so that adding one does not move the rest */

struct counters {
    _Atomic uint64_t value[COUNTERS_MAX];
};
_Static_assert(COUNTER_COUNT <= COUNTERS_MAX, "the shared layout has room for all counters");

struct counter_spec {
    const char *name;
    const char *help;
};

const struct counter_spec *counter_spec(enum counter which);

/* For the hot path: no locked instruction, so threads that collide may lose a count. */
static inline void counter_add(struct counters *counters, enum counter which, uint64_t amount)
{
    _Atomic uint64_t *value = &counters->value[which];
    uint64_t now = atomic_load_explicit(value, memory_order_relaxed);
    atomic_store_explicit(value, now + amount, memory_order_relaxed);
}

/* For rare events, such as denials, of which none may be lost. */
static inline void counter_add_exact(struct counters *counters, enum counter which)
{
    atomic_fetch_add_explicit(&counters->value[which], 1, memory_order_relaxed);
}

static inline uint64_t counter_read(const struct counters *counters, enum counter which)
{
    return atomic_load_explicit(&counters->value[which], memory_order_relaxed);
}

#endif
