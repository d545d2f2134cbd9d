/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of a node's cache is kept for blocks that nobody else has.
 *
 * The paper fixes it: 0.5 was best overall, 0.9 for data that just fits all caches together, less
 * for small data. Here it also adapts. Each node remembers the names of blocks that it gave up
 * lately. One that was the last copy and is wanted again costs a read from the file system: more
 * room for singlets would have saved it. One that others still have costs a fetch: less room would
 * have. The two pull at the ratio with the times that they cost; the loss of a last copy pulls for
 * all nodes, because any of them may be the one that notices.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct policy {
    double fixed;   /* the ratio; negative: it adapts */
    uint64_t bytes; /* of the cache */
    uint32_t node_count;
    uint32_t ghost_count;               /* power of two */
    _Atomic uint64_t *ghosts;           /* names of blocks given up; the lowest bit: last copy */
    _Atomic uint32_t ratio;             /* in use, in millionths */
    _Atomic uint64_t load_ns, fetch_ns; /* what a miss costs, smoothed */
};

struct policy_options {
    double ratio; /* 0 to 0.99, or negative: it adapts */
    uint64_t bytes;
    uint32_t slot_count, node_count;
};

/* 0 or -ENOMEM. */
int policy_open(struct policy *policy, const struct policy_options *options);
void policy_close(struct policy *policy);

/* How much the singlet list may have, in bytes. */
uint64_t policy_singlets_max(const struct policy *policy);

/* A block was given up. */
void policy_gave_up(struct policy *policy, const uint64_t id[2], bool was_last);

/* A block was brought in time_ns, from the file system or from another node. */
struct policy_arrival {
    const uint64_t *id;
    uint64_t length;
    int64_t time_ns;
    bool was_loaded;
};
void policy_brought(struct policy *policy, const struct policy_arrival *arrival);
