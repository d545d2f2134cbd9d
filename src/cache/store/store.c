/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See store.h.
 */
#include "cache/store/store.h"

#include "base/assert.h"
#include "base/fence.h"

#include <errno.h>
#include <stdlib.h>

static bool is_part(const struct store *store, uint32_t slot)
{
    return store->chunks[slot / CACHE_PARTS].use == STORE_PARTS;
}

static uint32_t units_of(const struct store *store, uint32_t slot)
{
    return is_part(store, slot) ? 1 : CACHE_PARTS;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static struct store_list *list_of(struct store *store, uint32_t slot)
{
    return store->slots[slot].state == STORE_SINGLET ? &store->singlet : &store->general;
}

static void list_add(struct store *store, uint32_t slot, enum store_state state)
{
    store->slots[slot].state = (uint8_t)state;
    struct store_list *list = list_of(store, slot);
    store->slots[slot].previous = CACHE_NO_SLOT;
    store->slots[slot].next = list->first;
    if (list->first != CACHE_NO_SLOT)
        store->slots[list->first].previous = slot;
    else
        list->last = slot;
    list->first = slot;
    list->count++;
    list->units += units_of(store, slot);
}

static void list_remove(struct store *store, uint32_t slot)
{
    struct store_list *list = list_of(store, slot);
    struct store_slot *entry = &store->slots[slot];
    if (entry->previous != CACHE_NO_SLOT)
        store->slots[entry->previous].next = entry->next;
    else
        list->first = entry->next;
    if (entry->next != CACHE_NO_SLOT)
        store->slots[entry->next].previous = entry->previous;
    else
        list->last = entry->previous;
    list->count--;
    list->units -= units_of(store, slot);
}

/* For people. */
static void show(struct store *store)
{
    uint64_t used = store->general.units + store->singlet.units;
    atomic_store_explicit(&store->control->used_units, used, memory_order_relaxed);
    atomic_store_explicit(&store->control->singlet_units, store->singlet.units,
                          memory_order_relaxed);
}

/* ---- Free memory ---------------------------------------------------------------------------- */

static uint32_t take_chunk(struct store *store, enum store_use use)
{
    uint32_t slot = store->free_chunks;
    if (slot == CACHE_NO_SLOT)
        return slot;
    store->free_chunks = store->slots[slot].next;
    store->free_chunk_count--;
    store->chunks[slot / CACHE_PARTS] = (struct store_chunk){.use = (uint8_t)use};
    return slot;
}

static void give_chunk(struct store *store, uint32_t first)
{
    store->chunks[first / CACHE_PARTS].use = STORE_UNUSED;
    store->slots[first].next = store->free_chunks;
    store->free_chunks = first;
    store->free_chunk_count++;
}

static void link_part(struct store *store, uint32_t slot)
{
    store->slots[slot].previous = CACHE_NO_SLOT;
    store->slots[slot].next = store->free_parts;
    if (store->free_parts != CACHE_NO_SLOT)
        store->slots[store->free_parts].previous = slot;
    store->free_parts = slot;
}

static void unlink_part(struct store *store, uint32_t slot)
{
    struct store_slot *entry = &store->slots[slot];
    if (entry->previous != CACHE_NO_SLOT)
        store->slots[entry->previous].next = entry->next;
    else
        store->free_parts = entry->next;
    if (entry->next != CACHE_NO_SLOT)
        store->slots[entry->next].previous = entry->previous;
}

static uint32_t take_part(struct store *store)
{
    if (store->free_parts == CACHE_NO_SLOT) {
        uint32_t first = take_chunk(store, STORE_PARTS);
        if (first == CACHE_NO_SLOT)
            return first;
        for (uint32_t i = CACHE_PARTS; i-- > 0;)
            link_part(store, first + i);
    }
    uint32_t slot = store->free_parts;
    unlink_part(store, slot);
    store->chunks[slot / CACHE_PARTS].taken++;
    return slot;
}

static void give_part(struct store *store, uint32_t slot)
{
    struct store_chunk *chunk = &store->chunks[slot / CACHE_PARTS];
    link_part(store, slot);
    if (--chunk->taken > 0)
        return;
    uint32_t first = slot / CACHE_PARTS * CACHE_PARTS;
    for (uint32_t i = 0; i < CACHE_PARTS; i++)
        unlink_part(store, first + i);
    give_chunk(store, first);
}

static void give(struct store *store, uint32_t slot)
{
    store->slots[slot].state = STORE_FREE;
    if (is_part(store, slot))
        give_part(store, slot);
    else
        give_chunk(store, slot);
}

/* ---- The index ------------------------------------------------------------------------------ */

static bool replace_entry(struct cache_arena *arena, const uint64_t id[2], uint64_t before,
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

bool store_index_add(struct cache_arena *arena, const uint64_t id[2], uint32_t slot)
{
    return replace_entry(arena, id, 0, cache_index_entry(id, slot));
}

void store_index_remove(struct cache_arena *arena, const uint64_t id[2], uint32_t slot)
{
    replace_entry(arena, id, cache_index_entry(id, slot), 0);
}

/* ---- Life of a block ------------------------------------------------------------------------ */

int store_open(struct store *store, void *arena, struct cache_control *control,
               const struct cache_shape *shape)
{
    *store = (struct store){.shape = *shape,
                            .control = control,
                            .general = {.first = CACHE_NO_SLOT, .last = CACHE_NO_SLOT},
                            .singlet = {.first = CACHE_NO_SLOT, .last = CACHE_NO_SLOT},
                            .free_chunks = CACHE_NO_SLOT,
                            .free_parts = CACHE_NO_SLOT};
    store->arena = cache_arena_at(arena, &store->shape);
    store->slots = calloc(cache_slot_count(shape), sizeof(*store->slots));
    store->chunks = calloc(shape->chunk_count, sizeof(*store->chunks));
    if (!store->slots || !store->chunks) {
        free(store->slots);
        free(store->chunks);
        return -ENOMEM;
    }
    pthread_mutex_init(&store->lock, NULL);
    for (uint32_t chunk = shape->chunk_count; chunk-- > 0;)
        give_chunk(store, chunk * CACHE_PARTS);
    return 0;
}

void store_close(struct store *store)
{
    free(store->slots);
    free(store->chunks);
    pthread_mutex_destroy(&store->lock);
}

uint32_t store_reserve(struct store *store, uint64_t length)
{
    pthread_mutex_lock(&store->lock);
    uint32_t slot = length <= cache_small_length(&store->shape) ? take_part(store)
                                                                : take_chunk(store, STORE_WHOLE);
    if (slot != CACHE_NO_SLOT)
        store->slots[slot].state = STORE_FILLING;
    pthread_mutex_unlock(&store->lock);
    return slot;
}

void store_cancel(struct store *store, uint32_t slot)
{
    pthread_mutex_lock(&store->lock);
    ASSERT(store->slots[slot].state == STORE_FILLING);
    give(store, slot);
    pthread_mutex_unlock(&store->lock);
}

/* Low 28 bits stand in the directory, where 0 means nothing. */
static uint64_t next_token(struct store *store)
{
    store->token++;
    if ((store->token & 0xfffffff) == 0)
        store->token++;
    return store->token;
}

static void set_header(struct cache_slot *header, const uint64_t id[2], uint64_t length,
                       uint64_t checksum)
{
    atomic_store_explicit(&header->id[0], id[0], memory_order_relaxed);
    atomic_store_explicit(&header->id[1], id[1], memory_order_relaxed);
    atomic_store_explicit(&header->length, length, memory_order_relaxed);
    atomic_store_explicit(&header->checksum, checksum, memory_order_relaxed);
}

uint64_t store_publish(struct store *store, uint32_t slot, const uint64_t id[2], uint64_t length,
                       uint64_t checksum)
{
    struct cache_slot *header = &store->arena.slots[slot];
    pthread_mutex_lock(&store->lock);
    ASSERT(store->slots[slot].state == STORE_FILLING);
    uint64_t token = next_token(store);
    set_header(header, id, length, checksum);
    /* release: pairs with cache_index_find(); data and ID come before the token */
    atomic_store_explicit(&header->token, token, memory_order_release);
    if (store_index_add(&store->arena, id, slot)) {
        atomic_store_explicit(&cache_touched(store->control, &store->shape)[slot], 0,
                              memory_order_relaxed);
        list_add(store, slot, STORE_GENERAL);
        show(store);
    } else {
        atomic_store_explicit(&header->token, 0, memory_order_release);
        full_fence();
        give(store, slot);
        token = 0;
    }
    pthread_mutex_unlock(&store->lock);
    return token;
}

void store_id(const struct store *store, uint32_t slot, uint64_t id[2])
{
    id[0] = atomic_load_explicit(&store->arena.slots[slot].id[0], memory_order_relaxed);
    id[1] = atomic_load_explicit(&store->arena.slots[slot].id[1], memory_order_relaxed);
}

/* ---- Leaving -------------------------------------------------------------------------------- */

/* Used since it was last looked at? */
static bool take_touch(struct store *store, uint32_t slot)
{
    _Atomic uint8_t *touched = &cache_touched(store->control, &store->shape)[slot];
    if (!atomic_load_explicit(touched, memory_order_relaxed))
        return false;
    atomic_store_explicit(touched, 0, memory_order_relaxed);
    return true;
}

/* The oldest of a list that has not been used; those that have go to the head of the general
 * list. */
static uint32_t oldest(struct store *store, struct store_list *list)
{
    for (uint32_t rounds = list->count; rounds > 0; rounds--) {
        uint32_t slot = list->last;
        if (!take_touch(store, slot))
            return slot;
        list_remove(store, slot);
        list_add(store, slot, STORE_GENERAL);
    }
    return list->last; /* all were used: then the oldest */
}

uint32_t store_victim(struct store *store, uint32_t units_max, bool *is_singlet)
{
    pthread_mutex_lock(&store->lock);
    uint32_t slot = CACHE_NO_SLOT;
    if (store->singlet.units > units_max || store->general.count == 0)
        slot = oldest(store, &store->singlet);
    if (slot == CACHE_NO_SLOT)
        slot = oldest(store, &store->general);
    if (slot != CACHE_NO_SLOT) {
        *is_singlet = store->slots[slot].state == STORE_SINGLET;
        list_remove(store, slot);
        store->slots[slot].state = STORE_LEAVING;
    }
    pthread_mutex_unlock(&store->lock);
    return slot;
}

void store_singlet_keep(struct store *store, uint32_t slot)
{
    pthread_mutex_lock(&store->lock);
    ASSERT(store->slots[slot].state == STORE_LEAVING);
    list_add(store, slot, STORE_SINGLET);
    show(store);
    pthread_mutex_unlock(&store->lock);
}

void store_singlet_return(struct store *store, uint32_t slot)
{
    struct store_list *list = &store->singlet;
    pthread_mutex_lock(&store->lock);
    ASSERT(store->slots[slot].state == STORE_LEAVING);
    store->slots[slot].state = STORE_SINGLET;
    store->slots[slot].next = CACHE_NO_SLOT;
    store->slots[slot].previous = list->last;
    if (list->last != CACHE_NO_SLOT)
        store->slots[list->last].next = slot;
    else
        list->first = slot;
    list->last = slot;
    list->count++;
    list->units += units_of(store, slot);
    pthread_mutex_unlock(&store->lock);
}

void store_release(struct store *store, uint32_t slot)
{
    struct cache_slot *header = &store->arena.slots[slot];
    uint64_t id[2];
    pthread_mutex_lock(&store->lock);
    ASSERT(store->slots[slot].state == STORE_LEAVING);
    store_id(store, slot, id);
    store_index_remove(&store->arena, id, slot);
    atomic_store_explicit(&header->token, 0, memory_order_relaxed);
    atomic_store_explicit(&header->id[0], 0, memory_order_relaxed);
    full_fence(); /* whoever sees a byte of what comes next sees that the token is gone */
    give(store, slot);
    show(store);
    pthread_mutex_unlock(&store->lock);
}

uint32_t store_sibling(struct store *store, uint32_t slot)
{
    uint32_t first = slot / CACHE_PARTS * CACHE_PARTS, found = CACHE_NO_SLOT;
    pthread_mutex_lock(&store->lock);
    for (uint32_t i = first; i < first + CACHE_PARTS && is_part(store, first); i++) {
        if (store->slots[i].state != STORE_GENERAL && store->slots[i].state != STORE_SINGLET)
            continue;
        list_remove(store, i);
        store->slots[i].state = STORE_LEAVING;
        found = i;
        break;
    }
    pthread_mutex_unlock(&store->lock);
    return found;
}
