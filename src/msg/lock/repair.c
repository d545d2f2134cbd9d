/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making a broken queue whole again; lock.h tells how. Slow and careful: everything is read twice,
 * and whatever changes meanwhile makes us begin anew. A repair that was not necessary does no harm.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "msg/lock/lock.h"

#include <string.h>

#define NAP_NS   (50 * NS_PER_US)
#define TRIES    1000000
#define MARK_ONE LOCK_TURN_ONE

/* What a step says besides 0 and errors. */
enum { LOOK_AGAIN = 1, CLOSE_AGAIN = 2 };

struct repair {
    struct locks *locks;
    uint32_t lock;
    int64_t deadline_ns;
    uint64_t ticket; /* in the repairer's word: mark | our rank + 1 */
    uint64_t mark;
    uint64_t before; /* what the mark replaced */
    bool *was_gone;  /* before the queue was closed */
    bool *has_stood; /* in the queue, whether it is still there or not */
    bool is_closed;  /* by us, perhaps several times */
    bool has_lost;   /* it was free because its holder had died, and nobody has been told yet */
    struct lock_seat *again;
    struct lock_plan plan;
    bool was_overtaken; /* somebody stands behind the mark, whom we have not seen yet */
};

/* ---- Being the only one --------------------------------------------------------------------- */

static struct rh_remote repairer_word(const struct repair *repair)
{
    return lock_entry_at(repair->locks, repair->lock, offsetof(struct lock_entry, repairer));
}

static int begin(struct repair *repair)
{
    struct locks *locks = repair->locks;
    struct rh_remote word = repairer_word(repair);
    uint64_t seen, old;
    int result = rh_pull(locks->job, word, &seen, sizeof(seen));
    if (result < 0)
        return result;
    int rank = lock_name_rank(seen);
    if (rank >= 0 && rank < locks->size && rank != locks->rank &&
        rh_peer_state(locks->job, rank) < RH_PEER_LEFT)
        return RH_EAGAIN;
    repair->mark = lock_turn(seen) < LOCK_MARK_FIRST ? LOCK_MARK_FIRST : lock_turn(seen);
    repair->ticket = repair->mark | (uint64_t)(locks->rank + 1);
    result = lock_swap_if_once(locks, word, seen, repair->ticket, &old);
    return result < 0 ? result : old == seen ? 0 : RH_EAGAIN;
}

static void end(struct repair *repair)
{
    uint64_t old;
    lock_swap_if_once(repair->locks, repairer_word(repair), repair->ticket, repair->mark, &old);
}

/* ---- Taking stock --------------------------------------------------------------------------- */

static bool is_gone_code(int result)
{
    return result == RH_EDEAD || result == RH_ESTALE || result == RH_ENOSEG;
}

static int read_seats(struct repair *repair, struct lock_seat *seats)
{
    for (int rank = 0; rank < repair->locks->size; rank++) {
        struct lock_seat *seat = &seats[rank];
        memset(seat, 0, sizeof(*seat));
        int result = lock_qnode_read(repair->locks, rank, repair->lock, &seat->qnode);
        if (result < 0 && !is_gone_code(result))
            return result;
        seat->is_gone = result < 0;
    }
    return 0;
}

/* The last requester stood in the queue. In place of it the mark of a repairer that did not come to
 * an end: who stood there is not known any more. */
static void note_last(struct repair *repair)
{
    int rank = lock_name_rank(repair->before);
    if (rank >= 0 && rank < repair->locks->size)
        repair->has_stood[rank] = true;
    for (rank = 0; lock_is_mark(repair->before) && !repair->is_closed && rank < repair->locks->size;
         rank++)
        repair->has_stood[rank] = true;
    repair->is_closed = true;
    repair->has_lost |= repair->before == LOCK_FREE_DIED;
}

/* Close the queue by a mark of a number never used before. From the ranks that were gone before
 * nobody can have come behind it, so that we know on which side of it the gaps are. */
static int close_queue(struct repair *repair)
{
    struct locks *locks = repair->locks;
    uint64_t old;
    int result = read_seats(repair, repair->again);
    if (result < 0)
        return result;
    for (int rank = 0; rank < locks->size; rank++)
        repair->was_gone[rank] = repair->again[rank].is_gone;
    uint64_t ticket = repair->ticket + MARK_ONE;
    result = lock_swap_if_once(locks, repairer_word(repair), repair->ticket, ticket, &old);
    if (result < 0)
        return result;
    if (old != repair->ticket)
        return RH_EAGAIN; /* we were taken for dead */
    repair->ticket = ticket;
    repair->mark += MARK_ONE;
    repair->was_overtaken = false;
    struct nic_ticket swapped = {0};
    struct lock_step step = {.ticket = &swapped, .deadline_ns = repair->deadline_ns};
    result = lock_last_swap(locks, repair->lock, repair->mark, &step, &repair->before);
    if (result == 0)
        note_last(repair);
    return result;
}

static bool is_between_steps(const struct lock_seat *seat)
{
    unsigned phase = lock_low(seat->qnode.state);
    return !seat->is_gone && (phase == LOCK_REQUESTING || phase == LOCK_HANDING);
}

/* Two readings that agree, with nobody between two steps, are a picture of one moment: no word
 * takes an earlier value again, but for a waiter that gives up and comes back, which is the same to
 * us. */
static int compare_seats(const struct repair *repair)
{
    for (int rank = 0; rank < repair->locks->size; rank++) {
        const struct lock_seat *a = &repair->plan.seats[rank], *b = &repair->again[rank];
        if (b->is_gone && !repair->was_gone[rank])
            return CLOSE_AGAIN;
        if (is_between_steps(b) || a->is_gone != b->is_gone ||
            (!a->is_gone && memcmp(&a->qnode, &b->qnode, sizeof(a->qnode)) != 0))
            return LOOK_AGAIN;
    }
    return 0;
}

static int take_stock(struct repair *repair)
{
    struct locks *locks = repair->locks;
    const uint64_t *own = &locks->qnodes[repair->lock].state;
    for (unsigned i = 0;; i++) {
        int result = read_seats(repair, repair->plan.seats);
        if (result == 0)
            result = read_seats(repair, repair->again);
        if (result == 0)
            result = compare_seats(repair);
        if (result != LOOK_AGAIN)
            return result;
        result = lock_home_check(locks, repair->lock);
        if (result < 0)
            return result;
        if (rh_clock_ns(repair->locks->job) >= repair->deadline_ns)
            return error_fail(
                RH_ETIMEOUT,
                "lock %u cannot be repaired: a rank does not finish its step; is it stopped?",
                repair->lock);
        if (i > 4)
            lock_nap(locks, own, lock_load(own), NAP_NS);
    }
}

/* ---- Mending -------------------------------------------------------------------------------- */

static struct rh_remote qnode_word(const struct repair *repair, int rank, size_t field)
{
    return lock_qnode_at(repair->locks, rank, repair->lock, field);
}

/* Change a word of a qnode if it still is what we have read. */
static int change(struct repair *repair, int rank, size_t field, uint64_t value)
{
    uint64_t expected, old;
    memcpy(&expected, (const char *)&repair->plan.seats[rank].qnode + field, sizeof(expected));
    if (expected == value)
        return 0;
    int result = lock_swap_if_once(repair->locks, qnode_word(repair, rank, field), expected, value,
                                   &old);
    if (is_gone_code(result) && rank != repair->locks->rank)
        return CLOSE_AGAIN;
    return result < 0 ? result : old == expected ? 0 : LOOK_AGAIN;
}

/* Take those out who have given up; their qnodes are theirs again. */
static int expel(struct repair *repair)
{
    struct lock_plan *plan = &repair->plan;
    int kept = 0;
    for (int i = 0; i < plan->order_count; i++) {
        int rank = plan->order[i];
        const struct lock_qnode *qnode = &plan->seats[rank].qnode;
        if (lock_low(qnode->state) != LOCK_WAITING || lock_low(qnode->grant) != LOCK_DEPARTED) {
            plan->order[kept++] = rank;
            continue;
        }
        int result = change(repair, rank, offsetof(struct lock_qnode, grant),
                            lock_turn(qnode->grant) | LOCK_OUT);
        if (result != 0)
            return result;
    }
    plan->order_count = kept;
    return 0;
}

static int join_two(struct repair *repair, int first, int second)
{
    int result = change(repair, second, offsetof(struct lock_qnode, pred),
                        lock_seat_name(&repair->plan, first));
    if (result != 0)
        return result;
    return change(repair, first, offsetof(struct lock_qnode, next),
                  lock_seat_name(&repair->plan, second));
}

static int join_all(struct repair *repair)
{
    struct lock_plan *plan = &repair->plan;
    for (int i = 0; i + 1 < plan->order_count; i++) {
        int result = join_two(repair, plan->order[i], plan->order[i + 1]);
        if (result != 0)
            return result;
    }
    if (plan->order_count > 0 && plan->newcomer >= 0)
        return join_two(repair, plan->order[plan->order_count - 1], plan->newcomer);
    return 0;
}

/* Behind a holder that is gone stands somebody who names it, or names another one that is gone, or
 * the last requester is gone itself: see note_last(). */
static void note_named(struct repair *repair)
{
    for (int rank = 0; rank < repair->locks->size; rank++) {
        const struct lock_seat *seat = &repair->plan.seats[rank];
        int before = lock_name_rank(seat->qnode.pred);
        if (!seat->is_gone && lock_low(seat->qnode.state) == LOCK_WAITING && before >= 0 &&
            before < repair->locks->size)
            repair->has_stood[before] = true;
    }
}

/* Whether the lock has no holder because the last one is gone. A queue that broke because somebody
 * gave up waiting has lost nobody, and a rank that has not opened its mailbox yet was never in it.
 */
static bool lost_its_holder(const struct repair *repair)
{
    if (repair->has_lost || repair->before == LOCK_FREE)
        return repair->has_lost;
    for (int rank = 0; rank < repair->locks->size; rank++) {
        if (repair->plan.seats[rank].is_gone && repair->has_stood[rank])
            return true;
    }
    return false;
}

/* Nobody stands behind the mark: take it away. */
static int take_mark_away(struct repair *repair)
{
    struct lock_plan *plan = &repair->plan;
    uint64_t name = repair->before == 0 ? 0 : lost_its_holder(repair) ? LOCK_FREE_DIED : LOCK_FREE;
    if (plan->order_count > 0) {
        int rank = plan->order[plan->order_count - 1];
        name = lock_seat_name(plan, rank);
        int result = change(repair, rank, offsetof(struct lock_qnode, next), lock_turn(name));
        if (result != 0)
            return result;
    }
    uint64_t old;
    struct rh_remote last = lock_entry_at(repair->locks, repair->lock,
                                          offsetof(struct lock_entry, last));
    int result = lock_swap_if_once(repair->locks, last, repair->mark, name, &old);
    if (result < 0 || old == repair->mark)
        return result;
    if (repair->was_overtaken)
        return CLOSE_AGAIN; /* whoever it was has no qnode in the queue: not reachable any more */
    repair->was_overtaken = true;
    return LOOK_AGAIN;
}

/* Nobody holds it: let the first one have the lock. */
static int grant_first(struct repair *repair)
{
    struct lock_plan *plan = &repair->plan;
    int rank = plan->order_count > 0 ? plan->order[0] : plan->newcomer;
    if (plan->has_holder || rank < 0)
        return 0;
    uint64_t turn = lock_turn(plan->seats[rank].qnode.state), old;
    unsigned grant = lost_its_holder(repair) ? LOCK_GRANTED_DIED : LOCK_GRANTED;
    int result = lock_swap_if_once(repair->locks,
                                   qnode_word(repair, rank, offsetof(struct lock_qnode, grant)),
                                   turn | LOCK_WAIT, turn | grant, &old);
    if (is_gone_code(result) && rank != repair->locks->rank)
        return CLOSE_AGAIN;
    return result < 0 ? result : old == (turn | LOCK_WAIT) ? 0 : CLOSE_AGAIN;
}

static int mend(struct repair *repair)
{
    int result = take_stock(repair);
    if (result != 0)
        return result;
    note_named(repair);
    lock_plan_make(&repair->plan, repair->locks->size, repair->mark);
    result = expel(repair);
    if (result == 0)
        result = join_all(repair);
    if (result == 0 && repair->plan.newcomer < 0)
        result = take_mark_away(repair);
    return result == 0 ? grant_first(repair) : result;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static int repair_owned(struct repair *repair)
{
    int result = CLOSE_AGAIN;
    for (unsigned i = 0; i < TRIES; i++) {
        if (result == CLOSE_AGAIN)
            result = close_queue(repair);
        if (result == 0 || result == LOOK_AGAIN)
            result = mend(repair);
        if (result <= 0)
            return result;
        if (rh_clock_ns(repair->locks->job) >= repair->deadline_ns)
            break;
    }
    return error_fail(RH_ETIMEOUT, "lock %u changes faster than it is repaired", repair->lock);
}

int lock_repair(struct locks *locks, uint32_t lock, int64_t deadline_ns)
{
    struct arena memory = {0};
    struct repair repair = {.locks = locks, .lock = lock, .deadline_ns = deadline_ns};
    ARENA_TAKE(&memory, repair.was_gone, locks->size);
    ARENA_TAKE(&memory, repair.has_stood, locks->size);
    ARENA_TAKE(&memory, repair.again, locks->size);
    ARENA_TAKE(&memory, repair.plan.seats, locks->size);
    ARENA_TAKE(&memory, repair.plan.order, locks->size);
    int result = memory.is_short ? error_no_memory("the repair of lock %u", lock) : begin(&repair);
    if (result == 0) {
        lock_peers_forget(locks);
        result = repair_owned(&repair);
        end(&repair);
    }
    arena_free(&memory);
    return is_gone_code(result) && result != RH_EDEAD
               ? error_set(RH_EDEAD, locks->mine[lock].home,
                           "rank %d, which looks after lock %u, has closed its mailbox",
                           locks->mine[lock].home, lock)
               : result;
}
