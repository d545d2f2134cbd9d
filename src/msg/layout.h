/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What mailboxes say to each other, and the memory in which peers write it. Both ends must agree on
 * all of this.
 */
#pragma once

#include "msg/msg.h"

#define SLOT_INLINE  48 /* bytes of a message inside a slot */
#define LANE_COUNT   4  /* senders of one receiver that get a lane */
#define LANE_SLOTS   256
#define LANE_BLOCKS  8 /* of which this many at a time may have a block */
#define BLOCK_LENGTH 8192
#define INBOX_SLOTS  128
#define INBOX_LENGTH 2048 /* longest message that is appended whole */
#define INBOX_CREDIT 32   /* messages of one sender that may lie unreceived */
#define SENDS_MAX    1024 /* long messages of one sender under way at a time */

/* ---- What travels --------------------------------------------------------------------------- */

enum slot_kind {
    SLOT_INLINED = 1, /* the message is in the slot */
    SLOT_BLOCK,       /* in the lane's block, or behind the head in the inbox */
    SLOT_RTS,         /* it is long: request to send, struct rts */
    /* Control, by the inbox only and without credit, so that no message stands in its way: */
    SLOT_CTS,          /* to a sender: clear to send, struct cts */
    SLOT_WITHDRAW_ACK, /* to a sender: its withdrawal is known */
    SLOT_WITHDRAW,     /* to a receiver: the sender has given up */
    /* A push of its timed out, and it must make it again, see tests/model/hold.pml: */
    SLOT_HOLD,  /* to a receiver: keep the stream */
    SLOT_HELD,  /* to a sender: it is kept, push */
    SLOT_LET_GO /* to a receiver: all that was pushed is there */
};

/* Without the slot's number this is also what is appended to an inbox; there the kind has a number
 * of its own in its upper bits, by which a receiver knows an append that was made twice
 * (post.c). */
struct slot_head {
    int32_t tag;
    uint16_t kind;
    uint16_t length; /* of what follows */
};

struct slot {
    alignas(64) uint64_t number; /* position in the lane + 1; the notice, so it arrives last */
    struct slot_head head;
    char data[SLOT_INLINE];
};
_Static_assert(sizeof(struct slot) == 64, "a slot is one cache line");

#define KIND_BITS   4
#define NUMBER_MASK (UINT16_MAX >> KIND_BITS)
_Static_assert(SLOT_LET_GO < 1 << KIND_BITS, "a kind and a number share 16 bits");

struct rts {
    uint64_t length;
    uint64_t send_id;      /* the sender's name for it, which is never used again */
    uint32_t pull_sid;     /* where to pull it from, or 0: it must go through the ring */
    uint32_t is_both_ends; /* and the sender helps, if it is told where to push */
};

struct cts {
    uint64_t send_id;
    uint64_t first_chunk; /* chunks are numbered on from here */
    uint32_t stream;
    uint32_t
        is_both_ends; /* through MSG_SID_BOTH_ENDS + stream; else through the stream's blocks */
};

/* ---- Memory that peers write ---------------------------------------------------------------- */

struct lanes {
    alignas(64) uint64_t taken; /* lanes asked for so far; may exceed LANE_COUNT */
    struct {
        alignas(64) uint64_t owner; /* rank + 1 | messages it sent by the inbox before << 32 */
    } info[LANE_COUNT];
    struct slot slot[LANE_COUNT][LANE_SLOTS];
    char block[LANE_COUNT][LANE_BLOCKS][BLOCK_LENGTH];
};

/* What receivers give back to this sender. */
struct returns {
    uint64_t done[SENDS_MAX]; /* of long messages, by their place: see done_word() */
    struct {
        alignas(64) uint64_t lane_done;
        uint64_t inbox_done;
        uint64_t blocks_done;
    } peer[];
};

/* What a receiver tells of a long message: which one, and how many chunks it has done. The sender
 * writes the word without any chunk before its RTS. A name is a place and a count; after 2^32
 * messages the word could be mistaken, if one of the first was still being told. */
static inline uint64_t done_word(uint64_t send_id, uint32_t chunks)
{
    return send_id / SENDS_MAX << 32 | chunks;
}

static inline bool is_same_message(uint64_t word, uint64_t other)
{
    return word >> 32 == other >> 32;
}
