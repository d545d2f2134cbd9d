/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The writer's side of the index (cache/index.h); inside the store's lock.
 */
#include "cache/store/store.h"

#define BUCKET_CROWDED 6

static bool replace_entry(struct cache_bucket *bucket, uint64_t before, uint64_t after)
{
    for (unsigned i = 0; i < CACHE_ENTRIES; i++) {
        if (atomic_load_explicit(&bucket->entry[i], memory_order_relaxed) != before)
            continue;
        /* release: pairs with the load in cache_index_find() */
        atomic_store_explicit(&bucket->entry[i], after, memory_order_release);
        return true;
    }
    return false;
}

static unsigned entry_count(const struct cache_bucket *bucket)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CACHE_ENTRIES; i++)
        count += atomic_load_explicit(&bucket->entry[i], memory_order_relaxed) != 0;
    return count;
}

/* In the first bucket, where it is found sooner; when that fills, in the emptier one. */
bool store_index_add(struct cache_arena *arena, const uint64_t id[2], uint32_t slot)
{
    struct cache_bucket *first = cache_index_bucket(arena, id, 0);
    struct cache_bucket *second = cache_index_bucket(arena, id, 1);
    unsigned count = entry_count(first);
    bool is_second = count >= BUCKET_CROWDED && entry_count(second) < count;
    return replace_entry(is_second ? second : first, 0, cache_index_entry(id, slot));
}

void store_index_remove(struct cache_arena *arena, const uint64_t id[2], uint32_t slot)
{
    uint64_t entry = cache_index_entry(id, slot);
    if (!replace_entry(cache_index_bucket(arena, id, 0), entry, 0))
        replace_entry(cache_index_bucket(arena, id, 1), entry, 0);
}
