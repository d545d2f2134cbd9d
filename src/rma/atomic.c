/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on words of peers' memory. Which one it is, is known where it is called, so
 * that by the short way (reach.h) it becomes the processor's instruction.
 */
#include "rma/reach.h"

static rare_path int atomic_by_nic(struct rh_job *job, struct rh_remote target,
                                   const struct nic_atomic_operands *operands, uint64_t *old)
{
    int result = job->nic->ops->atomic(job->nic, target, operands, old);
    if (result < 0)
        return result;
    counter_add(job->counters, COUNTER_ATOMIC, 1);
    reach_make(job, target);
    return 0;
}

/* What the instruction was done on, and what was there before; NULL: it was not done. */
static inline __attribute__((always_inline)) const struct job_reach *atomic_by_reach(
    struct rh_job *job, struct rh_remote target, const struct nic_atomic_operands *operands,
    uint64_t *before)
{
    const struct job_reach *reach = reach_find(job, target, 8, RH_ATOMIC);
    if (unlikely(!reach || target.offset % 8 != 0))
        return NULL;
    *before = nic_atomic_apply((_Atomic uint64_t *)(void *)(reach->base + target.offset), operands);
    counter_add(job->counters, COUNTER_ATOMIC, 1);
    return reach;
}

int rma_atomic(struct rh_job *job, struct rh_remote target,
               const struct nic_atomic_operands *operands, uint64_t *old)
{
    ASSERT(rma_rank_is_valid(job, target.rank));
    const struct job_reach *reach = atomic_by_reach(job, target, operands, old);
    return likely(reach) ? reach_wrote(job, reach, target.rank)
                         : atomic_by_nic(job, target, operands, old);
}

/* A program's, by value: so what the short way needs stays in registers. */
static rare_path int atomic_checked(struct rh_job *job, struct rh_remote target, uint64_t *old,
                                    enum nic_atomic operation, uint64_t operand, uint64_t expected)
{
    const struct nic_atomic_operands operands = {
        .operation = operation, .operand = operand, .expected = expected};
    uint64_t before;
    if (unlikely(!rma_rank_is_valid(job, target.rank)))
        return rma_refuse_rank(job, target.rank);
    int result = atomic_by_nic(job, target, &operands, &before);
    if (result == 0 && old)
        *old = before;
    return result;
}

/* old may be NULL. */
static inline __attribute__((always_inline)) int atomic(struct rh_job *job, struct rh_remote target,
                                                        const struct nic_atomic_operands *operands,
                                                        uint64_t *old)
{
    uint64_t before;
    const struct job_reach *reach = atomic_by_reach(job, target, operands, &before);
    if (unlikely(!reach))
        return atomic_checked(job, target, old, operands->operation, operands->operand,
                              operands->expected);
    if (old)
        *old = before;
    return reach_wrote(job, reach, target.rank);
}

int rh_fetch_add(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old)
{
    const struct nic_atomic_operands operands = {.operation = NIC_FETCH_ADD, .operand = operand};
    return atomic(job, target, &operands, old);
}

int rh_fetch_or(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old)
{
    const struct nic_atomic_operands operands = {.operation = NIC_FETCH_OR, .operand = operand};
    return atomic(job, target, &operands, old);
}

int rh_fetch_and(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old)
{
    const struct nic_atomic_operands operands = {.operation = NIC_FETCH_AND, .operand = operand};
    return atomic(job, target, &operands, old);
}

int rh_swap(struct rh_job *job, struct rh_remote target, uint64_t operand, uint64_t *old)
{
    const struct nic_atomic_operands operands = {.operation = NIC_SWAP, .operand = operand};
    return atomic(job, target, &operands, old);
}

int rh_compare_swap(struct rh_job *job, struct rh_remote target, uint64_t expected,
                    uint64_t desired, uint64_t *old)
{
    const struct nic_atomic_operands operands = {
        .operation = NIC_COMPARE_SWAP, .operand = desired, .expected = expected};
    return atomic(job, target, &operands, old);
}
