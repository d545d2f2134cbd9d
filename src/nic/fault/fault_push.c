/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Push and store: what can also be held back.
 */
#include "base/error.h"
#include "nic/fault/fault_nic.h"
#include "nic/handover.h"

#include <stdlib.h>

/* The same wishes, but wait; and what follows the source does not follow a copy of it. */
static struct nic_extra blocking(const struct nic_extra *extra)
{
    struct nic_extra copy = {0};
    if (extra)
        copy.notice = extra->notice;
    return copy;
}

/* Errors that are known at once must not wait until the push is let go. */
static int hold_push(struct fault *fault, struct fault_held *held)
{
    struct nic_view view;
    const struct nic_ops *ops = fault->inner->ops;
    int result = ops->view(fault->inner, held->target, held->length, RH_WRITE, &view);
    if (result == 0)
        ops->view_release(fault->inner, &view);
    if (result == 0 && held->has_notice) {
        result = ops->view(fault->inner, held->notice.word, sizeof(uint64_t), RH_WRITE, &view);
        if (result == 0)
            ops->view_release(fault->inner, &view);
    }
    if (result < 0)
        return result;
    return fault_hold_add(&fault->hold, held) ? 1 : 0;
}

static int push_corrupted(struct fault *fault, struct rh_remote target, const void *source,
                          size_t length, const struct nic_extra *extra, uint64_t random)
{
    void *copy = fault_damaged_copy(source, length, random);
    if (!copy)
        return RH_ENOSPACE;
    struct nic_extra wait = blocking(extra);
    int result = fault->inner->ops->push(fault->inner, target, copy, length, &wait);
    free(copy);
    return result < 0 ? result : fault_answer(extra, 0);
}

static unsigned push_faults(size_t length, const struct nic_extra *extra)
{
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_LOSE) | FAULT_BIT(FAULT_REPEAT);
    if (length > 0)
        possible |= FAULT_BIT(FAULT_CORRUPT);
    if (extra && (extra->done || extra->is_inline))
        possible |= FAULT_BIT(FAULT_REORDER);
    if (!extra || !extra->is_inline)
        possible |= FAULT_BIT(FAULT_DOUBT);
    return possible;
}

static int push_in_doubt(struct fault *fault, const struct fault_held *held,
                         const struct nic_extra *extra, uint64_t number)
{
    struct nic_extra wait = blocking(extra);
    int result = fault->inner->ops->push(fault->inner, held->target, held->source, held->length,
                                         &wait);
    if (result < 0)
        return result;
    return fault_answer(extra,
                        error_set(RH_ETIMEOUT, held->target.rank,
                                  "push %llu to rank %d happened, but its answer is held back "
                                  "(RHINET_FAULT)",
                                  (unsigned long long)number, held->target.rank));
}

static int push_after_strike(struct fault *fault, struct fault_held *held,
                             const struct nic_extra *extra, const struct fault_plan *plan)
{
    struct nic_extra wait = blocking(extra);
    const struct nic_ops *ops = fault->inner->ops;
    int result = 0;
    switch (plan->effect) {
    case FAULT_DROP:
        return fault_answer(extra, fault_dropped(FAULT_ON_PUSH, held->target.rank, plan));
    case FAULT_LOSE:
        return fault_answer(extra, 0);
    case FAULT_CORRUPT:
        return push_corrupted(fault, held->target, held->source, held->length, extra, plan->random);
    case FAULT_DOUBT:
        return push_in_doubt(fault, held, extra, plan->number);
    case FAULT_REPEAT:
        result = ops->push(fault->inner, held->target, held->source, held->length, &wait);
        break;
    case FAULT_REORDER:
        result = hold_push(fault, held);
        break;
    default:
        break;
    }
    if (result != 0)
        return result < 0 ? result : 0;
    return ops->push(fault->inner, held->target, held->source, held->length, extra);
}

int fault_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
               const struct nic_extra *extra)
{
    nic_assert_push(nic, target, extra);
    struct fault *fault = fault_of(nic);
    if (!fault->is_active)
        return fault->inner->ops->push(fault->inner, target, source, length, extra);
    struct fault_plan plan;
    int result = fault_strike(fault, FAULT_ON_PUSH, push_faults(length, extra), target.rank, &plan);
    if (result < 0)
        return result;
    struct fault_held held = {.target = target, .source = source, .length = length};
    if (extra)
        held.done = extra->done;
    if (extra && extra->notice) {
        held.has_notice = true;
        held.notice = *extra->notice;
    }
    result = push_after_strike(fault, &held, extra, &plan);
    if (!extra || (!extra->done && !extra->is_inline))
        fault_hold_release(&fault->hold); /* this push has overtaken the held ones */
    return result;
}

/* ---- Store ---------------------------------------------------------------------------------- */

static bool view_equal(const struct nic_view *a, const struct nic_view *b)
{
    return a->remote.rank == b->remote.rank && a->remote.sid == b->remote.sid &&
           a->remote.offset == b->remote.offset && a->length == b->length &&
           a->pointer == b->pointer && a->handle == b->handle;
}

/* A view that would be another today is stale: then the store itself says so, at once. */
static int hold_store(struct fault *fault, struct fault_held *held)
{
    struct nic_view now;
    const struct nic_view *view = &held->view;
    int result = fault->inner->ops->view(fault->inner, view->remote, view->length, RH_WRITE, &now);
    if (result < 0)
        return result;
    fault->inner->ops->view_release(fault->inner, &now);
    if (!view_equal(view, &now))
        return 0;
    return fault_hold_add(&fault->hold, held) ? 1 : 0;
}

static int store_after_strike(struct fault *fault, struct fault_held *held,
                              const struct fault_plan *plan)
{
    const struct nic_ops *ops = fault->inner->ops;
    int result = 0;
    switch (plan->effect) {
    case FAULT_DROP:
        return fault_dropped(FAULT_ON_STORE, held->target.rank, plan);
    case FAULT_LOSE:
        return 0;
    case FAULT_CORRUPT:
        fault_flip_bit(&held->store_value, held->store_width, plan->random);
        break;
    case FAULT_REPEAT:
        result = ops->store(fault->inner, &held->view, held->store_offset, held->store_value,
                            held->store_width);
        break;
    case FAULT_REORDER:
        result = hold_store(fault, held);
        break;
    default:
        break;
    }
    if (result != 0)
        return result < 0 ? result : 0;
    return ops->store(fault->inner, &held->view, held->store_offset, held->store_value,
                      held->store_width);
}

int fault_store(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
                unsigned width)
{
    nic_assert_store(nic, view, offset, width);
    struct fault *fault = fault_of(nic);
    if (!fault->is_hiding)
        return fault->inner->ops->store(fault->inner, view, offset, value, width);
    const struct kept_view *kept = view->handle;
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_LOSE) | FAULT_BIT(FAULT_REPEAT) |
                        FAULT_BIT(FAULT_CORRUPT) | FAULT_BIT(FAULT_REORDER);
    struct fault_plan plan;
    int result = fault_strike(fault, FAULT_ON_STORE, possible, view->remote.rank, &plan);
    if (result < 0)
        return result;
    struct fault_held held = {.target = view->remote, .view = kept->view};
    held.store_offset = offset;
    held.store_value = value;
    held.store_width = width;
    return store_after_strike(fault, &held, &plan);
}
