/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The board: one part per rank, in which the rank says how it fares. It alone writes its part; the
 * launcher, `rhinet top`, `rhinet doctor` and the other ranks read it, and believe none of it
 * before they have copied and checked it (watch/diagnosis.h).
 *
 * Besides the counters there is what helps to find out why a job does not go on: which calls of
 * this rank have waited so long that they sleep, and how far it is with each group of ranks that
 * goes forward in steps. None of that costs a fast path more than a plain store to memory of its
 * own. Which calls and groups there are is the layers' business: they say in their NAME_layer.c
 * (base/layer.h) how their waits are read.
 */
#pragma once

#include "base/counters.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BOARD_WAITS  4  /* threads of one rank that are seen waiting; more go unseen */
#define BOARD_GROUPS 16 /* of ranks; the last place is for all that have none of their own */

#define BOARD_NOTHING 0 /* no wait has this number */

/* Whom a wait depends on. */
enum wait_on {
    WAIT_ON_RANK,   /* peer; -1: any rank may end it */
    WAIT_ON_HOLDER, /* of `number`, for which ranks queue: peer is before us, -1: not known */
    WAIT_ON_GROUP   /* all members of group `number`, until they are at step `length`; peer: one
                       that has not joined the group, if known */
};

/* How a wait is read. `text` is said with what the wait has in it: %n number, %l length, %m moved,
 * %r "rank 3" or "any rank", %s "segment 7" and %q "queue 7", or whose it is if number is a
 * reserved SID, %c the word that length chooses. Of [this %n|that] the first is said if the wait
 * has it (a rank, something moved, a number that is not -1), else the second, if there is one. */
struct wait_spec {
    const char *name; /* a word, for JSON */
    const char *text;
    enum wait_on on;
    const char *group;          /* WAIT_ON_GROUP: what the layer calls it */
    const char *const *choices; /* for %c; NULL after the last */
};

/* Entries of a layer's list. */
#define WAIT_FOR_RANK(which, name, text) [LAYER_AT(which)] = {name, text, WAIT_ON_RANK, NULL, NULL}
#define WAIT_FOR_HOLDER(which, name, text)                                                         \
    [LAYER_AT(which)] = {name, text, WAIT_ON_HOLDER, NULL, NULL}
#define WAIT_FOR_GROUP(which, name, text, group)                                                   \
    [LAYER_AT(which)] = {name, text, WAIT_ON_GROUP, group, NULL}

/* What a wait is about, before it is published. */
struct wait_note {
    uint32_t call; /* number of a layer's wait */
    int peer;
    uint64_t number, length, moved; /* as the wait's text tells; 0: nothing */
};

static inline bool wait_note_is_same(const struct wait_note *a, const struct wait_note *b)
{
    return a->call == b->call && a->peer == b->peer && a->number == b->number &&
           a->length == b->length && a->moved == b->moved;
}

/* A wait that outlasts its polling. `turn` is odd while the rest changes; `looks` counts how often
 * the waiter has looked at its condition since, so a reader can tell that it looked in vain. */
struct board_wait {
    _Atomic uint32_t turn;
    _Atomic uint32_t is_taken; /* by a thread of this rank */
    _Atomic uint32_t call;     /* BOARD_NOTHING: nobody waits here */
    _Atomic int32_t peer;
    _Atomic uint64_t number;
    _Atomic uint64_t length;
    _Atomic uint64_t moved;
    _Atomic int64_t since_ns; /* CLOCK_MONOTONIC */
    _Atomic uint32_t looks;
    _Atomic int32_t thread; /* as the kernel numbers them */
    uint64_t reserved;
};
_Static_assert(sizeof(struct board_wait) == 64, "shared layout");

/* A group of ranks that this rank has joined. */
struct board_group {
    _Atomic uint32_t key;     /* id + 1; 0: none */
    _Atomic uint32_t size;    /* members */
    _Atomic uint64_t entered; /* the step it is in or was last */
};
_Static_assert(sizeof(struct board_group) == 16, "shared layout");

/* Of a rank of another host: its counters, waits and groups were told by the task manager there,
 * when this one was asked to find out; with them comes what else a diagnosis needs. */
struct board_told {
    _Atomic int64_t at_ns; /* when, CLOCK_MONOTONIC; 0: never */
    _Atomic uint32_t process_state, thread_count;
};

/* One member's part of the board. */
struct board_rank {
    struct counters counters;
    struct board_told told; /* by the task manager, of ranks of other hosts */
    uint64_t reserved[6];
    struct board_wait wait[BOARD_WAITS];
    struct board_group group[BOARD_GROUPS];
    uint64_t spare[40];
};
_Static_assert(sizeof(struct board_rank) == 2048, "shared layout");
_Static_assert(offsetof(struct board_rank, wait) % 64 == 0, "a wait has a cache line of its own");

/* A place to count a group's steps in, never NULL. Give it back with board_group_close(). */
static inline struct board_group *board_group_open(struct board_rank *board, uint32_t id,
                                                   uint32_t size)
{
    for (int i = 0; i < BOARD_GROUPS - 1; i++) {
        struct board_group *group = &board->group[i];
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&group->key, &none, id + 1))
            continue;
        atomic_store_explicit(&group->entered, 0, memory_order_relaxed);
        atomic_store_explicit(&group->size, size, memory_order_relaxed);
        return group;
    }
    return &board->group[BOARD_GROUPS - 1];
}

static inline void board_group_close(struct board_group *group)
{
    atomic_store_explicit(&group->size, 0, memory_order_relaxed);
    atomic_store_explicit(&group->key, 0, memory_order_release);
}

/* This rank enters the group's next step; steps count from 1. */
static inline void board_group_enter(struct board_group *group, uint64_t step)
{
    atomic_store_explicit(&group->entered, step, memory_order_relaxed);
}

/* Whether a rank's board says that it has not come as far as the step. */
static inline bool board_group_is_late(const struct board_rank *board, uint32_t id, uint64_t step)
{
    bool has_room = false;
    for (int i = 0; i < BOARD_GROUPS - 1; i++) {
        uint32_t key = atomic_load_explicit(&board->group[i].key, memory_order_relaxed);
        if (key == id + 1)
            return atomic_load_explicit(&board->group[i].entered, memory_order_relaxed) < step;
        has_room |= key == 0;
    }
    return has_room; /* it has not joined the group */
}

/* How a wait is read; NULL: no layer has that number. */
static inline const struct wait_spec *wait_spec(uint32_t call)
{
    const struct layer *layer = layer_of(call);
    return layer && LAYER_AT(call) < layer->wait_count ? &layer->waits[LAYER_AT(call)] : NULL;
}
