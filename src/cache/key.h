/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of contents: which file as of when (128 bits), which block of it (128 bits), which word
 * says whether somebody writes it.
 *
 * The numbers are hashes, so that a name fits the two words of a slot and needs no table of files.
 * With 128 bits two of a cluster's blocks share one about as often as memory fails unnoticed. They
 * must come out the same on all nodes of a job, and need not on anything else.
 */
#pragma once

#include "base/splitmix.h"

#include <stdint.h>
#include <sys/stat.h>

/* What a file's contents depend on. ctime is part of it because mtime can be set back. */
struct cache_key {
    uint64_t file_system; /* the same on every node that mounts it; see mounts.h */
    uint64_t inode;
    int64_t mtime_ns, ctime_ns;
    uint64_t size;
};

static inline int64_t cache_time_ns(const struct timespec *time)
{
    return time->tv_sec * 1000000000LL + time->tv_nsec;
}

static inline struct cache_key cache_key_of(uint64_t file_system, const struct stat *status)
{
    return (struct cache_key){.file_system = file_system,
                              .inode = status->st_ino,
                              .mtime_ns = cache_time_ns(&status->st_mtim),
                              .ctime_ns = cache_time_ns(&status->st_ctim),
                              .size = (uint64_t)status->st_size};
}

static inline uint64_t cache_mix2(uint64_t a, uint64_t b)
{
    return splitmix_mix(splitmix_mix(a) + SPLITMIX_STEP + b);
}

static inline void cache_key_id(const struct cache_key *key, uint64_t id[2])
{
    const uint64_t words[] = {key->file_system, key->inode, (uint64_t)key->mtime_ns,
                              (uint64_t)key->ctime_ns, key->size};
    uint64_t a = 0x243f6a8885a308d3u, b = 0x13198a2e03707344u;
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        a = cache_mix2(a, words[i]);
        b = cache_mix2(b, ~words[i]);
    }
    id[0] = a;
    id[1] = b;
}

/* Never 0 in its first word: that marks an empty slot. */
static inline void cache_block_id(const uint64_t file_id[2], uint64_t block, uint64_t id[2])
{
    id[0] = cache_mix2(file_id[0], block) | 1;
    id[1] = cache_mix2(file_id[1], block);
}

/* The word of a file, whatever its contents. */
static inline uint64_t cache_watch_hash(uint64_t file_system, uint64_t inode)
{
    return cache_mix2(file_system, inode);
}
