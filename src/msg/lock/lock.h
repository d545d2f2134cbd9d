/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How locks work, and what the files of src/msg/lock share.
 *
 * Each lock has a representative (number mod size), in whose memory stands the last requester. Who
 * wants the lock swaps itself in there (request). If it was free, that is all; else it tells the
 * rank it found there who comes next (reserve), and waits on memory of its own until that one hands
 * over (allow). So three messages at most, and first come, first served.
 *
 * A rank has one qnode per lock. Every word of a lock carries the number of the acquisition (its
 * turn) in its upper part, so that nothing that comes late is taken for something current. While a
 * rank is between two steps that others cannot see as one, its qnode says so (REQUESTING, HANDING):
 * such a rank is about to move on without waiting for anybody.
 *
 * What can go wrong is repaired by one procedure, lock_repair(). Whoever finds the queue broken
 * (its neighbour is gone, or has given up waiting) becomes the only repairer by a compare-and-swap
 * in the representative's memory, puts a mark in the place of the last requester, so that the old
 * queue is closed and newcomers queue up behind the mark, waits until no qnode is between two
 * steps, reads all qnodes, and joins what is left to one queue without the gone. A holder that is
 * gone has its successor told so. A repairer that dies leaves a mark whose owner is gone: that,
 * too, is a broken queue.
 *
 *   lock.c    the public calls           wait.c    waiting for the turn, handing it over
 *   memory.c  peers' qnodes and entries  repair.c  taking stock and mending
 *   plan.c    the new order of a queue
 *
 * Model: tests/model/lock.pml.
 */
#pragma once

#include "msg/msg.h"

/* ---- Words ---------------------------------------------------------------------------------- */

/* Every word is turn << LOCK_TURN_SHIFT | low part. Turns are compared for equality only: they have
 * 44 bits, and come round after a week of locking and nothing else. */
#define LOCK_TURN_SHIFT 20
#define LOCK_TURN_ONE   (1ULL << LOCK_TURN_SHIFT)
#define LOCK_LOW_MASK   (LOCK_TURN_ONE - 1)
#define LOCK_RANKS_MAX  (LOCK_LOW_MASK - 1)

/* Names, in `last`, `next` and `pred`: the low part is rank + 1. With 0 there it is not a rank: in
 * `next` nobody yet, in `last` one of these. 0 as a whole means that the representative has closed.
 * */
#define LOCK_FREE       LOCK_TURN_ONE       /* nobody has it */
#define LOCK_FREE_DIED  (2 * LOCK_TURN_ONE) /* nobody has it, and the last holder died */
#define LOCK_MARK_FIRST (3 * LOCK_TURN_ONE) /* this and above: the mark of repair number n */

/* What the owner of a qnode is doing: low part of `state`. */
enum lock_phase { LOCK_IDLE, LOCK_REQUESTING, LOCK_WAITING, LOCK_HELD, LOCK_HANDING };

/* Low part of `grant`, which counts while the phase is LOCK_WAITING. */
enum lock_grant {
    LOCK_WAIT,
    LOCK_GRANTED,
    LOCK_GRANTED_DIED, /* by a repairer: the last holder is gone */
    LOCK_DEPARTED,     /* the owner has given up, but still stands in the queue */
    LOCK_OUT           /* taken out of the queue after that */
};

static inline uint64_t lock_turn(uint64_t word)
{
    return word & ~LOCK_LOW_MASK;
}

static inline unsigned lock_low(uint64_t word)
{
    return (unsigned)(word & LOCK_LOW_MASK);
}

static inline int lock_name_rank(uint64_t name)
{
    return (int)lock_low(name) - 1;
}

static inline bool lock_is_mark(uint64_t name)
{
    return lock_low(name) == 0 && name >= LOCK_MARK_FIRST;
}

/* ---- Shared memory -------------------------------------------------------------------------- */

/* One lock, in its representative's memory. */
struct lock_entry {
    alignas(64) uint64_t last; /* name of the last requester */
    uint64_t repairer; /* number of the last repair << 20 | rank + 1 of who is at it, or 0 */
};

/* One rank and lock, in the rank's memory. A line for each who writes. */
struct lock_qnode {
    alignas(64) uint64_t grant; /* by the predecessor or a repairer */
    alignas(64) uint64_t next;  /* by the successor or a repairer; left behind as nobody */
    alignas(64) uint64_t state; /* by the owner */
    uint64_t pred;              /* by the owner, later by a repairer */
};
_Static_assert(sizeof(struct lock_qnode) == 192, "shared layout");

struct lock_header {
    alignas(64) uint64_t is_ready;
    uint64_t lock_count;
};

/* In the segment MSG_SID_LOCKS of each rank: header, then entries of the locks that it represents
 * (lock / size), then its qnodes of all locks. */

/* ---- This process --------------------------------------------------------------------------- */

/* What the fast path needs of one lock. */
struct lock_mine {
    uint64_t *last;                     /* NULL: not looked up yet, or not reachable directly */
    const _Atomic uint32_t *home_state; /* of the representative, in the roster */
    int home;                           /* rank of the representative */
    bool is_met;                        /* the representative has been heard of */
    /* A step of ours that timed out and may have happened: a request (the qnode is that of a waiter
     * who has given up, until it is known), or the handing over to `offered` (the qnode is
     * HANDING). It is continued by the next call. */
    struct nic_ticket ticket;
    bool is_try; /* a request by rh_lock_try(), for a lock in this state: */
    uint64_t expected;
    uint64_t offered;
};

struct lock_peer {
    _Atomic(struct lock_qnode *) qnodes; /* where reachable directly */
    _Atomic bool is_known;               /* whether that is so has been found out */
};

struct locks {
    struct rh_msg *msg;
    struct rh_job *job;
    uint64_t own_low; /* rank + 1 */
    struct lock_qnode *qnodes;
    struct lock_mine *mine;
    struct lock_peer *peers;
    uint64_t entries_offset, qnodes_offset, length;
    uint32_t count;
    int rank, size;
    char *base;
};

/* ---- memory.c ------------------------------------------------------------------------------- */

struct rh_remote lock_entry_at(const struct locks *locks, uint32_t lock, size_t field);
struct rh_remote lock_qnode_at(const struct locks *locks, int rank, uint32_t lock, size_t field);

/* Make sure that the representative is there, and find out how it is reached. RH_EDEAD,
 * RH_ETIMEOUT, RH_EINVALID: it has another RHINET_LOCKS. */
int lock_home_meet(struct locks *locks, uint32_t lock, int64_t deadline_ns);

/* RH_EDEAD with text if the representative is gone, else 0. */
int lock_home_check(const struct locks *locks, uint32_t lock);

/* A peer's qnode where it is reachable directly, else NULL. */
struct lock_qnode *lock_qnode_find(struct locks *locks, int rank, uint32_t lock);
static inline struct lock_qnode *lock_qnode_of(struct locks *locks, int rank, uint32_t lock)
{
    /* acquire: pairs with the release in lock_qnode_find() */
    struct lock_qnode *qnodes = atomic_load_explicit(&locks->peers[rank].qnodes,
                                                     memory_order_acquire);
    return likely(qnodes != NULL) ? qnodes + lock : lock_qnode_find(locks, rank, lock);
}
/* After something unexpected: ask again how peers are reached. */
void lock_peers_forget(struct locks *locks);

/* Read a peer's whole qnode. Errors: RH_EDEAD, RH_ESTALE, RH_ENOSEG. */
int lock_qnode_read(struct locks *locks, int rank, uint32_t lock, struct lock_qnode *qnode);

/* An atomic operation on a peer's word, until the deadline; is carried out once. RH_ETIMEOUT with
 * the ticket open: perhaps, and it must be gone on with. */
struct lock_step {
    struct nic_ticket *ticket;
    int64_t deadline_ns; /* 0: the default time-out from now */
};
int lock_swap_if(struct locks *locks, struct rh_remote word, uint64_t expected, uint64_t desired,
                 const struct lock_step *step, uint64_t *old);
/* The same where nobody goes on with what the deadline left in doubt. */
int lock_swap_if_once(struct locks *locks, struct rh_remote word, uint64_t expected,
                      uint64_t desired, uint64_t *old);

/* The representative's words. */
int lock_last_swap(struct locks *locks, uint32_t lock, uint64_t name, const struct lock_step *step,
                   uint64_t *old);
int lock_last_swap_if(struct locks *locks, uint32_t lock, uint64_t expected, uint64_t desired,
                      const struct lock_step *step, uint64_t *old);

/* Wait a little, at most until the word differs from value. */
void lock_nap(struct locks *locks, const uint64_t *word, uint64_t value, int64_t nap_ns);

/* ---- wait.c --------------------------------------------------------------------------------- */

/* The name `before` was found in the place of the last requester: queue up behind it and wait. */
int lock_wait_behind(struct locks *locks, uint32_t lock, uint64_t before, int64_t timeout_ns);
/* Wait on, in a queue where this rank stands already. */
int lock_wait_on(struct locks *locks, uint32_t lock, int64_t timeout_ns);
/* Give a held lock to whoever comes next. */
int lock_hand_over(struct locks *locks, uint32_t lock);
/* True if whoever stands at `name`, or before it in the queue, is gone or lost. */
bool lock_is_broken(struct locks *locks, uint32_t lock, uint64_t name);

/* ---- repair.c, plan.c ----------------------------------------------------------------------- */

/* Make the queue whole again. RH_EAGAIN: another rank is at it. Other errors: RH_EDEAD (the
 * representative), RH_ETIMEOUT (a rank stays between two steps; it is probably stopped). */
int lock_repair(struct locks *locks, uint32_t lock, int64_t deadline_ns);

/* What a repairer knows of one rank. */
struct lock_seat {
    struct lock_qnode qnode;
    bool is_gone;    /* its memory cannot be reached */
    bool is_new;     /* stands behind the mark */
    bool is_planned; /* has its place in the new order */
};

/* The new order: ranks of the old queue, first to last, and who is first behind the mark. */
struct lock_plan {
    struct lock_seat *seats; /* one per rank */
    int *order;
    int order_count;
    bool has_holder; /* the first in the order holds the lock or has been granted it */
    int newcomer;    /* or -1 */
};

/* Fill the plan from its seats; nothing is written anywhere. */
void lock_plan_make(struct lock_plan *plan, int size, uint64_t mark);

static inline uint64_t lock_seat_name(const struct lock_plan *plan, int rank)
{
    return lock_turn(plan->seats[rank].qnode.state) | (uint64_t)(rank + 1);
}

static inline uint64_t lock_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* pairs with every write to qnodes */
}

static inline void lock_put(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE); /* pairs with lock_load and remote reads */
}

/* The name of this rank's turn at a lock: the one under way, or the last one. */
static inline uint64_t lock_own_name(const struct locks *locks, uint32_t lock)
{
    /* relaxed: written by this process only */
    uint64_t state = __atomic_load_n(&locks->qnodes[lock].state, __ATOMIC_RELAXED);
    return lock_turn(state) | locks->own_low;
}

static inline uint64_t lock_own_turn(const struct locks *locks, uint32_t lock)
{
    return lock_turn(lock_own_name(locks, lock));
}
