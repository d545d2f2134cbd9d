/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The new order of a broken queue, found from what the living say about themselves.
 *
 * Each waiting qnode names the one before it. So the old queue falls into pieces, each of which
 * begins with the holder or behind somebody who is gone. The holder's piece comes first. Where the
 * last of a piece still names the dead one behind it, the piece behind that dead one follows; the
 * order of pieces that nothing connects is not known any more, and is that of their ranks.
 */
#include "msg/lock/lock.h"

static bool is_granted(const struct lock_seat *seat)
{
    unsigned grant = lock_low(seat->qnode.grant);
    return lock_low(seat->qnode.state) == LOCK_HELD ||
           (lock_low(seat->qnode.state) == LOCK_WAITING &&
            (grant == LOCK_GRANTED || grant == LOCK_GRANTED_DIED));
}

static bool is_queued(const struct lock_seat *seat)
{
    if (seat->is_gone)
        return false;
    return is_granted(seat) ||
           (lock_low(seat->qnode.state) == LOCK_WAITING && lock_low(seat->qnode.grant) != LOCK_OUT);
}

/* Behind the mark stands who found the mark, and who stands behind such a one. */
static void find_newcomers(struct lock_plan *plan, int size, uint64_t mark)
{
    bool is_changed = true;
    while (is_changed) {
        is_changed = false;
        for (int rank = 0; rank < size; rank++) {
            struct lock_seat *seat = &plan->seats[rank];
            int before = lock_name_rank(seat->qnode.pred);
            if (seat->is_new || !is_queued(seat) || is_granted(seat))
                continue;
            if (seat->qnode.pred == mark)
                plan->newcomer = rank;
            else if (before < 0 || before >= size || !plan->seats[before].is_new ||
                     lock_seat_name(plan, before) != seat->qnode.pred)
                continue;
            seat->is_new = true;
            is_changed = true;
        }
    }
}

/* The rank in the old queue, not yet in the order, that waits behind this name; or -1. */
static int find_behind(const struct lock_plan *plan, int size, uint64_t name)
{
    for (int rank = 0; rank < size; rank++) {
        const struct lock_seat *seat = &plan->seats[rank];
        if (is_queued(seat) && !seat->is_new && !seat->is_planned && seat->qnode.pred == name)
            return rank;
    }
    return -1;
}

/* Whether the rank that this one waits behind is in the queue itself: then it is no beginning. */
static bool has_before(const struct lock_plan *plan, int size, int rank)
{
    uint64_t name = plan->seats[rank].qnode.pred;
    int before = lock_name_rank(name);
    return before >= 0 && before < size && is_queued(&plan->seats[before]) &&
           lock_seat_name(plan, before) == name;
}

static int find_beginning(const struct lock_plan *plan, int size)
{
    int any = -1;
    for (int rank = size - 1; rank >= 0; rank--) {
        const struct lock_seat *seat = &plan->seats[rank];
        if (!is_queued(seat) || seat->is_new || seat->is_planned)
            continue;
        if (is_granted(seat))
            return rank;
        if (any < 0 || !has_before(plan, size, rank))
            any = rank;
    }
    return any;
}

void lock_plan_make(struct lock_plan *plan, int size, uint64_t mark)
{
    plan->order_count = 0;
    plan->has_holder = false;
    plan->newcomer = -1;
    for (int rank = 0; rank < size; rank++)
        plan->seats[rank].is_new = plan->seats[rank].is_planned = false;
    find_newcomers(plan, size, mark);
    int rank = find_beginning(plan, size);
    if (rank >= 0)
        plan->has_holder = is_granted(&plan->seats[rank]);
    while (rank >= 0) {
        plan->order[plan->order_count++] = rank;
        plan->seats[rank].is_planned = true;
        int behind = find_behind(plan, size, lock_seat_name(plan, rank));
        if (behind < 0) /* a gap: across the one that is gone, if the last one still names it */
            behind = find_behind(plan, size, plan->seats[rank].qnode.next);
        rank = behind >= 0 ? behind : find_beginning(plan, size);
    }
}
