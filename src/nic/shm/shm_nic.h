/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the shared-memory NIC works, and the structs its files share.
 *
 * All members map one common memory (from the task manager). In it each rank has a door: a table of
 * its segments, which peers read to find and check them, and a bell, by which a peer wakes it. A
 * segment is a sealed memfd; a peer that uses it for the first time gets the descriptor from the
 * task manager, maps it and keeps that as a view. From then on a push is: find the view, see that
 * its generation still stands in the owner's table, copy, look whether the owner sleeps.
 *
 * Detaching changes the generation, so later operations are refused. One that is under way then
 * writes into the initiator's own mapping of memory that nobody reads any more, which harms no one.
 * Memory that the program brought is different: it goes on being used. So whoever copies into it
 * announces that in a hazard of its own door first, and detaching waits until nobody does, or
 * nobody can: hazard.c.
 *
 *   door.c        the common memory and the doors
 *   hazard.c      who copies attached memory; shutting out who is stopped meanwhile
 *   segment.c     own segments: add, remove
 *   view.c        peers' segments: look up, map, check
 *   view_table.c  keeping and retiring them
 *   copy.c        push, pull, store
 *   atomic.c      atomics
 *   queue_*.c     append and receive
 *   wait.c        spin, yield, sleep; habit.h says which
 *   inside.c      for a NIC that has this one inside
 *   service.c     what only the owner can do: atomics on attached memory, and copies where the
 *                 kernel forbids cross-memory attach
 */
#pragma once

#include "base/assert.h"
#include "base/fence.h"
#include "base/guard.h"
#include "base/likely.h"
#include "nic/shm/habit.h"
#include "nic/shm/shm.h"

#include <pthread.h>
#include <stdalign.h>

#define CACHE_LINE 64

/* ---- Common memory -------------------------------------------------------------------------- */

/* One segment of a door's owner, who alone writes it; peers read it like a seqlock: state, the
 * rest, state again. state = generation << 2 | kind (enum nic_segment_kind; 0: detached). A
 * generation is never used twice by one owner. The line of a detached segment keeps its SID, so
 * that late users are told "detached" and not "unknown". */
struct shm_entry {
    alignas(CACHE_LINE) _Atomic uint64_t state;
    _Atomic uint32_t sid;
    _Atomic uint32_t rights;
    _Atomic uint64_t length;
    _Atomic uint64_t address;    /* in the owner's memory */
    _Atomic uint32_t was_seen;   /* a peer has looked it up, so it may be in use */
    _Atomic uint32_t slot_count; /* of a queue */
    _Atomic uint32_t slot_length;
};
_Static_assert(sizeof(struct shm_entry) == CACHE_LINE, "one entry, one cache line");

#define SHM_KIND(state) ((enum nic_segment_kind)((state)&3))

/* Nonzero while this process copies into or out of attached memory: hazard_key() of it. */
#define SHM_HAZARDS 16

struct shm_door {
    /* Written by the owner when it goes to sleep, read by peers after every write to it. */
    alignas(CACHE_LINE) _Atomic uint32_t has_sleeper;
    alignas(CACHE_LINE) _Atomic uint32_t bell;    /* the futex they sleep on */
    alignas(CACHE_LINE) _Atomic uint64_t process; /* who owns it: see shm_process_token() */
    _Atomic uint64_t gate; /* where copies of the owner's attached memory go through: hazard.c */
    _Atomic uint64_t hazard[SHM_HAZARDS];
    alignas(CACHE_LINE) struct shm_entry entry[]; /* open addressing by SID */
};

struct shm_common {
    alignas(
        CACHE_LINE) _Atomic uint64_t layout; /* entries per door << 32 | version; first writes */
    alignas(CACHE_LINE) char doors[];
};

/* ---- This process --------------------------------------------------------------------------- */

/* How a queue's memory is cut, worked out from its rh_queue_shape. Senders keep their own copy:
 * what lies in the memory itself is gone once the owner destroys the queue. */
struct shm_queue_cut {
    uint32_t slot_count; /* a power of two */
    uint32_t slot_shift; /* log2 of it */
    uint32_t slot_length;
    uint32_t buffer_length;
    uint64_t buffers_at;
};

/* A peer's segment as this process sees it. Immutable once published, but for head_known. */
struct shm_view {
    int rank;
    rh_sid sid;
    uint64_t state; /* of the entry when this was made; another one there means stale */
    struct shm_entry *entry;
    struct shm_door *door;
    unsigned rights;
    enum nic_segment_kind kind;
    uint64_t length;
    char *base;                       /* directly reachable memory, or NULL */
    uint64_t address;                 /* in the owner's process, for attached memory */
    uint64_t mapped_length;           /* what to unmap; 0 if not mapped by us */
    struct shm_queue_cut cut;         /* queues */
    _Atomic uint64_t head_known;      /* queues: how far the receiver is, at least */
    _Atomic uint64_t pins;            /* how often it is in the hands of the layer above */
    _Atomic bool is_retired;          /* out of the table: takes no more pins */
    bool is_orphan;                   /* and it waits for the last pin; under view_lock */
    struct shm_view *next, *previous; /* list of all */
};

/* Open addressing by (rank, SID); replaced by a larger one when it fills. */
struct shm_view_table {
    size_t mask;
    size_t used;
    struct shm_view_table *older; /* readers may still be in it; freed at close */
    _Atomic(struct shm_view *) slot[];
};

/* A segment of this process. */
struct shm_segment {
    rh_sid sid;
    enum nic_segment_kind kind;
    void *base;
    uint64_t mapped_length;
    int fd; /* kept to give the pages back on removal; -1 for attached memory */
    struct shm_entry *entry;
    bool is_closed;   /* to peers; one of them may still be copying */
    bool is_removing; /* and somebody waits for that */
    struct shm_segment *next;
};

struct shm_service;

struct shm_nic {
    struct nic nic;
    struct shm_outside outside;
    struct shm_common *common;
    size_t common_length;
    uint32_t entry_count; /* per door, a power of two */
    uint32_t segment_max;
    struct shm_door *door; /* own */
    _Atomic(struct shm_view_table *) views;
    struct shm_view *view_list;
    struct shm_view *retired; /* out of the table; freed when no thread can be using them */
    size_t retired_count;
    pthread_mutex_t view_lock; /* making views */
    pthread_mutex_t lock;      /* own segments */
    struct shm_segment *segments;
    uint32_t segment_count;
    uint64_t generation;
    char *gates;            /* NULL: nothing was attached yet */
    uint32_t gate_number;   /* of the open one */
    bool has_membarrier;    /* else every write ends with a fence */
    struct shm_habit habit; /* spin, or give the core away */
    bool huge_pages;
    _Atomic bool cma_forbidden;
    int64_t spin_ns;
    struct shm_service *service;
};

static inline struct shm_nic *shm_nic_of(struct nic *nic)
{
    return (struct shm_nic *)nic;
}

/* ---- door.c --------------------------------------------------------------------------------- */

int shm_common_open(struct shm_nic *shm);
void shm_common_close(struct shm_nic *shm);
struct shm_door *shm_door_of(const struct shm_nic *shm, int rank);
/* Tells processes apart, so that ranks which are threads of one use each other's pointers. */
uint64_t shm_process_token(void);

/* The entry of a SID in a door, or NULL if the SID was never used there. */
struct shm_entry *shm_entry_find(const struct shm_nic *shm, struct shm_door *door, rh_sid sid);
/* The entry to use for a new segment, or NULL if the table is full. Owner only, under its lock. */
struct shm_entry *shm_entry_place(const struct shm_nic *shm, struct shm_door *door, rh_sid sid);

/* ---- hazard.c -------------------------------------------------------------------------------- */

/* Announce a copy of attached memory of (rank, sid); returns the hazard to clear afterwards. */
_Atomic uint64_t *shm_hazard_set(struct shm_nic *shm, int rank, rh_sid sid);
static inline void shm_hazard_clear(_Atomic uint64_t *hazard)
{
    atomic_store_explicit(hazard, 0, memory_order_release); /* pairs with shm_hazard_wait */
}
/* Wait until nobody copies memory of our segment sid any more, or nobody that has begun to can.
 * RH_ETIMEOUT: a peer still may. */
int shm_hazard_wait(struct shm_nic *shm, rh_sid sid, int64_t timeout_ns);

/* Where copies of our attached memory go through; once, under the lock. */
int shm_gate_open(struct shm_nic *shm);
void shm_gate_close(struct shm_nic *shm);
/* The open gate of a peer. To be noted before the look at the generation: who has noted one that is
 * open later than a change of generation finds that change. */
static inline uint64_t shm_gate_of(const struct shm_door *door)
{
    return atomic_load_explicit(&door->gate, memory_order_acquire); /* pairs with gate_make() */
}

/* ---- wait.c --------------------------------------------------------------------------------- */

/* The slow half of shm_after_write(): wake the owner of a door. */
void shm_ring(struct shm_nic *shm, struct shm_door *door);

/* To be called after every write into a peer's memory. A sleeper first announces itself, then makes
 * every core drain its stores (membarrier), then looks once more: so either it sees our write or we
 * see it here, and no fence is needed on this side. Model: tests/model/sleep.pml. */
static inline void shm_after_write(struct shm_nic *shm, struct shm_door *door)
{
    if (unlikely(!shm->has_membarrier))
        full_fence();
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(atomic_load_explicit(&door->has_sleeper, memory_order_relaxed) != 0))
        shm_ring(shm, door);
}

int shm_wait(struct nic *nic, const struct nic_wait *wait);
int shm_wake(struct nic *nic, int rank);

/* For waits that are not on the door: make our announcement seen by all, then look, then sleep
 * while the word is still as it was seen. The other side changes the word, then wakes. */
void shm_publish_to_all(struct shm_nic *shm);
void shm_sleep(_Atomic uint32_t *word, uint32_t seen, int64_t timeout_ns);
void shm_word_wake(_Atomic uint32_t *word);
/* Between two looks: pause, or let another rank have the core. */
void shm_rest(const struct shm_nic *shm);

/* ---- segment.c ------------------------------------------------------------------------------ */

int shm_segment_add(struct nic *nic, struct nic_segment *segment);
int shm_segment_remove(struct nic *nic, rh_sid sid, int64_t timeout_ns);
void shm_segments_close(struct shm_nic *shm);
/* Whether an address lies in a segment of this process. */
bool shm_segment_has(struct shm_nic *shm, const void *address);

/* ---- view_table.c --------------------------------------------------------------------------- */

int shm_views_open(struct shm_nic *shm);
void shm_views_close(struct shm_nic *shm);
struct shm_view *shm_table_get(struct shm_nic *shm, int rank, rh_sid sid);
/* Put a new view in, retire the one it replaces. Under view_lock. RH_ENOSPACE. */
int shm_table_put(struct shm_nic *shm, struct shm_view *view);
/* Keep a view beyond the guard that we are in. False: it has been retired meanwhile, look again. */
bool shm_view_pin(struct shm_nic *shm, struct shm_view *view);
/* Inside a guard, or the view might go between the last pin and the look at what is left of it. */
void shm_view_unpin(struct shm_nic *shm, struct shm_view *view);

/* ---- view.c --------------------------------------------------------------------------------- */

/* Finding and using a view happens inside a guard (base/guard.h): it is not freed meanwhile. */

/* The slow half of shm_view_find(): make the view, or say why there is none. */
struct shm_view *shm_view_make(struct shm_nic *shm, int rank, rh_sid sid, bool counted,
                               int *result);

/* Refusals, each with its counter and text. */
int shm_refuse_bounds(struct shm_nic *shm, const struct shm_view *view, uint64_t offset,
                      uint64_t length);
int shm_refuse_rights(struct shm_nic *shm, const struct shm_view *view, unsigned rights);
int shm_refuse_stale(struct shm_nic *shm, int rank, rh_sid sid);
int shm_refuse_queue(const struct shm_view *view);
int shm_refuse_alignment(struct rh_remote remote);
/* The refusal for a look-up that ended with RH_ENOSEG or RH_ESTALE; other codes keep their text. */
int shm_explain(struct shm_nic *shm, int rank, rh_sid sid, bool counted, int result);
/* The kernel says that the peer's process is gone. Waits, shortly, until the roster says so too:
 * else a program that acknowledges the death now would be told of the same one again. */
int shm_refuse_vanished(struct shm_nic *shm, int rank, const char *during);

static inline size_t shm_view_hash(int rank, rh_sid sid)
{
    return (size_t)(((uint64_t)(uint32_t)rank << 32 | sid) * 0x9E3779B97F4A7C15ULL >> 32);
}

/* True if the owner still has the segment that this view is of. */
static inline bool shm_view_is_current(const struct shm_view *view)
{
    return atomic_load_explicit(&view->entry->state, memory_order_acquire) == view->state;
}

static inline struct shm_view *shm_view_find(struct shm_nic *shm, int rank, rh_sid sid, int *result)
{
    struct shm_view_table *table = atomic_load_explicit(&shm->views, memory_order_acquire);
    size_t at = shm_view_hash(rank, sid) & table->mask;
    struct shm_view *view = atomic_load_explicit(&table->slot[at], memory_order_acquire);
    if (likely(view && view->rank == rank && view->sid == sid && shm_view_is_current(view) &&
               roster_state(shm->nic.job->roster, rank) < RH_PEER_LEFT))
        return view;
    return shm_view_make(shm, rank, sid, true, result);
}

/* Find remote memory and check the access; NULL with *result set if it is refused. */
static inline struct shm_view *shm_view_check(struct shm_nic *shm, struct rh_remote remote,
                                              uint64_t length, unsigned rights, int *result)
{
    struct shm_view *view = shm_view_find(shm, remote.rank, remote.sid, result);
    if (unlikely(!view))
        return NULL;
    if (unlikely((view->rights & rights) != rights)) {
        *result = shm_refuse_rights(shm, view, rights);
        return NULL;
    }
    if (unlikely(remote.offset > view->length || length > view->length - remote.offset)) {
        *result = shm_refuse_bounds(shm, view, remote.offset, length);
        return NULL;
    }
    return view;
}

int shm_view(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
             struct nic_view *view);
void shm_view_release(struct nic *nic, const struct nic_view *view);

/* ---- copy.c --------------------------------------------------------------------------------- */

int shm_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
             const struct nic_extra *extra);
int shm_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
             const struct nic_extra *extra);
int shm_store(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
              unsigned width);

/* ---- atomic.c ------------------------------------------------------------------------------- */

int shm_atomic(struct nic *nic, struct rh_remote target, const struct nic_atomic_operands *operands,
               uint64_t *old);
/* The same on a view that has been checked. */
int shm_atomic_on(struct shm_nic *shm, const struct shm_view *view, uint64_t offset,
                  const struct nic_atomic_operands *operands, uint64_t *old);

/* ---- queue_send.c, queue_receive.c ---------------------------------------------------------- */

struct shm_queue;

/* Bytes of memory a queue needs, or 0 if the shape is beyond all reason. */
uint64_t shm_queue_length(struct rh_queue_shape shape);
struct shm_queue_cut shm_queue_cut(struct rh_queue_shape shape);
void shm_queue_format(void *memory, struct rh_queue_shape shape);
bool shm_queue_has_message(struct shm_nic *shm, void *queue);
int shm_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
               int64_t timeout_ns);
int shm_queue_peek(struct nic *nic, void *queue, struct rh_arrival *arrival);

void shm_queue_release(struct nic *nic, void *queue);

/* ---- service.c ------------------------------------------------------------------------------ */

enum shm_service_operation { SHM_SERVICE_PUSH = 1, SHM_SERVICE_PULL, SHM_SERVICE_ATOMIC };

/* Have this process serve its peers' requests from now on; called when it attaches memory. Does
 * nothing in a job of one. */
int shm_service_start(struct shm_nic *shm);
void shm_service_stop(struct shm_nic *shm);

/* Do something to attached memory by asking its owner's service thread. buffer is the source of a
 * push or the target of a pull; operands and old are for atomics. */
struct shm_service_call {
    enum shm_service_operation operation;
    const struct shm_view *view;
    uint64_t offset;
    uint64_t length;
    void *buffer;
    struct nic_atomic_operands operands;
    uint64_t old;
};
int shm_service_ask(struct shm_nic *shm, struct shm_service_call *call);
