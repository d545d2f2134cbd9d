/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append (VPUSH): many senders, one receiver-owned queue in arrival order.
 *
 * The queue is a ring of slots, one cache line each, so that a short message travels inside the
 * line that the receiver polls; a longer one lies in the slot's buffer. Messages are numbered:
 * number n uses slot n mod slot_count in round n / slot_count + 1. A sender takes number n by
 * changing the slot's header from "round r - 1, finished" to "round r, claimed by me" with one
 * compare-and-swap, writes the message and then says "published". Since the claim carries the
 * sender's rank, a sender that dies in between is recognised and its slot skipped. A message of at
 * most 8 bytes is claimed, written and published by one double-width compare-and-swap, where the
 * machine has it. `tail` is only a hint where to look for the next free number: whoever finds it
 * behind walks on, so nobody depends on a dead sender for it. The receiver counts what it has
 * finished with in `head`, which is the senders' check for space. Model: tests/model/append.pml.
 */
#pragma once

#include "nic/shm/shm_nic.h"

#define INLINE_MAX 48 /* bytes of a message inside its slot */

/* header = round << 24 | length code << 20 | rank << 2 | state. Rounds count modulo 2^40 (a queue
 * of one slot comes there after 2^40 messages, a day of nothing else), so they are never compared
 * for more or less: a slot is free for a round if it has the one before. */
enum slot_state { SLOT_NEW = 0, SLOT_CLAIMED = 1, SLOT_PUBLISHED = 2, SLOT_SKIPPED = 3 };
#define HEADER_RANK_BITS   18
#define HEADER_ROUND_SHIFT 24
#define ROUND_MAX          (UINT64_MAX >> HEADER_ROUND_SHIFT)
#define LENGTH_CODE_MAX    8   /* up to here the code is the length */
#define LENGTH_IN_SLOT     15u /* the slot says */

struct slot {
    alignas(CACHE_LINE) _Atomic uint64_t header;
    char data[INLINE_MAX];
    uint32_t length;
    uint32_t reserved;
};
_Static_assert(sizeof(struct slot) == CACHE_LINE, "a slot is one cache line");

struct shm_queue {
    alignas(CACHE_LINE) struct shm_queue_cut cut; /* constant; the receiver's copy */
    uint32_t streak; /* the receiver's: messages found waiting, one after the other */
    /* Senders. */
    alignas(CACHE_LINE) _Atomic uint64_t tail;
    /* Written by the receiver, read by senders that find no space. */
    alignas(CACHE_LINE) _Atomic uint64_t head;
    _Atomic uint32_t head_futex; /* changes with head while somebody sleeps for it */
    _Atomic uint32_t senders_waiting;
    alignas(CACHE_LINE) struct slot slot[];
};

static inline uint64_t make_header(uint64_t round, unsigned length_code, int rank,
                                   enum slot_state state)
{
    return round << HEADER_ROUND_SHIFT | (uint64_t)length_code << (HEADER_RANK_BITS + 2) |
           (uint64_t)rank << 2 | state;
}

static inline uint64_t header_round(uint64_t header)
{
    return header >> HEADER_ROUND_SHIFT;
}

/* Whether a slot with this header can be taken in a round for which there is space: numbers are
 * taken one by one, so the round before has been there, unless another sender was faster. */
static inline bool header_is_before(uint64_t header, uint64_t round)
{
    return header_round(header) == ((round - 1) & ROUND_MAX);
}

static inline unsigned header_length_code(uint64_t header)
{
    return (unsigned)(header >> (HEADER_RANK_BITS + 2)) & 15;
}

static inline int header_rank(uint64_t header)
{
    return (int)(header >> 2 & ((1u << HEADER_RANK_BITS) - 1));
}

static inline enum slot_state header_state(uint64_t header)
{
    return (enum slot_state)(header & 3);
}

/* The round in which a number uses its slot; from 1, so that a fresh slot (0) belongs to none. */
static inline uint64_t number_round(const struct shm_queue_cut *cut, uint64_t number)
{
    return ((number >> cut->slot_shift) + 1) & ROUND_MAX;
}

static inline struct slot *number_slot(struct shm_queue *queue, const struct shm_queue_cut *cut,
                                       uint64_t number)
{
    return &queue->slot[number & (cut->slot_count - 1)];
}

static inline char *message_place(struct shm_queue *queue, const struct shm_queue_cut *cut,
                                  uint64_t number, size_t length)
{
    uint64_t index = number & (cut->slot_count - 1);
    if (length <= INLINE_MAX)
        return queue->slot[index].data;
    return (char *)queue + cut->buffers_at + index * cut->buffer_length;
}
