/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks that are not free: waiting for one's turn, and handing it over.
 *
 * A wait is cut into slices. It ends at once when the predecessor dies; a death further ahead in
 * the queue is found by walking it after each slice.
 */
#include "base/clock.h"
#include "msg/lock/lock.h"
#include "rma/inside.h"

#define SLICE_NS      (10 * NS_PER_MS)
#define NEXT_SLICE_NS (1 * NS_PER_MS) /* nobody wakes us then */
#define NEXT_SLICES   10
#define NAP_NS        (200 * NS_PER_US) /* while another rank repairs */
#define RESERVE_TRIES 8

/* ---- Waiting -------------------------------------------------------------------------------- */

static void reserve_slow(struct locks *locks, uint32_t lock, int rank, uint64_t name)
{
    struct rh_remote next = lock_qnode_at(locks, rank, lock, offsetof(struct lock_qnode, next));
    for (unsigned i = 0; i < RESERVE_TRIES; i++) {
        int result = rh_push(locks->job, next, &name, sizeof(name));
        if (result == 0 || result == RH_EDEAD || result == RH_ESTALE || result == RH_ENOSEG)
            return;
    }
}

/* Tell the one before us that we come next. What cannot be told is left to the repair; behind the
 * mark of a repair nothing need be told, since the repairer looks at all qnodes. No wake-up: the
 * other one looks often enough, see await_next(). */
static inline void reserve(struct locks *locks, uint32_t lock, uint64_t before, uint64_t name)
{
    int rank = lock_name_rank(before);
    if (unlikely((unsigned)rank >= (unsigned)locks->size))
        return;
    struct lock_qnode *qnode = lock_qnode_of(locks, rank, lock);
    if (likely(qnode != NULL))
        lock_put(&qnode->next, name);
    else
        reserve_slow(locks, lock, rank, name);
}

int lock_wait_behind(struct locks *locks, uint32_t lock, uint64_t before, int64_t timeout_ns)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    ASSERT(lock_low(lock_load(&qnode->state)) == LOCK_REQUESTING);
    uint64_t turn = lock_own_turn(locks, lock);
    if (lock_load(&qnode->grant) != (turn | LOCK_WAIT)) /* else the last turn's end did it */
        lock_put(&qnode->grant, turn | LOCK_WAIT);
    lock_put(&qnode->pred, before);
    reserve(locks, lock, before, turn | locks->own_low);
    /* Only now: a repairer that reads this must find the reservation made. */
    lock_put(&qnode->state, turn | LOCK_WAITING);
    return lock_wait_on(locks, lock, timeout_ns);
}

/* Whether the one we stand behind is still there, and those before it. */
bool lock_is_broken(struct locks *locks, uint32_t lock, uint64_t name)
{
    for (int steps = 0; steps <= locks->size; steps++) {
        struct lock_qnode qnode;
        uint64_t repairer;
        if (lock_is_mark(name)) {
            struct rh_remote word = lock_entry_at(locks, lock,
                                                  offsetof(struct lock_entry, repairer));
            if (rh_pull(locks->job, word, &repairer, sizeof(repairer)) < 0)
                return true;
            int rank = lock_name_rank(repairer);
            return lock_turn(repairer) != name || rank < 0 || rank >= locks->size ||
                   rh_peer_state(locks->job, rank) >= RH_PEER_LEFT;
        }
        int rank = lock_name_rank(name);
        if (rank < 0 || rank >= locks->size || lock_qnode_read(locks, rank, lock, &qnode) < 0)
            return true;
        if (lock_turn(qnode.state) != lock_turn(name) || lock_low(qnode.state) == LOCK_IDLE)
            return true; /* it has gone on without us */
        if (lock_low(qnode.state) != LOCK_WAITING)
            return false;
        if (lock_low(qnode.grant) == LOCK_OUT)
            return true;
        if (lock_low(qnode.grant) == LOCK_GRANTED || lock_low(qnode.grant) == LOCK_GRANTED_DIED)
            return false;
        name = qnode.pred;
    }
    return false;
}

static int wait_slice(struct locks *locks, uint32_t lock, int64_t slice_ns,
                      struct stall_watch *stall)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    int before = lock_name_rank(lock_load(&qnode->pred));
    struct rh_wait wait = {.word = &qnode->grant,
                           .when = RH_NOT_EQUAL,
                           .value = lock_own_turn(locks, lock) | LOCK_WAIT,
                           .from = before < 0 || before >= locks->size ? locks->mine[lock].home
                                                                       : before,
                           .timeout_ns = slice_ns};
    return stall ? mail_wait_word(locks->msg, &wait, stall) : rh_wait_word(locks->job, &wait);
}

/* The wait was in vain: leave our qnode behind, marked, and let a repairer take it out. */
static int give_up(struct locks *locks, uint32_t lock, int code)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    uint64_t turn = lock_own_turn(locks, lock);
    uint64_t expected = turn | LOCK_WAIT;
    if (!__atomic_compare_exchange_n(&qnode->grant, &expected, turn | LOCK_DEPARTED, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return 0; /* granted at the last moment */
    return code;
}

static int take_grant(struct locks *locks, uint32_t lock)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    uint64_t turn = lock_own_turn(locks, lock);
    bool has_died = lock_low(lock_load(&qnode->grant)) == LOCK_GRANTED_DIED;
    lock_put(&qnode->state, turn | LOCK_HELD);
    return has_died ? RH_OWNER_DIED : 0;
}

/* Who is before us has the lock or waits for it, too: `rhinet doctor` follows the row. */
static int late(struct locks *locks, uint32_t lock)
{
    int before = lock_name_rank(lock_load(&locks->qnodes[lock].pred));
    if (before < 0 || before >= locks->size)
        return error_fail(RH_ETIMEOUT, "waited in vain for lock %u, which is being repaired", lock);
    return error_set(RH_ETIMEOUT, before,
                     "waited in vain for lock %u, which rank %d has or gets before us", lock,
                     before);
}

/* One slice without a grant: see what is wrong. 0: go on waiting. */
static int look_around(struct locks *locks, uint32_t lock, int result, int64_t deadline_ns)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    int gone = lock_home_check(locks, lock);
    if (gone < 0)
        return gone;
    if (rh_clock_ns(locks->job) >= deadline_ns)
        return late(locks, lock);
    if (result != RH_EDEAD && !lock_is_broken(locks, lock, lock_load(&qnode->pred)))
        return 0;
    int64_t patience_ns = rma_deadline_ns(locks->job, RH_TIMEOUT_DEFAULT);
    result = lock_repair(locks, lock, patience_ns < deadline_ns ? patience_ns : deadline_ns);
    if (result == RH_EDEAD)
        return result;
    if (result < 0)
        lock_nap(locks, &qnode->grant, lock_own_turn(locks, lock) | LOCK_WAIT, NAP_NS);
    return 0;
}

/* A lock that we wait for. */
struct lock_wanted {
    struct locks *locks;
    uint32_t lock;
};

static void describe(void *context, struct wait_note *note)
{
    const struct lock_wanted *wanted = context;
    int before = lock_name_rank(lock_load(&wanted->locks->qnodes[wanted->lock].pred));
    *note = (struct wait_note){
        .call = WAIT_LOCK, .peer = before, .number = wanted->lock}; /* -1: a repair is under way */
}

/* The first slice was in vain: it may take long. 0: granted. */
static int wait_longer(struct locks *locks, uint32_t lock, int result, int64_t deadline_ns,
                       struct stall_watch *stall)
{
    while (result < 0) {
        result = look_around(locks, lock, result, deadline_ns);
        if (result == 0) {
            int64_t now_ns = rh_clock_ns(locks->job);
            int64_t slice_ns = deadline_slice_ns(deadline_ns, now_ns, SLICE_NS);
            stall_watch_keep(stall, now_ns);
            result = wait_slice(locks, lock, slice_ns, stall);
            continue;
        }
        result = give_up(locks, lock, result);
        if (result < 0)
            return result;
    }
    return 0;
}

int lock_wait_on(struct locks *locks, uint32_t lock, int64_t timeout_ns)
{
    int64_t first_ns = timeout_ns < SLICE_NS ? timeout_ns : SLICE_NS;
    int result = wait_slice(locks, lock, first_ns, NULL);
    if (result < 0) {
        int64_t deadline_ns = rma_deadline_ns(locks->job, timeout_ns - first_ns);
        struct lock_wanted wanted = {.locks = locks, .lock = lock};
        struct stall_watch stall = {.job = rma_watch(locks->job),
                                    .since_ns = rh_clock_ns(locks->job) - first_ns,
                                    .describe = describe,
                                    .context = &wanted};
        result = wait_longer(locks, lock, result, deadline_ns, &stall);
        stall_watch_end(&stall);
    }
    return unlikely(result < 0) ? result : take_grant(locks, lock);
}

/* ---- Handing over --------------------------------------------------------------------------- */

/* Offer the lock to `next`, or to anybody if that is nobody. 1: it is given; 0: not, and *found
 * says what was there instead. */
static inline int offer(struct locks *locks, uint32_t lock, uint64_t next,
                        const struct lock_step *step, uint64_t *found)
{
    int rank = lock_name_rank(next), result = 0;
    uint64_t expected = lock_turn(next) | LOCK_WAIT, granted = lock_turn(next) | LOCK_GRANTED;
    if (rank < 0) {
        expected = lock_own_name(locks, lock);
        result = lock_last_swap_if(locks, lock, expected, LOCK_FREE, step, found);
        return result < 0 ? result : *found == expected;
    }
    *found = 0;
    if (unlikely(rank >= locks->size)) /* no name that we know of */
        return 0;
    struct lock_qnode *qnode = lock_qnode_of(locks, rank, lock);
    *found = expected;
    if (likely(qnode != NULL))
        return __atomic_compare_exchange_n(&qnode->grant, found, granted, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    struct rh_remote word = lock_qnode_at(locks, rank, lock, offsetof(struct lock_qnode, grant));
    result = lock_swap_if(locks, word, expected, granted, step, found);
    return result < 0 ? result : *found == expected;
}

/* Somebody has come after us and is about to say so, unless it died before it could. */
static int await_next(struct locks *locks, uint32_t lock, uint64_t next, uint64_t last)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    int rank = lock_name_rank(last);
    struct rh_wait wait = {.word = &qnode->next,
                           .when = RH_NOT_EQUAL,
                           .value = next,
                           .from = rank < 0 || rank >= locks->size ? locks->mine[lock].home : rank,
                           .timeout_ns = NEXT_SLICE_NS};
    int result = rh_wait_word(locks->job, &wait);
    for (int i = 1; i < NEXT_SLICES && result == RH_ETIMEOUT; i++)
        result = rh_wait_word(locks->job, &wait);
    return result;
}

/* The offer failed. 0: try again. */
static int find_next(struct locks *locks, uint32_t lock, uint64_t next, uint64_t found,
                     int64_t deadline_ns)
{
    int result = lock_home_check(locks, lock);
    if (result < 0)
        return result;
    if (rh_clock_ns(locks->job) >= deadline_ns)
        return error_fail(RH_ETIMEOUT, "nobody takes lock %u over", lock);
    if (lock_low(next) == 0 && await_next(locks, lock, next, found) == 0)
        return 0;
    result = lock_repair(locks, lock, deadline_ns);
    if (result == RH_EDEAD)
        return result;
    if (result < 0)
        lock_nap(locks, &locks->qnodes[lock].next, next, NAP_NS);
    return 0;
}

int lock_hand_over(struct locks *locks, uint32_t lock)
{
    struct lock_qnode *qnode = &locks->qnodes[lock];
    struct lock_mine *mine = &locks->mine[lock];
    uint64_t turn = lock_own_turn(locks, lock);
    struct lock_step step = {.ticket = &mine->ticket};
    ASSERT(lock_low(lock_load(&qnode->state)) == LOCK_HELD ||
           lock_low(lock_load(&qnode->state)) == LOCK_HANDING);
    for (;;) {
        uint64_t next = mine->ticket.is_open ? mine->offered : lock_load(&qnode->next), found = 0;
        mine->offered = next;
        /* From here to the next store we may hold the lock or not: a repairer waits. */
        lock_put(&qnode->state, turn | LOCK_HANDING);
        int result = offer(locks, lock, next, &step, &found);
        if (likely(result > 0)) {
            lock_put(&qnode->next, turn); /* nobody, as the next turn expects it */
            lock_put(&qnode->grant,
                     (turn + LOCK_TURN_ONE) | LOCK_WAIT); /* likewise, in good time */
            lock_put(&qnode->state, turn | LOCK_IDLE);
            if (lock_low(next) != 0)
                rh_wake(locks->job, lock_name_rank(next));
            return 0;
        }
        if (unlikely(result == RH_ETIMEOUT && mine->ticket.is_open))
            return result; /* HANDING: whether it is given is for the next call to find out */
        lock_put(&qnode->state, turn | LOCK_HELD);
        if (step.deadline_ns == 0) /* asked for when it is needed */
            step.deadline_ns = rma_deadline_ns(locks->job, RH_TIMEOUT_DEFAULT);
        result = find_next(locks, lock, next, found, step.deadline_ns);
        if (result == RH_EDEAD) /* with the representative the lock is gone */
            lock_put(&qnode->state, turn | LOCK_IDLE);
        if (result < 0)
            return result;
    }
}
