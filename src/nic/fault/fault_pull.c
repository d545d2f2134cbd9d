/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pull and atomics: what brings something back.
 */
#include "nic/fault/fault_nic.h"
#include "nic/handover.h"

int fault_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
               const struct nic_extra *extra)
{
    nic_assert_pull(nic, source, extra);
    struct fault *fault = fault_of(nic);
    const struct nic_ops *ops = fault->inner->ops;
    if (!fault->is_active)
        return ops->pull(fault->inner, source, target, length, extra);
    struct fault_plan plan;
    unsigned possible = FAULT_BIT(FAULT_DROP) | (length > 0 ? FAULT_BIT(FAULT_CORRUPT) : 0);
    int result = fault_strike(fault, FAULT_ON_PULL, possible, source.rank, &plan);
    if (result < 0)
        return result;
    if (plan.effect == FAULT_DROP)
        return fault_answer(extra, fault_dropped(FAULT_ON_PULL, source.rank, &plan));
    if (plan.effect == FAULT_CORRUPT) {
        result = ops->pull(fault->inner, source, target, length, NULL);
        if (result < 0)
            return result;
        fault_flip_bit(target, length, plan.random);
        return fault_answer(extra, 0);
    }
    result = ops->pull(fault->inner, source, target, length, extra);
    if (!extra || !extra->done)
        fault_hold_release(&fault->hold);
    return result;
}

int fault_atomic(struct nic *nic, struct rh_remote target,
                 const struct nic_atomic_operands *operands, uint64_t *old)
{
    nic_assert_atomic(nic, target, operands, old);
    struct fault *fault = fault_of(nic);
    const struct nic_ops *ops = fault->inner->ops;
    if (!fault->is_active)
        return ops->atomic(fault->inner, target, operands, old);
    struct fault_plan plan;
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_REPEAT) |
                        (operands->ticket ? FAULT_BIT(FAULT_DOUBT) : 0);
    int result;
    if (fault_doubt_end(&fault->doubts, operands->ticket, &result, old))
        return result;
    if (operands->ticket && operands->ticket->is_open)
        return ops->atomic(fault->inner, target, operands, old);
    result = fault_strike(fault, FAULT_ON_ATOMIC, possible, target.rank, &plan);
    if (result < 0)
        return result;
    if (plan.effect == FAULT_DROP)
        return fault_dropped(FAULT_ON_ATOMIC, target.rank, &plan);
    result = ops->atomic(fault->inner, target, operands, old);
    if (result == 0 && plan.effect == FAULT_REPEAT) {
        uint64_t ignored;
        result = ops->atomic(fault->inner, target, operands, &ignored);
    }
    fault_hold_release(&fault->hold);
    if (plan.effect == FAULT_DOUBT)
        result = fault_doubt_begin(&fault->doubts, operands->ticket, target.rank, result, *old);
    return result;
}
