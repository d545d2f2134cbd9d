/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which bytes of a node's cache are whose. The memory is one row of extents, each taken or free, of
 * any length in units: what a block does not need is somebody else's, so that memory moves between
 * large and small without having been divided beforehand.
 *
 * Free extents are in lists by length, so that one that fits closely is found without looking at
 * all. Whole blocks are taken from a free extent's start and lie at multiples of their length;
 * everything else from its end: the two keep apart as long as there is room.
 *
 * Not for threads: store.c has the lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define EXTENT_NONE UINT32_MAX

#define EXTENT_STEPS 8                   /* lists for lengths from one power of two to the next */
#define EXTENT_LISTS (48 * EXTENT_STEPS) /* more than any memory has */
#define EXTENT_WORDS ((EXTENT_LISTS + 63) / 64)

struct extent {
    uint64_t offset, length;
    uint32_t before, after;  /* in the row, or EXTENT_NONE */
    uint32_t next, previous; /* among the free of this length; next: of those not in use at all */
    uint32_t owner;          /* EXTENT_NONE: free */
};

struct extents {
    struct extent *extent;
    uint32_t count_max, used; /* how many there can be; how many have ever been in use */
    uint32_t spare;           /* not in use, by `next` */
    uint32_t list[EXTENT_LISTS];
    uint64_t is_filled[EXTENT_WORDS]; /* bit: the list is not empty */
    uint64_t taken_bytes;
};

/* So many bytes, in at most so many pieces that are taken. 0 or -ENOMEM. */
int extents_open(struct extents *extents, uint64_t length, uint32_t taken_max);
void extents_close(struct extents *extents);

/* length is a multiple of `alignment`, a power of two that is at least a unit. Returns the extent;
 * EXTENT_NONE: no free one is long enough. */
struct extent_wish {
    uint64_t length, alignment;
    bool is_low; /* from the start of a free extent */
    uint32_t owner;
};
uint32_t extents_take(struct extents *extents, const struct extent_wish *wish);
void extents_give(struct extents *extents, uint32_t index);

/* Whether the memory from `first` to `end` has room for what is wished; *at is where. */
bool extent_fits(const struct extent_wish *wish, uint64_t first, uint64_t end, uint64_t *at);

/* Whether the row has no gap and no two free ones side by side, and the lists are right; for
 * tests. */
bool extents_are_sound(const struct extents *extents);
