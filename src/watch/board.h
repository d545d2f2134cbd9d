/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The board: one part per rank, in which the rank says how it fares. It alone writes its part; the
 * launcher, `rhinet top`, `rhinet doctor` and the other ranks read it, and believe none of it
 * before they have copied and checked it (watch/diagnosis.h).
 *
 * Besides the counters there is what helps to find out why a job does not go on: which calls of
 * this rank have waited so long that they sleep, and how far it is with each set of ranks. None of
 * that costs a fast path more than a plain store to memory of its own.
 */
#ifndef WATCH_BOARD_H
#define WATCH_BOARD_H

#include "base/counters.h"

#include <stdatomic.h>
#include <stdint.h>

#define BOARD_WAITS 4  /* threads of one rank that are seen waiting; more go unseen */
#define BOARD_SETS  16 /* sets of ranks; the last place is for all that have none of their own */

/* The call that waits. What peer, number, length and moved mean is said beside each; a peer of -1
 * is any rank, whatever is not mentioned is 0. */
enum board_call {
    BOARD_NOTHING,
    BOARD_WORD,       /* number: value waited for; length: enum rh_when; moved: value now */
    BOARD_UNTIL,      /* a condition of the program's own */
    BOARD_DONE,       /* a push or pull that was started */
    BOARD_SEGMENT,    /* peer is to open segment `number` */
    BOARD_TRANSFER,   /* peer's agent is to move `length` bytes of segment `number` */
    BOARD_DETACH,     /* peer is to finish its copy of segment `number` */
    BOARD_APPEND,     /* queue `number` of peer is full */
    BOARD_QUEUE,      /* own queue `number` is empty */
    BOARD_SEND,       /* number: tag; length: bytes, of which `moved` are through */
    BOARD_RECEIVE,    /* the same; tag -1: any */
    BOARD_REQUESTS,   /* any of `number` requests */
    BOARD_PROBE,      /* number: tag */
    BOARD_LOCK,       /* number: lock; peer: who is before us in its queue */
    BOARD_BARRIER,    /* number: set; length: its step; peer: who has not made the set, if known */
    BOARD_COLLECTIVE, /* the same */
    BOARD_DSM,        /* number: variable; peer: who holds it */
    BOARD_CALL_COUNT
};

/* What a wait is about, before it is published. */
struct wait_note {
    enum board_call call;
    int peer;
    uint64_t number, length, moved;
};

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

/* A set of ranks that this rank has made. */
struct board_set {
    _Atomic uint32_t key;     /* id + 1; 0: none */
    _Atomic uint32_t size;    /* members */
    _Atomic uint64_t entered; /* the step (barrier or part of a collective) it is in or was last */
};
_Static_assert(sizeof(struct board_set) == 16, "shared layout");

/* Of a rank of another host: its waits and sets were told by the task manager there, when this one
 * was asked to find out; with them comes what else a diagnosis needs. */
struct board_told {
    _Atomic int64_t at_ns; /* when, CLOCK_MONOTONIC; 0: never */
    _Atomic uint64_t work; /* watch/diagnosis.h */
    _Atomic uint32_t process_state, thread_count;
};

/* One member's part of the board. */
struct board_rank {
    struct counters counters;
    struct board_told told; /* by the task manager, of ranks of other hosts */
    uint64_t reserved[5];
    struct board_wait wait[BOARD_WAITS];
    struct board_set set[BOARD_SETS];
    uint64_t spare[64];
};
_Static_assert(sizeof(struct board_rank) == 2048, "shared layout");
_Static_assert(offsetof(struct board_rank, wait) % 64 == 0, "a wait has a cache line of its own");

/* A place to count a set's steps in, never NULL. Give it back with board_set_close(). */
static inline struct board_set *board_set_open(struct board_rank *board, uint32_t id, uint32_t size)
{
    for (int i = 0; i < BOARD_SETS - 1; i++) {
        struct board_set *set = &board->set[i];
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&set->key, &none, id + 1))
            continue;
        atomic_store_explicit(&set->entered, 0, memory_order_relaxed);
        atomic_store_explicit(&set->size, size, memory_order_relaxed);
        return set;
    }
    return &board->set[BOARD_SETS - 1];
}

static inline void board_set_close(struct board_set *set)
{
    atomic_store_explicit(&set->size, 0, memory_order_relaxed);
    atomic_store_explicit(&set->key, 0, memory_order_release);
}

/* This rank enters the set's next step; steps count from 1. */
static inline void board_set_enter(struct board_set *set, uint64_t step)
{
    atomic_store_explicit(&set->entered, step, memory_order_relaxed);
}

#endif
