/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters of one process: always on, cheap, and readable from outside while it runs, because they
 * lie in memory shared with the launcher. Each layer names its own (base/layer.h); top, info and
 * JSON follow it.
 */
#pragma once

#include "base/layer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTERS_MAX LAYER_NUMBERS_COUNT

struct counters {
    _Atomic uint64_t value[COUNTERS_MAX]; /* by number; not all have one */
};

struct counter_spec {
    const char *name;
    const char *help;
    bool is_progress; /* counts what is done to others or taken from them, not looking around */
    const char *was;  /* its name once, by which rh_counter() still finds it; NULL: none */
};

/* Entries of a layer's list. */
#define COUNTER(which, name, help)              [LAYER_AT(which)] = {name, help, false, NULL}
#define PROGRESS_COUNTER(which, name, help)     [LAYER_AT(which)] = {name, help, true, NULL}
#define RENAMED_COUNTER(which, name, was, help) [LAYER_AT(which)] = {name, help, false, was}

/* NULL: no counter has that number. */
static inline const struct counter_spec *counter_spec(unsigned which)
{
    const struct layer *layer = layer_of(which);
    bool is_there = layer && LAYER_AT(which) < layer->counter_count;
    return is_there ? &layer->counters[LAYER_AT(which)] : NULL;
}

/* For the hot path: no locked instruction, so threads that collide may lose a count. */
static inline void counter_add(struct counters *counters, unsigned which, uint64_t amount)
{
    _Atomic uint64_t *value = &counters->value[which];
    uint64_t now = atomic_load_explicit(value, memory_order_relaxed);
    atomic_store_explicit(value, now + amount, memory_order_relaxed);
}

/* For rare events, such as denials, of which none may be lost. */
static inline void counter_add_exact(struct counters *counters, unsigned which)
{
    atomic_fetch_add_explicit(&counters->value[which], 1, memory_order_relaxed);
}

static inline uint64_t counter_read(const struct counters *counters, unsigned which)
{
    return atomic_load_explicit(&counters->value[which], memory_order_relaxed);
}
