/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reordering: pushes and stores that nobody waits for are held back, and let go in another order.
 *
 * What is held has not completed, so the contract lets anything overtake it. It is let go at the
 * latest by the next call that waits, flushes, receives or does a blocking operation; and nothing
 * is held while another thread waits, because that wait may be for what the held operation causes.
 */
#pragma once

#include "nic/nic.h"

#include <pthread.h>

#define FAULT_HELD_MAX 8

struct fault_held {
    struct rh_remote target;
    const void *source; /* the program's, or copy */
    size_t length;
    struct rh_done *done; /* NULL: inline, or a store */
    struct rh_notice notice;
    bool has_notice;
    struct nic_view view; /* for a store, of the inner NIC */
    uint64_t store_offset;
    uint64_t store_value;
    unsigned store_width; /* 0: this is a push */
    unsigned char copy[RH_INLINE_MAX];
};

struct fault_hold {
    struct nic *inner;
    pthread_mutex_t lock;
    _Atomic unsigned held_count; /* changed under the lock; read without it to skip an empty hold */
    unsigned waiting_count;
    uint64_t random;
    int late_error; /* of something that nobody had waited for, for the next flush */
    int late_rank;
    struct fault_held held[FAULT_HELD_MAX];
};

void fault_hold_init(struct fault_hold *hold, struct nic *inner, uint64_t seed);
void fault_hold_destroy(struct fault_hold *hold);

/* Try to hold an operation back. True: it is held, report success. False: do it now. */
bool fault_hold_add(struct fault_hold *hold, const struct fault_held *operation);

/* Let everything go, in an order of its own. */
void fault_hold_release(struct fault_hold *hold);

/* Around a wait: nothing is held meanwhile. */
void fault_hold_wait_begin(struct fault_hold *hold);
void fault_hold_wait_end(struct fault_hold *hold);

/* The error of an inline push or store on rank (RH_ANY_RANK: any) that failed when it was let go,
 * once; else 0. */
int fault_hold_late_error(struct fault_hold *hold, int rank);
