/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reaching the memory of locks: the representative's entries and the peers' qnodes, by pointer
 * where the NIC gives one, else by remote atomics and pushes.
 *
 * A write by pointer into the memory of the dead succeeds and has no effect. That needs no check:
 * who waits for the dead finds out, and the repair does not trust what they were given.
 */
#include "base/clock.h"
#include "msg/lock/lock.h"
#include "rma/inside.h"

#define MEET_NAP_NS (200 * NS_PER_US)

struct rh_remote lock_entry_at(const struct locks *locks, uint32_t lock, size_t field)
{
    uint64_t index = lock / (unsigned)locks->size;
    return rh_at(locks->mine[lock].home, MSG_SID_LOCKS,
                 locks->entries_offset + index * sizeof(struct lock_entry) + field);
}

struct rh_remote lock_qnode_at(const struct locks *locks, int rank, uint32_t lock, size_t field)
{
    return rh_at(rank, MSG_SID_LOCKS,
                 locks->qnodes_offset + lock * sizeof(struct lock_qnode) + field);
}

/* ---- The representative --------------------------------------------------------------------- */

int lock_home_check(const struct locks *locks, uint32_t lock)
{
    const struct lock_mine *mine = &locks->mine[lock];
    if (rh_peer_state(locks->job, mine->home) < RH_PEER_LEFT)
        return 0;
    return error_set(RH_EDEAD, mine->home, "rank %d, which looks after lock %u, is gone",
                     mine->home, lock);
}

static int await_header(struct locks *locks, int home, int64_t deadline_ns)
{
    struct lock_header header;
    for (;;) {
        int result = rh_pull(locks->job, rh_at(home, MSG_SID_LOCKS, 0), &header, sizeof(header));
        if (result < 0)
            return result;
        if (header.is_ready)
            break;
        if (rh_clock_ns(locks->job) >= deadline_ns)
            return error_set(RH_ETIMEOUT, home, "rank %d does not finish opening its mailbox",
                             home);
        lock_nap(locks, &locks->qnodes[0].state, lock_load(&locks->qnodes[0].state), MEET_NAP_NS);
    }
    if (header.lock_count == locks->count)
        return 0;
    return error_set(RH_EINVALID, home,
                     "rank %d has RHINET_LOCKS=%llu, this one %u; give all ranks of a job the same",
                     home, (unsigned long long)header.lock_count, locks->count);
}

int lock_home_meet(struct locks *locks, uint32_t lock, int64_t deadline_ns)
{
    struct lock_mine *mine = &locks->mine[lock];
    if (__atomic_load_n(&mine->is_met, __ATOMIC_ACQUIRE)) /* pairs with the store below */
        return 0;
    int64_t left = rma_left_ns(locks->job, deadline_ns);
    int result = rh_segment_wait(locks->job, mine->home, MSG_SID_LOCKS, left);
    if (result == 0)
        result = await_header(locks, mine->home, deadline_ns);
    if (result < 0)
        return result;
    uint64_t *last = rh_remote_ptr(locks->job, lock_entry_at(locks, lock, 0), 8);
    __atomic_store_n(&mine->last, last, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->is_met, true, __ATOMIC_RELEASE);
    return 0;
}

static int far_atomic(struct locks *locks, struct rh_remote word,
                      const struct nic_atomic_operands *operands, const struct lock_step *step,
                      uint64_t *old)
{
    struct nic_atomic_operands asked = *operands;
    int result;
    asked.ticket = step->ticket;
    asked.ticket->deadline_ns = step->deadline_ns != 0
                                    ? step->deadline_ns
                                    : rma_deadline_ns(locks->job, RH_TIMEOUT_DEFAULT);
    do
        result = rma_atomic(locks->job, word, &asked, old);
    while (result == RH_ETIMEOUT && rh_clock_ns(locks->job) < asked.ticket->deadline_ns);
    return result;
}

int lock_swap_if(struct locks *locks, struct rh_remote word, uint64_t expected, uint64_t desired,
                 const struct lock_step *step, uint64_t *old)
{
    struct nic_atomic_operands operands = {
        .operation = NIC_COMPARE_SWAP, .operand = desired, .expected = expected};
    return far_atomic(locks, word, &operands, step, old);
}

int lock_swap_if_once(struct locks *locks, struct rh_remote word, uint64_t expected,
                      uint64_t desired, uint64_t *old)
{
    struct nic_ticket ticket = {0};
    struct lock_step step = {.ticket = &ticket,
                             .deadline_ns = rma_deadline_ns(locks->job, RH_TIMEOUT_DEFAULT)};
    return lock_swap_if(locks, word, expected, desired, &step, old);
}

int lock_last_swap(struct locks *locks, uint32_t lock, uint64_t name, const struct lock_step *step,
                   uint64_t *old)
{
    uint64_t *last = locks->mine[lock].last;
    struct nic_atomic_operands operands = {.operation = NIC_SWAP, .operand = name};
    if (!last)
        return far_atomic(locks, lock_entry_at(locks, lock, offsetof(struct lock_entry, last)),
                          &operands, step, old);
    *old = __atomic_exchange_n(last, name, __ATOMIC_SEQ_CST);
    return 0;
}

int lock_last_swap_if(struct locks *locks, uint32_t lock, uint64_t expected, uint64_t desired,
                      const struct lock_step *step, uint64_t *old)
{
    uint64_t *last = locks->mine[lock].last;
    if (!last)
        return lock_swap_if(locks, lock_entry_at(locks, lock, offsetof(struct lock_entry, last)),
                            expected, desired, step, old);
    *old = expected;
    __atomic_compare_exchange_n(last, old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return 0;
}

/* ---- Peers' qnodes -------------------------------------------------------------------------- */

struct lock_qnode *lock_qnode_find(struct locks *locks, int rank, uint32_t lock)
{
    struct lock_peer *peer = &locks->peers[rank];
    if (atomic_load_explicit(&peer->is_known, memory_order_relaxed))
        return NULL;
    struct lock_qnode *qnodes = rh_remote_ptr(locks->job, lock_qnode_at(locks, rank, 0, 0),
                                              locks->count * sizeof(*qnodes));
    atomic_store_explicit(&peer->qnodes, qnodes,
                          memory_order_release); /* pairs with lock_qnode_of */
    atomic_store_explicit(&peer->is_known, true, memory_order_relaxed);
    return qnodes ? qnodes + lock : NULL;
}

void lock_peers_forget(struct locks *locks)
{
    for (int rank = 0; rank < locks->size; rank++) {
        atomic_store_explicit(&locks->peers[rank].is_known, false, memory_order_relaxed);
        atomic_store_explicit(&locks->peers[rank].qnodes, NULL, memory_order_relaxed);
    }
}

int lock_qnode_read(struct locks *locks, int rank, uint32_t lock, struct lock_qnode *qnode)
{
    if (rank == locks->rank) {
        const struct lock_qnode *own = &locks->qnodes[lock];
        qnode->grant = lock_load(&own->grant);
        qnode->state = lock_load(&own->state);
        qnode->next = lock_load(&own->next);
        qnode->pred = lock_load(&own->pred);
        return 0;
    }
    return rh_pull(locks->job, lock_qnode_at(locks, rank, lock, 0), qnode, sizeof(*qnode));
}

void lock_nap(struct locks *locks, const uint64_t *word, uint64_t value, int64_t nap_ns)
{
    struct rh_wait wait = {.word = word,
                           .when = RH_NOT_EQUAL,
                           .value = value,
                           .from = locks->rank, /* nobody's death ends it */
                           .timeout_ns = nap_ns};
    rh_wait_word(locks->job, &wait);
}
