/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of this room share; nobody else includes this.
 *
 *   transfers.c  pushes and pulls, repeated until they are answered
 *   messages.c   what ranks say to each other for that
 *   packets.c    messages in packets
 *   datagram.c   opening and closing, and the thread that receives
 */
#pragma once

#include "dsm/datagram/datagram.h"
#include "dsm/datagram/packets.h"

#include <pthread.h>

#define ANSWERS 64u /* that are remembered */

enum say { SAY_WRITE = 1, SAY_WRITTEN = 2, SAY_ASK = 3, SAY_ANSWER = 4 };

/* What a message begins with; data follows in SAY_WRITE and SAY_ANSWER. */
struct head {
    uint64_t say;
    uint64_t transfer; /* number of the transfer at the rank that wants it */
    uint64_t offset;
    uint64_t length;
};

#define DATA_MAX (MESSAGE_MAX - sizeof(struct head))

/* A part of a push or pull, in the memory of the thread that waits for it. */
struct transfer {
    uint64_t number;
    uint64_t message_id; /* of SAY_WRITE: the same when it is repeated */
    int rank;
    bool is_push;
    struct dsm_piece piece;
    _Atomic bool is_done;
    struct transfer *next;
};

/* An answer that has been sent; if it is asked for again it has the same number, so that packets of
 * both add up. */
struct answered {
    int rank;
    uint64_t transfer;
    uint64_t message_id;
};

struct datagram {
    struct rh_dsm *dsm;
    struct rh_queue *queue;
    pthread_t thread;
    _Atomic bool is_ending;
    pthread_mutex_t receiving;    /* held by who receives; what follows is theirs */
    struct assembly **assemblies; /* by sender */
    char *answer;                 /* MESSAGE_MAX bytes */
    struct answered answered[ANSWERS];
    uint64_t answer_count;
    pthread_mutex_t lock; /* what follows */
    struct transfer *waiting;
    uint64_t transfer_count;
    uint64_t *message_ids; /* of the last message to each rank */
};

/* Send what a transfer wants, once. `room` is MESSAGE_MAX bytes. No free slot is no error. */
int datagram_send(struct datagram *datagram, const struct transfer *transfer, char *room);

/* Whoever is there first receives what has come: the thread, or one that waits for an answer and
 * would otherwise keep the thread's core busy. Does not wait. */
void datagram_pump(struct datagram *datagram);

int datagram_pull(const struct dsm_move *what);
int datagram_push(const struct dsm_move *what);
