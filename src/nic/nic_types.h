/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of the contract that also the layers above rma use (rma/inside.h): atomic operations, and
 * tickets for what must not happen twice.
 */
#pragma once

#include <rhinet/rma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum nic_atomic { NIC_FETCH_ADD, NIC_FETCH_OR, NIC_FETCH_AND, NIC_SWAP, NIC_COMPARE_SWAP };

/* For operations that must not happen twice. When one ends with RH_ETIMEOUT and its ticket is open,
 * it is in doubt: it has been carried out, or will be, or not. It is continued, not repeated, by
 * the same call with the same ticket, which then brings its result as if nothing had happened; only
 * RH_ETIMEOUT leaves the ticket open. While it is closed a time-out means that nothing was done,
 * nor will be. One thread at a time. An open ticket may be forgotten: then the operation happens at
 * most once, and what it gave is never known. Zeroed to begin with.
 *
 * NIC martini cannot continue: there a packet is lost only with its pair of nodes, for good, so
 * that whoever begins again never hears either. An append in doubt leaves its ticket open and is
 * made again; an atomic operation leaves it closed, and is in doubt for ever. */
struct nic_ticket {
    bool is_open;
    int64_t deadline_ns; /* of this call, by nic_now_ns(); 0: the default time-out from now */
    void *handle;        /* the NIC's own */
};

struct nic_atomic_operands {
    enum nic_atomic operation;
    uint64_t operand;          /* for NIC_COMPARE_SWAP the desired value */
    uint64_t expected;         /* NIC_COMPARE_SWAP only */
    struct nic_ticket *ticket; /* or NULL */
};

/* The instruction itself. */
static inline uint64_t nic_atomic_apply(_Atomic uint64_t *word,
                                        const struct nic_atomic_operands *operands)
{
    uint64_t expected = operands->expected;
    switch (operands->operation) {
    case NIC_FETCH_ADD:
        return atomic_fetch_add(word, operands->operand);
    case NIC_FETCH_OR:
        return atomic_fetch_or(word, operands->operand);
    case NIC_FETCH_AND:
        return atomic_fetch_and(word, operands->operand);
    case NIC_SWAP:
        return atomic_exchange(word, operands->operand);
    case NIC_COMPARE_SWAP:
        atomic_compare_exchange_strong(word, &expected, operands->operand);
        return expected;
    }
    return 0;
}

/* Whether a word meets a wait's condition. acquire: what its writer wrote before is visible. */
static inline bool nic_word_is_met(const uint64_t *word, enum rh_when when, uint64_t value)
{
    uint64_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    switch (when) {
    case RH_EQUAL:
        return now == value;
    case RH_NOT_EQUAL:
        return now != value;
    case RH_AT_LEAST:
        return now >= value;
    }
    return false;
}

/* Looks until it does, that often at most; the last look does not count. A loop per condition: what
 * stands between two looks is latency. */
static inline bool nic_spin_on_word(const uint64_t *word, enum rh_when when, uint64_t value,
                                    unsigned looks)
{
    switch (when) {
    case RH_EQUAL:
        while (looks > 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
            looks--;
        break;
    case RH_NOT_EQUAL:
        while (looks > 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
            looks--;
        break;
    case RH_AT_LEAST:
        while (looks > 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
            looks--;
        break;
    }
    return looks > 0;
}
