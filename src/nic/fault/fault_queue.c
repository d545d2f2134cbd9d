/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append and receive.
 */
#include "nic/fault/fault_nic.h"
#include "nic/handover.h"

#include <stdlib.h>

/* An append of either sort. */
struct appended {
    struct rh_remote queue;
    const void *data;
    size_t length;
    int64_t timeout_ns;
    struct nic_ticket *ticket; /* NULL: without */
};

static int append_inside(struct fault *fault, const struct appended *append, const void *data)
{
    const struct nic_ops *ops = fault->inner->ops;
    if (append->ticket)
        return ops->append_try(fault->inner, append->queue, data, append->length, append->ticket);
    return ops->append(fault->inner, append->queue, data, append->length, append->timeout_ns);
}

static int append_corrupted(struct fault *fault, const struct appended *append, uint64_t random)
{
    void *copy = fault_damaged_copy(append->data, append->length, random);
    if (!copy)
        return RH_ENOSPACE;
    int result = append_inside(fault, append, copy);
    free(copy);
    return result;
}

static int append_struck(struct fault *fault, const struct appended *append)
{
    struct fault_plan plan;
    int rank = append->queue.rank;
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_LOSE) | FAULT_BIT(FAULT_REPEAT) |
                        (append->length > 0 ? FAULT_BIT(FAULT_CORRUPT) : 0) |
                        (append->ticket ? FAULT_BIT(FAULT_DOUBT) : 0);
    int result = fault_strike(fault, FAULT_ON_APPEND, possible, rank, &plan);
    if (result < 0)
        return result;
    if (plan.effect == FAULT_DROP)
        return fault_dropped(FAULT_ON_APPEND, rank, &plan);
    if (plan.effect == FAULT_LOSE)
        return 0;
    fault_hold_release(&fault->hold); /* first: the append may wait, for what these would cause */
    if (plan.effect == FAULT_CORRUPT)
        return append_corrupted(fault, append, plan.random);
    result = append_inside(fault, append, append->data);
    if (result == 0 && plan.effect == FAULT_REPEAT)
        result = append_inside(fault, append, append->data);
    if (plan.effect == FAULT_DOUBT)
        result = fault_doubt_begin(&fault->doubts, append->ticket, rank, result, 0);
    return result;
}

int fault_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                 int64_t timeout_ns)
{
    nic_assert_append(nic, queue, timeout_ns);
    struct fault *fault = fault_of(nic);
    struct appended append = {
        .queue = queue, .data = data, .length = length, .timeout_ns = timeout_ns};
    return fault->is_active ? append_struck(fault, &append) : append_inside(fault, &append, data);
}

int fault_append_try(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                     struct nic_ticket *ticket)
{
    nic_assert_append(nic, queue, 0);
    ASSERT(ticket);
    struct fault *fault = fault_of(nic);
    struct appended append = {.queue = queue, .data = data, .length = length, .ticket = ticket};
    int result;
    if (fault_doubt_end(&fault->doubts, ticket, &result, NULL))
        return result;
    return fault->is_active && !ticket->is_open ? append_struck(fault, &append)
                                                : append_inside(fault, &append, data);
}

int fault_queue_peek(struct nic *nic, void *queue, struct rh_arrival *arrival)
{
    struct fault *fault = fault_of(nic);
    fault_hold_release(&fault->hold);
    return fault->inner->ops->queue_peek(fault->inner, queue, arrival);
}

void fault_queue_release(struct nic *nic, void *queue)
{
    struct fault *fault = fault_of(nic);
    fault->inner->ops->queue_release(fault->inner, queue);
}
