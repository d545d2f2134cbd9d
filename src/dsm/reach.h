/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reaching a peer's entry: by pointer where the NIC gives one, else by its atomic operations.
 *
 * An operation by pointer on the memory of the dead succeeds and means nothing; so who acts on what
 * it found asks dsm_is_gone() afterwards.
 */
#pragma once

#include "dsm/dsm.h"

#include <stddef.h>

/* Which word of an entry. */
#define DSM_WORD          offsetof(struct dsm_entry, word)
#define DSM_WAITERS_READ  offsetof(struct dsm_entry, waiters_read)
#define DSM_WAITERS_WRITE offsetof(struct dsm_entry, waiters_write)
#define DSM_SIGNAL        offsetof(struct dsm_entry, signal)
#define DSM_VERSION       offsetof(struct dsm_entry, version)
#define DSM_EVENT         offsetof(struct dsm_entry, event)
#define DSM_EVENT_WAITERS offsetof(struct dsm_entry, event_waiters)
#define DSM_ADOPTER       offsetof(struct dsm_entry, adopter)

struct rh_remote dsm_entry_at(const struct rh_dsm *dsm, int rank, rh_dsm_variable variable,
                              size_t field);

/* Where there is no pointer. Errors: RH_EDEAD and those of the NIC. */
int dsm_far_load(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                 uint64_t *value);
int dsm_far_atomic(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                   const struct nic_atomic_operands *operands, uint64_t *old);
/* Store a word at a peer, and wake it. */
int dsm_post(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field, uint64_t value);

static inline uint64_t *dsm_near(const struct rh_dsm *dsm, int rank, rh_dsm_variable variable,
                                 size_t field)
{
    struct dsm_entry *entries = dsm->peers[rank].entries;
    return likely(entries != NULL) ? (uint64_t *)(void *)((char *)(entries + variable) + field)
                                   : NULL;
}

/* Everything below is sequentially consistent: words decide by their order. */

static inline int dsm_load(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                           uint64_t *value)
{
    uint64_t *word = dsm_near(dsm, rank, variable, field);
    if (unlikely(!word))
        return dsm_far_load(dsm, rank, variable, field, value);
    *value = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    return 0;
}

static inline int dsm_or(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                         uint64_t bits, uint64_t *old)
{
    uint64_t *word = dsm_near(dsm, rank, variable, field);
    if (unlikely(!word)) {
        struct nic_atomic_operands operands = {.operation = NIC_FETCH_OR, .operand = bits};
        return dsm_far_atomic(dsm, rank, variable, field, &operands, old);
    }
    *old = __atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
    return 0;
}

static inline int dsm_and(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                          uint64_t bits, uint64_t *old)
{
    uint64_t *word = dsm_near(dsm, rank, variable, field);
    if (unlikely(!word)) {
        struct nic_atomic_operands operands = {.operation = NIC_FETCH_AND, .operand = bits};
        return dsm_far_atomic(dsm, rank, variable, field, &operands, old);
    }
    *old = __atomic_fetch_and(word, bits, __ATOMIC_SEQ_CST);
    return 0;
}

static inline int dsm_swap(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                           uint64_t value, uint64_t *old)
{
    uint64_t *word = dsm_near(dsm, rank, variable, field);
    if (unlikely(!word)) {
        struct nic_atomic_operands operands = {.operation = NIC_SWAP, .operand = value};
        return dsm_far_atomic(dsm, rank, variable, field, &operands, old);
    }
    *old = __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    return 0;
}

/* 1: swapped; 0: not, and *expected is what was found. */
static inline int dsm_swap_if(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, size_t field,
                              uint64_t *expected, uint64_t desired)
{
    uint64_t *word = dsm_near(dsm, rank, variable, field);
    if (unlikely(!word)) {
        struct nic_atomic_operands operands = {
            .operation = NIC_COMPARE_SWAP, .operand = desired, .expected = *expected};
        uint64_t found = *expected;
        int result = dsm_far_atomic(dsm, rank, variable, field, &operands, expected);
        return result < 0 ? result : *expected == found;
    }
    return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* As dsm_swap_if() on a peer's word. RH_ETIMEOUT: if step->ticket is open it is in doubt; a step
 * that matters is to be kept then. */
int dsm_far_swap_word(struct rh_dsm *dsm, int rank, rh_dsm_variable variable, uint64_t *expected,
                      uint64_t desired, struct dsm_step *step);

static inline int dsm_word_swap(struct rh_dsm *dsm, int rank, rh_dsm_variable variable,
                                uint64_t *expected, uint64_t desired, struct dsm_step *step)
{
    uint64_t *word = dsm_near(dsm, rank, variable, DSM_WORD);
    if (unlikely(!word))
        return dsm_far_swap_word(dsm, rank, variable, expected, desired, step);
    return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* The own word. */
static inline uint64_t dsm_own_word(const struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return __atomic_load_n(&dsm->entries[variable].word, __ATOMIC_SEQ_CST);
}

static inline bool dsm_own_swap_if(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t *expected,
                                   uint64_t desired)
{
    return __atomic_compare_exchange_n(&dsm->entries[variable].word, expected, desired, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline uint64_t dsm_own_signal(const struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return __atomic_load_n(&dsm->entries[variable].signal, __ATOMIC_SEQ_CST);
}
