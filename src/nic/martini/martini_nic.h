/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the NIC itself share: martini.c (opening, segments, transfers),
 * martini_queue.c (receiving), martini_wait.c (waiting, and the calls that all of it is made of).
 */
#pragma once

#include "nic/martini/call.h"

#include <pthread.h>

/* An own segment. */
struct martini_segment {
    rh_sid sid;
    enum nic_segment_kind kind;
    char *base;
    uint64_t mapped; /* to unmap; 0: the program's */
    struct martini_queue_cut cut;
    uint64_t head; /* of a queue: messages received */
    struct martini_segment *next;
};

struct martini_nic {
    struct nic nic;
    const struct martini_port *port;
    struct martini_client *client; /* whose port it is; NULL: the world is here */
    pthread_mutex_t lock;          /* of the list */
    struct martini_segment *segments;
    uint64_t segment_count;
    _Atomic uint32_t
        gone_count; /* ranks that have left or died, as far as the roster was waited for */
};

static inline struct martini_nic *martini_of(struct nic *nic)
{
    return (struct martini_nic *)nic;
}

/* A call whose refusals count, and whose failure is about call->rank. */
int martini_ask(struct nic *nic, struct martini_call *call, const char *during);
/* A call that does not fail, or whose failure says enough. */
int martini_tell(struct nic *nic, struct martini_call *call);
/* The refusal for a rank that is gone, as the simulation says. */
int martini_peer_gone(struct nic *nic, int rank, const char *during);
/* A look in vain costs time, or a program that looks again and again would stop the clock.
 * has_more: the caller has other places to look at. */
void martini_poll_empty(struct nic *nic, bool has_more);
int64_t martini_now_ns(struct nic *nic);
int martini_wait(struct nic *nic, const struct nic_wait *wait);

bool martini_queue_has_message(struct nic *nic, const void *memory);
int martini_append_try(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                       struct nic_ticket *ticket);
int martini_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                   int64_t timeout_ns);
int martini_queue_peek(struct nic *nic, void *memory, struct rh_arrival *arrival);
void martini_queue_release(struct nic *nic, void *memory);
