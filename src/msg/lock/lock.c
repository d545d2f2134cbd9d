/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks: the public calls. A free lock is taken by one swap on the representative's memory and
 * given back by one compare-and-swap; all else is in the files that lock.h names.
 */
#include "msg/lock/lock.h"

#include "base/clock.h"
#include "base/settings.h"

#include <stdlib.h>
#include <sys/single_threaded.h>

__attribute__((noinline)) static int refuse_number(const struct locks *locks, uint32_t lock)
{
    return error_fail(RH_EINVALID, "there is no lock %u; they go from 0 to %u (RHINET_LOCKS=%u)",
                      lock, locks->count - 1, locks->count);
}

__attribute__((noinline)) static int refuse_use(uint32_t lock, const char *why)
{
    return error_fail(RH_EINVALID, "lock %u %s", lock, why);
}

/* ---- Open and close ------------------------------------------------------------------------- */

static void lay_out(struct locks *locks)
{
    uint64_t entry_count = (locks->count + (unsigned)locks->size - 1) / (unsigned)locks->size;
    locks->entries_offset = sizeof(struct lock_header);
    locks->qnodes_offset = locks->entries_offset + entry_count * sizeof(struct lock_entry);
    locks->qnodes_offset = (locks->qnodes_offset + 127) & ~127ULL;
    locks->length = locks->qnodes_offset + locks->count * sizeof(struct lock_qnode);
}

/* Turns begin anew with every mailbox; the clock keeps them from being those of an earlier one. */
static uint64_t first_turn(const struct locks *locks)
{
    return ((uint64_t)(rh_clock_ns(locks->job) / NS_PER_MS) + 16) << LOCK_TURN_SHIFT;
}

static void fill(struct locks *locks)
{
    uint64_t turn = first_turn(locks);
    struct lock_entry *entries = (void *)(locks->base + locks->entries_offset);
    for (uint32_t lock = 0; lock < locks->count; lock++) {
        struct lock_mine *mine = &locks->mine[lock];
        mine->home = (int)(lock % (unsigned)locks->size);
        mine->home_state = rma_peer_state(locks->job, mine->home);
        lock_put(&locks->qnodes[lock].state, turn | LOCK_IDLE);
        if (mine->home == locks->rank)
            lock_put(&entries[lock / (unsigned)locks->size].last, LOCK_FREE);
    }
    struct lock_header *header = (void *)locks->base;
    lock_put(&header->lock_count, locks->count);
    lock_put(&header->is_ready, 1); /* last: peers look for it, see lock_home_meet() */
}

int locks_open(struct rh_msg *msg)
{
    struct locks *locks = calloc(1, sizeof(*locks));
    if (!locks)
        return error_no_memory("locks");
    locks->msg = msg;
    locks->job = msg->job;
    locks->rank = rh_rank(msg->job);
    locks->own_low = (uint64_t)locks->rank + 1;
    locks->size = rh_size(msg->job);
    locks->count = (uint32_t)setting_number(rma_settings(msg->job), SETTING_LOCKS);
    lay_out(locks);
    locks->mine = calloc(locks->count, sizeof(*locks->mine));
    locks->peers = calloc((size_t)locks->size, sizeof(*locks->peers));
    int result = 0;
    if (!locks->mine || !locks->peers)
        result = error_no_memory("%u locks", locks->count);
    else
        result = rh_segment_alloc(msg->job, MSG_SID_LOCKS, locks->length, (void **)&locks->base);
    if (result < 0) {
        free(locks->mine);
        free(locks->peers);
        free(locks);
        return result;
    }
    locks->qnodes = (void *)(locks->base + locks->qnodes_offset);
    fill(locks);
    msg->locks = locks;
    return 0;
}

void locks_close(struct rh_msg *msg)
{
    struct locks *locks = msg->locks;
    /* Who reaches this memory directly goes on doing so: 0 tells it that nobody looks after it. */
    struct lock_entry *entries = (void *)(locks->base + locks->entries_offset);
    for (uint32_t lock = 0; lock < locks->count; lock++) {
        if (locks->mine[lock].home == locks->rank)
            __atomic_exchange_n(&entries[lock / (unsigned)locks->size].last, 0, __ATOMIC_SEQ_CST);
    }
    rh_segment_detach(locks->job, MSG_SID_LOCKS);
    free(locks->mine);
    free(locks->peers);
    free(locks);
    msg->locks = NULL;
}

/* ---- Lock ----------------------------------------------------------------------------------- */

/* Take the qnode for a new turn, which goes to *turn. False: it is in use, perhaps by another
 * thread. */
static inline bool begin_turn(struct lock_qnode *qnode, uint64_t *turn)
{
    uint64_t state = __atomic_load_n(&qnode->state, __ATOMIC_RELAXED); /* written by us only */
    if (unlikely(lock_low(state) != LOCK_IDLE))
        return false;
    *turn = state + LOCK_TURN_ONE;
    if (unlikely(!__libc_single_threaded))
        return __atomic_compare_exchange_n(&qnode->state, &state, *turn | LOCK_REQUESTING, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    lock_put(&qnode->state, *turn | LOCK_REQUESTING);
    return true;
}

static inline void end_turn(struct lock_qnode *qnode)
{
    ASSERT(lock_low(lock_load(&qnode->state)) != LOCK_IDLE);
    uint64_t turn = lock_turn(lock_load(&qnode->state));
    lock_put(&qnode->next,
             turn); /* nobody: one who comes after a waiter that gave up may stand here */
    lock_put(&qnode->state, turn | LOCK_IDLE);
}

static inline bool home_is_gone(const struct lock_mine *mine)
{
    /* acquire: pairs with the task manager's release */
    return atomic_load_explicit(mine->home_state, memory_order_acquire) >= RH_PEER_LEFT;
}

/* What the swap found, unless it was a free lock in good order. */
static int judge(struct locks *locks, uint32_t lock, uint64_t before, int64_t timeout_ns)
{
    struct lock_mine *mine = &locks->mine[lock];
    ASSERT(lock_low(lock_load(&locks->qnodes[lock].state)) == LOCK_REQUESTING);
    struct lock_qnode *qnode = &locks->qnodes[lock];
    int result = lock_home_check(locks, lock);
    if (result == 0 && before == 0) {
        uint64_t old;
        struct nic_ticket ticket = {0};
        struct lock_step step = {.ticket = &ticket};
        lock_last_swap_if(locks, lock, lock_own_name(locks, lock), 0, &step, &old);
        result = error_set(RH_EDEAD, mine->home,
                           "rank %d, which looks after lock %u, has closed its mailbox", mine->home,
                           lock);
    }
    if (result < 0) {
        end_turn(qnode);
        return result;
    }
    if (before != LOCK_FREE && before != LOCK_FREE_DIED)
        return lock_wait_behind(locks, lock, before, timeout_ns);
    lock_put(&qnode->state, lock_own_turn(locks, lock) | LOCK_HELD);
    return before == LOCK_FREE ? 0 : RH_OWNER_DIED;
}

/* A request failed. One that may have happened leaves a waiter behind that has given up: should it
 * stand in the queue now or later, others find it so and repair the queue. */
static int request_failed(struct locks *locks, uint32_t lock, int result)
{
    ASSERT(result < 0);
    struct lock_qnode *qnode = &locks->qnodes[lock];
    uint64_t turn = lock_own_turn(locks, lock);
    if (result != RH_ETIMEOUT || !locks->mine[lock].ticket.is_open) {
        end_turn(qnode);
        return result;
    }
    lock_put(&qnode->grant, turn | LOCK_DEPARTED);
    lock_put(&qnode->pred, 0); /* not known; nobody's name */
    lock_put(&qnode->state, turn | LOCK_WAITING);
    return result;
}

/* Where the representative's memory is not reachable directly, or not known yet. */
static int request_slow(struct locks *locks, uint32_t lock, int64_t timeout_ns)
{
    struct lock_mine *mine = &locks->mine[lock];
    struct lock_step step = {.ticket = &mine->ticket,
                             .deadline_ns = rma_deadline_ns(locks->job, timeout_ns)};
    uint64_t before, turn;
    int met = mine->is_met ? 0 : lock_home_meet(locks, lock, step.deadline_ns);
    if (met < 0)
        return met;
    if (!begin_turn(&locks->qnodes[lock], &turn))
        return refuse_use(lock, "is already in use by this process");
    mine->is_try = false;
    int result = lock_last_swap(locks, lock, turn | locks->own_low, &step, &before);
    if (result < 0)
        return request_failed(locks, lock, result);
    return judge(locks, lock, before, rma_left_ns(locks->job, step.deadline_ns));
}

/* An earlier call gave up a request that may have happened: find out, and go on from there. */
static int request_again(struct locks *locks, uint32_t lock, int64_t timeout_ns)
{
    struct lock_mine *mine = &locks->mine[lock];
    struct lock_qnode *qnode = &locks->qnodes[lock];
    struct lock_step step = {.ticket = &mine->ticket,
                             .deadline_ns = rma_deadline_ns(locks->job, timeout_ns)};
    uint64_t before, turn = lock_own_turn(locks, lock), expected = turn | LOCK_DEPARTED;
    uint64_t name = turn | locks->own_low;
    int result = mine->is_try ? lock_last_swap_if(locks, lock, mine->expected, name, &step, &before)
                              : lock_last_swap(locks, lock, name, &step, &before);
    if (result == RH_ETIMEOUT && mine->ticket.is_open)
        return result;
    int64_t left_ns = rma_left_ns(locks->job, step.deadline_ns);
    /* Between two steps from here: a repairer waits, or has taken us out before. */
    lock_put(&qnode->state, turn | LOCK_REQUESTING);
    bool is_in = __atomic_compare_exchange_n(&qnode->grant, &expected, turn | LOCK_WAIT, false,
                                             __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (result == 0 && is_in && (!mine->is_try || before == mine->expected))
        return judge(locks, lock, before, left_ns);
    end_turn(qnode);
    return result < 0 ? result : request_slow(locks, lock, left_ns);
}

/* The qnode is not idle: either the program has the lock, or an earlier call gave up waiting. */
static int lock_again(struct locks *locks, uint32_t lock, int64_t timeout_ns)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    uint64_t turn = lock_turn(lock_load(&qnode->state));
    uint64_t expected = turn | LOCK_DEPARTED;
    if (lock_low(lock_load(&qnode->state)) != LOCK_WAITING)
        return refuse_use(lock, "is already held by this process");
    if (locks->mine[lock].ticket.is_open)
        return request_again(locks, lock, timeout_ns);
    if (__atomic_compare_exchange_n(&qnode->grant, &expected, turn | LOCK_WAIT, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return lock_wait_on(locks, lock, timeout_ns); /* our place is still ours */
    if (lock_low(expected) != LOCK_OUT)
        return refuse_use(lock, "is already waited for by this process");
    end_turn(qnode);
    return request_slow(locks, lock, timeout_ns);
}

__attribute__((noinline)) static int lock_slow(struct locks *locks, uint32_t lock,
                                               int64_t timeout_ns)
{
    timeout_ns = rma_timeout_ns(locks->job, timeout_ns);
    int result = lock_home_check(locks, lock);
    if (result < 0)
        return result;
    if (lock_low(lock_load(&locks->qnodes[lock].state)) != LOCK_IDLE)
        return lock_again(locks, lock, timeout_ns);
    return request_slow(locks, lock, timeout_ns);
}

/* noinline: what these need on the stack is no business of the fast path. */
__attribute__((noinline)) static int judge_slow(struct locks *locks, uint32_t lock, uint64_t before,
                                                int64_t timeout_ns)
{
    timeout_ns = rma_timeout_ns(locks->job, timeout_ns);
    if (likely(lock_low(before) != 0 && !home_is_gone(&locks->mine[lock])))
        return lock_wait_behind(locks, lock, before, timeout_ns); /* they wait to know of us */
    return judge(locks, lock, before, timeout_ns);
}

/* A timeout of 0: as rh_lock_try(), but the refusal is a timeout. */
__attribute__((noinline)) static int lock_at_once(struct rh_msg *msg, uint32_t lock)
{
    int result = rh_lock_try(msg, lock);
    return result == RH_EAGAIN ? error_fail(RH_ETIMEOUT, "lock %u is held", lock) : result;
}

int rh_lock(struct rh_msg *msg, uint32_t lock, int64_t timeout_ns)
{
    struct locks *locks = msg->locks;
    if (unlikely(lock >= locks->count))
        return refuse_number(locks, lock);
    if (unlikely(timeout_ns == 0))
        return lock_at_once(msg, lock);
    struct lock_mine *mine = &locks->mine[lock];
    struct lock_qnode *qnode = &locks->qnodes[lock];
    uint64_t turn;
    if (unlikely(!mine->last || !begin_turn(qnode, &turn)))
        return lock_slow(locks, lock, timeout_ns);
    uint64_t before = __atomic_exchange_n(mine->last, turn | locks->own_low, __ATOMIC_SEQ_CST);
    if (unlikely(before != LOCK_FREE || home_is_gone(mine)))
        return judge_slow(locks, lock, before, timeout_ns);
    lock_put(&qnode->state, turn | LOCK_HELD);
    return 0;
}

/* ---- Try ------------------------------------------------------------------------------------ */

static int try_once(struct locks *locks, uint32_t lock, uint64_t *found)
{
    struct lock_mine *mine = &locks->mine[lock];
    struct lock_qnode *qnode = &locks->qnodes[lock];
    struct lock_step step = {.ticket = &mine->ticket};
    uint64_t turn, old = LOCK_FREE, expected;
    if (!begin_turn(qnode, &turn))
        return refuse_use(lock, "is already in use by this process");
    int result;
    mine->is_try = true;
    do {
        mine->expected = expected = old;
        result = lock_last_swap_if(locks, lock, expected, turn | locks->own_low, &step, &old);
    } while (result == 0 && old != expected && (old == LOCK_FREE || old == LOCK_FREE_DIED));
    if (result == 0 && old == 0)
        result = error_set(RH_EDEAD, mine->home,
                           "rank %d, which looks after lock %u, has closed its mailbox", mine->home,
                           lock);
    if (result == 0)
        result = lock_home_check(locks, lock);
    if (result == RH_ETIMEOUT)
        return request_failed(locks, lock, result);
    if (result < 0 || old != expected) {
        end_turn(qnode);
        *found = old;
        return result < 0 ? result : RH_EAGAIN;
    }
    lock_put(&qnode->state, turn | LOCK_HELD);
    return old == LOCK_FREE ? 0 : RH_OWNER_DIED;
}

/* An earlier call of this process gave up waiting. Its place in the queue can be had back only when
 * nobody is before it, and then the queue is broken. */
static int leave_queue(struct locks *locks, uint32_t lock, int64_t deadline_ns)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    uint64_t grant = lock_load(&qnode->grant);
    if (lock_low(lock_load(&qnode->state)) != LOCK_WAITING)
        return refuse_use(lock, "is already held by this process");
    locks->mine[lock].ticket = (struct nic_ticket){0}; /* a repair finds out as well */
    if (lock_low(grant) == LOCK_DEPARTED && lock_is_broken(locks, lock, lock_load(&qnode->pred)))
        lock_repair(locks, lock, deadline_ns);
    grant = lock_load(&qnode->grant);
    if (lock_low(grant) != LOCK_OUT)
        return lock_low(grant) == LOCK_DEPARTED
                   ? RH_EAGAIN
                   : refuse_use(lock, "is already waited for by this process");
    end_turn(qnode);
    return 0;
}

int rh_lock_try(struct rh_msg *msg, uint32_t lock)
{
    struct locks *locks = msg->locks;
    uint64_t found = 0;
    if (unlikely(lock >= locks->count))
        return refuse_number(locks, lock);
    int64_t deadline_ns = rma_deadline_ns(locks->job, RH_TIMEOUT_DEFAULT);
    int result = lock_home_check(locks, lock);
    if (result == 0)
        result = lock_home_meet(locks, lock, deadline_ns);
    if (result == 0 && lock_low(lock_load(&locks->qnodes[lock].state)) != LOCK_IDLE)
        result = leave_queue(locks, lock, deadline_ns);
    if (result == 0)
        result = try_once(locks, lock, &found);
    /* Held, but perhaps by the dead, with nobody else there to find out. */
    if (result == RH_EAGAIN && found != 0 && lock_is_broken(locks, lock, found) &&
        lock_repair(locks, lock, deadline_ns) == 0)
        result = try_once(locks, lock, &found);
    return result;
}

/* ---- Unlock --------------------------------------------------------------------------------- */

int rh_unlock(struct rh_msg *msg, uint32_t lock)
{
    struct locks *locks = msg->locks;
    if (unlikely(lock >= locks->count))
        return refuse_number(locks, lock);
    struct lock_mine *mine = &locks->mine[lock];
    struct lock_qnode *qnode = &locks->qnodes[lock];
    uint64_t state = __atomic_load_n(&qnode->state, __ATOMIC_RELAXED); /* written by us only */
    uint64_t turn = lock_turn(state);
    if (unlikely(lock_low(state) == LOCK_HANDING && mine->ticket.is_open))
        return lock_hand_over(locks, lock); /* an earlier call could not tell whether it is given */
    if (unlikely(lock_low(state) != LOCK_HELD))
        return refuse_use(lock, "is not held by this process");
    if (unlikely(!mine->last || lock_low(lock_load(&qnode->next)) != 0))
        return lock_hand_over(locks, lock);
    lock_put(&qnode->state, turn | LOCK_HANDING);
    uint64_t expected = turn | locks->own_low;
    if (unlikely(!__atomic_compare_exchange_n(mine->last, &expected, LOCK_FREE, false,
                                              __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))) {
        lock_put(&qnode->state, turn | LOCK_HELD);
        return lock_hand_over(locks, lock);
    }
    lock_put(&qnode->state, turn | LOCK_IDLE);
    return 0;
}
