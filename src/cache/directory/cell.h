/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of the directory, each changed by one remote compare-and-swap.
 *
 * A row has a head, which says who loads the block from the file system, once for all groups, and a
 * cell for each group, which says where a copy is. Model: tests/model/cache_claim.pml.
 *
 *   head  tag of the block's ID (26), stage (2), loader (14), number of claim (14), renewals (8)
 *   cell  rank (14), slot (22), token (28). Token 0: being fetched by that rank, and instead of the
 *         slot an odd number, another one each time. All 0: nothing.
 *
 * A claim's number makes every claim of a rank another one. Its loader renews it while it loads;
 * whoever waits takes it over when the loader is dead, or when nothing has changed for the length
 * of a lease by the waiter's own clock: clocks of different nodes are never compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CELL_RANKS_MAX  ((1 << 14) - 1)
#define CELL_TOKEN_MASK 0xfffffffull

enum head_stage {
    HEAD_FREE,
    HEAD_CLAIMING, /* the claim's loader makes sure that it is alone */
    HEAD_LOADING,
    HEAD_LOADED
};

static inline uint64_t head_tag(const uint64_t id[2])
{
    return id[1] >> 38;
}

static inline uint64_t head_make(uint64_t tag, enum head_stage stage, int rank, uint32_t claim)
{
    return tag << 38 | (uint64_t)stage << 36 | (uint64_t)rank << 22 |
           (uint64_t)(claim & 0x3fff) << 8;
}

static inline enum head_stage head_stage(uint64_t head)
{
    return (enum head_stage)(head >> 36 & 3);
}

static inline int head_rank(uint64_t head)
{
    return (int)(head >> 22 & 0x3fff);
}

static inline bool head_is(uint64_t head, uint64_t tag)
{
    return head_stage(head) != HEAD_FREE && head >> 38 == tag;
}

static inline uint64_t head_with(uint64_t head, enum head_stage stage)
{
    return (head & ~(3ull << 36)) | (uint64_t)stage << 36;
}

static inline uint64_t head_renewed(uint64_t head)
{
    return (head & ~0xffull) | ((head + 1) & 0xff);
}

/* Where a copy is. */
struct cell_place {
    int rank;
    uint32_t slot;
    uint64_t token; /* low bits */
};

static inline uint64_t cell_make(int rank, uint32_t slot, uint64_t token)
{
    return (uint64_t)rank << 50 | (uint64_t)slot << 28 | (token & CELL_TOKEN_MASK);
}

static inline struct cell_place cell_place(uint64_t cell)
{
    return (struct cell_place){.rank = (int)(cell >> 50),
                               .slot = (uint32_t)(cell >> 28) & 0x3fffff,
                               .token = cell & CELL_TOKEN_MASK};
}

static inline bool cell_is_loaded(uint64_t cell)
{
    return (cell & CELL_TOKEN_MASK) != 0;
}

/* Being fetched by a rank for its group. The number makes it another one each time. */
static inline uint64_t cell_fetching(int rank, uint32_t number)
{
    return (uint64_t)rank << 50 | (uint64_t)((number & 0x1fffff) << 1 | 1) << 28;
}

static inline bool cell_is_fetching(uint64_t cell)
{
    return cell != 0 && !cell_is_loaded(cell);
}

static inline int cell_rank(uint64_t cell)
{
    return (int)(cell >> 50);
}
