/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is kept of a folder that its user has declared unchanging (--immutable): its names and what
 * stat(2) says of each. One node asks the file system, for all; what it found is a few blocks of
 * the cache like any others, found by the directory and pulled from node to node.
 *
 *   block 0     LISTING_HEAD bytes: the folder itself, and its table if that fits
 *   block 1...  part_count tables of part_length bytes; a name is in the one that its hash says
 *
 * Clients read tables in the arena, where they may be given up and overwritten at any moment: every
 * offset is looked at before it is followed, and what was found counts if the slot's token stands
 * afterwards.
 */
#pragma once

#include "cache/layout.h"

#include <string.h>

#define LISTING_MAGIC      0x6c697374u
#define LISTING_HEAD       4096u
#define LISTING_PART_MAX   CACHE_BLOCK_MIN
#define LISTING_COUNT_MAX  (1u << 17) /* a folder with more is left to the kernel */
#define LISTING_NAME_MAX   255u
#define LISTING_TARGET_MAX 1023u

/* Of a file, the same on all nodes: so without its device. */
struct listing_status {
    uint32_t mode, links, user, group;
    uint64_t inode, size, blocks, special; /* the last: the device that it is */
    uint32_t block_size, mask;             /* as statx(2) has them */
    struct {
        int64_t seconds;
        int64_t nanoseconds;
    } read, written, changed, born;
};
_Static_assert(sizeof(struct listing_status) == 120, "the same for client and agent");

struct listing_entry {
    struct listing_status status;
    uint16_t name_length, target_length;
    uint16_t
        is_elsewhere; /* another file system is mounted there, or it does not fit: the kernel's */
    uint16_t unused;
    char text[]; /* name and target, each with its zero */
};

/* A name's place in its table; in order of the hash. */
struct listing_place {
    uint32_t hash, offset; /* from the table's beginning */
};

struct listing_table {
    uint32_t magic, count;
    uint64_t stamp; /* the head's */
    struct listing_place place[];
};

struct listing_head {
    uint32_t magic, is_left; /* to the kernel: it is too long */
    uint64_t stamp;          /* of this listing; parts of another one do not belong to it */
    struct listing_status status;
    uint64_t parent_inode;
    uint32_t entry_count, part_count, part_length, unused;
};

/* Where the head's own table is. */
#define LISTING_TABLE (sizeof(struct listing_head))
_Static_assert(LISTING_TABLE % 8 == 0, "tables are aligned");

static inline uint64_t listing_hash(uint64_t hash, const char *text, size_t length)
{
    while (length > 0) {
        uint64_t word = 0;
        size_t part = length < sizeof(word) ? length : sizeof(word);
        memcpy(&word, text, part);
        hash = cache_mix2(hash, word + part);
        text += part;
        length -= part;
    }
    return hash;
}

static inline uint64_t listing_name_hash(const char *name, size_t length)
{
    return listing_hash(0x452821e638d01377u, name, length);
}

/* The block that has a name; the low half of the hash orders names within it. */
static inline uint32_t listing_part(uint64_t hash, uint32_t part_count)
{
    return part_count == 0 ? 0 : 1 + (uint32_t)((hash >> 32) % part_count);
}

/* The ID under which a folder's listing is kept: `below` is its path from the declared folder on,
 * with single slashes and none at either end. */
static inline void listing_id(uint64_t file_system, uint64_t inode, const char *below,
                              size_t length, uint64_t id[2])
{
    id[0] = listing_hash(cache_mix2(file_system, ~inode), below, length);
    id[1] = listing_hash(cache_mix2(~file_system, inode), below, length);
}
