/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the fault NIC share. fault.c tells how it works.
 *
 *   fault.c         opening, closing; views, waiting
 *   fault_push.c    push and store            fault_pull.c  pull and atomics
 *   fault_queue.c   append and receive
 *   fault_strike.c  what all faults share
 */
#pragma once

#include "nic/fault/fault.h"
#include "nic/fault/fault_dice.h"
#include "nic/fault/fault_doubt.h"
#include "nic/fault/fault_hold.h"

#include <pthread.h>

/* A view of the inner NIC, kept because the one handed out hides its pointer. */
struct kept_view {
    struct nic_view view;
    struct kept_view *next;
};

struct fault {
    struct nic nic;
    struct nic *inner;
    bool is_active; /* there is something to inject */
    bool is_hiding; /* direct pointers */
    struct fault_dice dice;
    struct fault_hold hold;
    struct fault_doubts doubts;
    pthread_mutex_t views_lock;
    struct kept_view *views;
};

static inline struct fault *fault_of(struct nic *nic)
{
    return (struct fault *)nic;
}

/* ---- fault_strike.c -------------------------------------------------------------------------- */

/* Choose the fault for one operation and do those that come before it; a negative result is the
 * operation's. plan->effect is left for the caller: drop, reorder, lose, repeat or corrupt. */
int fault_strike(struct fault *fault, enum fault_operation operation, unsigned possible, int rank,
                 struct fault_plan *plan);

/* The error of an operation that was dropped. */
int fault_dropped(enum fault_operation operation, int rank, const struct fault_plan *plan);

/* The answer of a transfer that did not go its usual way: by the done flag where there is one. */
int fault_answer(const struct nic_extra *extra, int result);

void fault_flip_bit(void *data, size_t length, uint64_t random);

/* A damaged copy of data, the caller's to free; NULL if there is no memory for one. */
void *fault_damaged_copy(const void *data, size_t length, uint64_t random);

/* ---- The operations -------------------------------------------------------------------------- */

int fault_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
               const struct nic_extra *extra);
int fault_store(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
                unsigned width);
int fault_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
               const struct nic_extra *extra);
int fault_atomic(struct nic *nic, struct rh_remote target,
                 const struct nic_atomic_operands *operands, uint64_t *old);
int fault_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                 int64_t timeout_ns);
int fault_append_try(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                     struct nic_ticket *ticket);
int fault_queue_peek(struct nic *nic, void *queue, struct rh_arrival *arrival);
void fault_queue_release(struct nic *nic, void *queue);
