/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The word: everything that decides who may do what with a variable, as seen from one rank, in 64
 * bits, so that each step of the protocol is one atomic operation on one rank's word.
 *
 *   bits  0 to 11   flags, see below
 *   bits 12 to 23   readers: threads of this rank that hold it for reading
 *   bits 24 to 39   hint: the rank that owns it, as far as known here; for an owner that has just
 *                   been made one, the rank that has the data
 *   bits 40 to 63   copies (owner only): a bit for each group of ranks (rank mod 24) of which one
 *                   may have a valid copy; too many bits set are harmless, one missing is not
 *
 * dsm.h tells the protocol; tests/model/dsm.pml is its model.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WORD_VALID      0x001ULL /* the data here is the newest */
#define WORD_OWNER      0x002ULL
#define WORD_WRITER     0x004ULL /* owner only: a thread of this rank holds it for writing */
#define WORD_SERVING    0x008ULL /* owner only: a thread is handing it to those who wait */
#define WORD_TAKING     0x010ULL /* a thread of this rank is on its way to own it */
#define WORD_FETCHING   0x020ULL /* a thread of this rank is reading the owner's data */
#define WORD_WAIT_READ  0x040ULL /* stands in the owner's waiters; whoever owns it may grant it */
#define WORD_WAIT_WRITE 0x080ULL
#define WORD_WANTED     0x100ULL /* somebody stands in the waiters of this entry */
#define WORD_GRANTED    0x400ULL /* to read, to the thread that waits, which has yet to see it */
#define WORD_FRESH      0x200ULL /* the copy was pushed here and has not been read yet */

/* A thread of this rank is off the fast path; others of the rank wait for it. It alone ends that: a
 * grant leaves one of these, so that no other thread's wait can be taken for its own. */
#define WORD_BUSY (WORD_TAKING | WORD_FETCHING | WORD_WAIT_READ | WORD_WAIT_WRITE | WORD_GRANTED)
/* Nobody else may begin to read or write. */
#define WORD_TAKEN (WORD_WRITER | WORD_SERVING)

#define WORD_READER_SHIFT 12
#define WORD_READER_ONE   (1ULL << WORD_READER_SHIFT)
#define WORD_READERS      (0xfffULL << WORD_READER_SHIFT)
#define WORD_HINT_SHIFT   24
#define WORD_HINT         (0xffffULL << WORD_HINT_SHIFT)
#define WORD_RANKS_MAX    0xffff
#define WORD_COPIES_SHIFT 40
#define WORD_COPY_GROUPS  24
#define WORD_COPIES       (0xffffffULL << WORD_COPIES_SHIFT)

static inline int word_hint(uint64_t word)
{
    return (int)((word & WORD_HINT) >> WORD_HINT_SHIFT);
}

static inline uint64_t word_with_hint(uint64_t word, int rank)
{
    return (word & ~WORD_HINT) | (uint64_t)rank << WORD_HINT_SHIFT;
}

/* The bit of a rank among the copies. */
static inline uint64_t word_copy(int rank)
{
    return 1ULL << (WORD_COPIES_SHIFT + rank % WORD_COPY_GROUPS);
}

/* Whether an owner's word lets a reader have the data, and a writer have all. */
static inline bool word_is_readable(uint64_t word)
{
    return (word & (WORD_OWNER | WORD_TAKEN)) == WORD_OWNER;
}

static inline bool word_is_free(uint64_t word)
{
    return (word & (WORD_OWNER | WORD_TAKEN | WORD_READERS)) == WORD_OWNER;
}
