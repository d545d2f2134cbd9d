/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See index.h.
 */
#include "cache/index.h"

static bool replace(struct cache_arena *arena, const uint64_t id[2], uint64_t before,
                    uint64_t after)
{
    uint32_t mask = arena->shape->bucket_count - 1;
    for (uint32_t step = 0; step < 2; step++) {
        struct cache_bucket *bucket = &arena->buckets[((id[0] >> 1) + step) & mask];
        for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
            if (atomic_load_explicit(&bucket->entry[i], memory_order_relaxed) != before)
                continue;
            /* release: pairs with the load in cache_index_find() */
            atomic_store_explicit(&bucket->entry[i], after, memory_order_release);
            return true;
        }
    }
    return false;
}

bool cache_index_add(struct cache_arena *arena, const uint64_t id[2], uint32_t slot)
{
    return replace(arena, id, 0, cache_index_entry(id, slot));
}

void cache_index_remove(struct cache_arena *arena, const uint64_t id[2], uint32_t slot)
{
    replace(arena, id, cache_index_entry(id, slot), 0);
}
