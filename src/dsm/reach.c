/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entries that are not reachable by pointer. An operation that the network has lost is tried again
 * while there is time; an atomic one that may have happened is gone on with instead (doubt.h, and
 * step.h for the word).
 */
#include "dsm/reach.h"

#include "dsm/doubt.h"
#include "rma/inside.h"

#define TRIES 16

/* Tries of one operation, which together take no longer than one may. */
struct tries {
    int count;
    int64_t deadline_ns;
};

static bool may_try(struct rh_dsm *dsm, struct tries *tries, int result)
{
    if (tries->count++ == 0)
        tries->deadline_ns = rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT);
    else if (result != RH_ETIMEOUT || tries->count > TRIES)
        return false;
    return tries->count == 1 || rma_left_ns(dsm->job, tries->deadline_ns) > 0;
}

struct rh_remote dsm_entry_at(const struct rh_dsm *dsm, int rank, rh_dsm_variable variable,
                              size_t field)
{
    ASSERT((unsigned)rank < (unsigned)dsm->size);
    ASSERT(variable < dsm->entry_count);
    return rh_at(rank, DSM_SID_CONTROL,
                 dsm->entries_offset + variable * sizeof(struct dsm_entry) + field);
}

int dsm_far_load(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                 uint64_t *value)
{
    struct tries tries = {0};
    int result = RH_ETIMEOUT;
    while (may_try(dsm, &tries, result))
        result = rh_pull(dsm->job, dsm_entry_at(dsm, rank, variable, field), value, sizeof(*value));
    return result;
}

int dsm_far_atomic(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                   const struct nic_atomic_operands *operands, uint64_t *old)
{
    struct rh_remote target = dsm_entry_at(dsm, rank, variable, field);
    struct tries tries = {0};
    int result = RH_ETIMEOUT;
    while (may_try(dsm, &tries, result))
        result = dsm_doubt_atomic(dsm, target, operands, old);
    return result;
}

int dsm_far_swap_word(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, uint64_t *expected,
                      uint64_t desired, struct dsm_step *step)
{
    struct rh_remote target = dsm_entry_at(dsm, rank, variable, DSM_WORD);
    struct tries tries = {0};
    int result = RH_ETIMEOUT;
    *step = (struct dsm_step){.rank = rank,
                              .operands = {.operation = NIC_COMPARE_SWAP,
                                           .operand = desired,
                                           .expected = *expected,
                                           .ticket = &step->ticket}};
    while (may_try(dsm, &tries, result)) {
        step->ticket.deadline_ns = tries.deadline_ns;
        result = rma_atomic(dsm->job, target, &step->operands, expected);
    }
    return result < 0 ? result : *expected == step->operands.expected;
}

int dsm_post(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field, uint64_t value)
{
    uint64_t *word = dsm_near(dsm, rank, variable, field);
    if (likely(word != NULL)) {
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
        return rh_wake(dsm->job, rank);
    }
    struct tries tries = {0};
    int result = RH_ETIMEOUT;
    while (may_try(dsm, &tries, result))
        result = rh_push(dsm->job, dsm_entry_at(dsm, rank, variable, field), &value, sizeof(value));
    return result;
}
