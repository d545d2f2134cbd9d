/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The index of a node's cache: from a block's ID to its slot. Read by all clients without a lock;
 * changed by store/store.c, one thread at a time.
 *
 * It only suggests: what counts is the ID and the token in the slot, so that an entry that is gone
 * or new while somebody looks does no harm.
 */
#pragma once

#include "base/fence.h"
#include "cache/layout.h"

#define CACHE_NO_SLOT UINT32_MAX

struct cache_arena {
    const struct cache_shape *shape;
    struct cache_bucket *buckets;
    struct cache_slot *slots;
    char *data; /* the arena's first byte */
};

static inline struct cache_arena cache_arena_at(void *base, const struct cache_shape *shape)
{
    return (struct cache_arena){
        .shape = shape,
        .buckets = base,
        .slots = (struct cache_slot *)((char *)base + shape->slots_offset),
        .data = base,
    };
}

static inline uint64_t cache_index_entry(const uint64_t id[2], uint32_t slot)
{
    return (id[1] & ~0xffffffull) | (slot + 1);
}

/* A block is in one of two buckets; the second does not follow from the first. */
static inline struct cache_bucket *cache_index_bucket(const struct cache_arena *arena,
                                                      const uint64_t id[2], unsigned step)
{
    return &arena->buckets[id[0] >> (step ? 33 : 1) & (arena->shape->bucket_count - 1)];
}

static inline bool cache_slot_holds(const struct cache_slot *slot, const uint64_t id[2])
{
    return atomic_load_explicit(&slot->id[0], memory_order_relaxed) == id[0] &&
           atomic_load_explicit(&slot->id[1], memory_order_relaxed) == id[1];
}

/* The slot that holds this block at the moment and its token; CACHE_NO_SLOT: none. acquire: pairs
 * with the release in which the agent publishes it, so that ID and data are those of the token. */
static inline uint32_t cache_index_find(const struct cache_arena *arena, const uint64_t id[2],
                                        uint64_t *token)
{
    for (unsigned step = 0; step < 2; step++) {
        const struct cache_bucket *bucket = cache_index_bucket(arena, id, step);
        for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
            uint64_t entry = atomic_load_explicit(&bucket->entry[i], memory_order_acquire);
            uint32_t slot = (uint32_t)(entry & 0xffffff) - 1;
            if (entry == 0 || ((entry ^ id[1]) & ~0xffffffull))
                continue;
            if (slot >= arena->shape->slot_count)
                continue;
            *token = atomic_load_explicit(&arena->slots[slot].token, memory_order_acquire);
            if (*token != 0 && cache_slot_holds(&arena->slots[slot], id))
                return slot;
        }
    }
    return CACHE_NO_SLOT;
}

static inline bool cache_index_has(const struct cache_arena *arena, const uint64_t id[2])
{
    uint64_t token;
    return cache_index_find(arena, id, &token) != CACHE_NO_SLOT;
}

/* Where `length` bytes of a slot's block are, from `within` on; NULL: it has not so many, or the
 * slot is another block's by now. Between cache_index_find() and cache_slot_stands(). */
static inline const char *cache_slot_bytes(const struct cache_arena *arena, uint32_t slot,
                                           uint64_t within, uint64_t length)
{
    const struct cache_slot *header = &arena->slots[slot];
    uint64_t offset = atomic_load_explicit(&header->offset, memory_order_relaxed);
    uint64_t all = atomic_load_explicit(&header->length, memory_order_relaxed);
    if (within + length > all || offset > arena->shape->arena_length ||
        all > arena->shape->arena_length - offset)
        return NULL;
    return arena->data + offset + within;
}

/* Whether the token still stands after the data has been read: then the data is that of the ID. */
static inline bool cache_slot_stands(const struct cache_slot *slot, uint64_t token)
{
    load_fence(); /* the copy before, the look after */
    return atomic_load_explicit(&slot->token, memory_order_relaxed) == token;
}
