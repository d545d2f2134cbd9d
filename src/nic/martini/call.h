/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank asks of its station: one struct for all operations, filled in by the NIC (martini.c),
 * carried out by station_serve(). It is also what travels between a rank's process and the server,
 * so it holds numbers only; addresses are the rank's.
 */
#pragma once

#include "nic/martini/martini.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

enum martini_operation {
    MARTINI_NOW,
    /* until memory changes, somebody dies, or timeout_ns: RH_ETIMEOUT. Meanwhile the rank reads, if
     * `value` is not 0, so many words from `address` on, `length` bytes apart */
    MARTINI_PAUSE,
    /* a look in vain: the same for timeout_ns, so that who looks again and again does not stop the
     * clock; `value`: by somebody who has other places to look at, too */
    MARTINI_LOOK,
    MARTINI_PARK,  /* until memory changes, or nothing can happen but outside of the world */
    MARTINI_SLEEP, /* timeout_ns, whatever happens */
    MARTINI_SEGMENT_ADD,
    MARTINI_SEGMENT_REMOVE,
    MARTINI_VIEW,
    MARTINI_PUSH,
    MARTINI_PULL,
    MARTINI_STORE,
    MARTINI_ATOMIC,
    MARTINI_APPEND,
    MARTINI_RELEASE, /* of a queue: `value` messages so far */
    MARTINI_FLUSH,
    MARTINI_WAKE,
    MARTINI_LEAVE,
    MARTINI_OPERATIONS
};

/* What is written behind the data of a push. */
struct martini_notice {
    rh_sid sid;
    uint32_t is_wanted;
    uint32_t follows; /* its value stands behind the source, too */
    uint32_t padding;
    uint64_t offset, value;
};

struct martini_call {
    uint32_t operation;
    int32_t rank;
    rh_sid sid;
    uint32_t rights;
    uint64_t offset, address, length;
    uint64_t done; /* address of a struct rh_done's state; 0: wait */
    uint32_t is_inline;
    uint32_t kind;       /* enum nic_segment_kind: given to add, told by view */
    uint64_t generation; /* told by add and view; given to store */
    struct rh_queue_shape shape;
    struct martini_notice notice;
    uint64_t value; /* of a store; before an atomic; of an append: 1, the queue was full */
    struct nic_atomic_operands operands;
    int64_t timeout_ns;
    /* What the rank has computed since its last call, and how many calls of the library it had
     * returned from then. Only the server minds. */
    uint64_t computed_ns, computed_calls;
    uint64_t copied; /* bytes, by the library */
    /* Behind something that all ranks wait for outside of the world, such as MPI's start: begins
     * when all have come to it. Only the server minds. */
    uint32_t is_gathering;
    uint32_t is_patient; /* a look that may take longer, the more of them there are: server.c */

    /* the answer: */
    int32_t result;
    int32_t error_rank;
    int64_t now_ns;
    uint32_t gone;  /* ranks that have left or died */
    char text[256]; /* why it failed; filled in by the server only */
};

/* Where the parts of a queue's memory are. A short queue is a ring of VPUSH: a word for each slot,
 * then the slots. A long one has the words by which the firmware claims slots, their table, then
 * the slots. */
struct martini_queue_cut {
    uint32_t count; /* slots, a power of two */
    bool is_long;
    uint64_t table, slots, stride, length;
};
#define MARTINI_SHORT_MAX 2048 /* what fits a packet */
#define MARTINI_TABLE_AT  64   /* of a long queue: the first words are tail and head */

/* length 0: too large. */
struct martini_queue_cut martini_queue_cut(struct rh_queue_shape shape);

/* A word of a long queue's table; 0: free. */
#define MARTINI_CLAIMED            (1ULL << 63)
#define MARTINI_PUBLISHED          (1ULL << 62)
#define MARTINI_MARK(rank)         (MARTINI_CLAIMED | (uint64_t)(rank) << 32)
#define MARTINI_WORD(rank, length) (MARTINI_PUBLISHED | (uint64_t)(rank) << 32 | (length))
#define MARTINI_WORD_RANK(word)    ((int)((word) >> 32 & 0x3fffffff))
#define MARTINI_WORD_LENGTH(word)  ((uint32_t)(word))

/* ---- The door -------------------------------------------------------------------------------- */

/* Where the ranks of other people's launchers find the simulation: an abstract socket, which is
 * gone when the last who has it open is. The first message is the rank, as an int32_t; from then on
 * it is what `rhinet run` gives a rank. */
#define MARTINI_DOOR_NAME 33 /* hexadecimal digits, and a 0 */

static inline socklen_t martini_door_address(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "rhinet-martini-%s",
                          name);
    size_t most = sizeof(address->sun_path) - 2;
    size_t used = (size_t)length < most ? (size_t)length : most;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + used);
}
