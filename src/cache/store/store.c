/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See store.h.
 */
#include "cache/store/store.h"

#include "base/assert.h"
#include "base/fence.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t bytes_of(const struct store *store, uint32_t slot)
{
    return store->extents.extent[store->slots[slot].extent].length;
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
    list->bytes += bytes_of(store, slot);
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
    list->bytes -= bytes_of(store, slot);
}

/* For people. */
static void show(struct store *store)
{
    struct cache_control *control = store->control;
    uint64_t used = store->general.bytes + store->singlet.bytes;
    atomic_store_explicit(&control->used_bytes, used, memory_order_relaxed);
    atomic_store_explicit(&control->singlet_bytes, store->singlet.bytes, memory_order_relaxed);
    atomic_store_explicit(&control->content_bytes, store->content_bytes, memory_order_relaxed);
}

/* ---- Free memory ---------------------------------------------------------------------------- */

static struct extent_wish wish_for(const struct store *store, uint64_t length)
{
    if (cache_is_whole(&store->shape, length))
        return (struct extent_wish){.length = store->shape.block_length,
                                    .alignment = store->shape.block_length,
                                    .is_low = true};
    uint64_t unit = length < CACHE_PAGED_MIN ? CACHE_UNIT : CACHE_PAGE;
    return (struct extent_wish){.length = cache_round_up(length, unit), .alignment = unit};
}

static bool is_whole(const struct store *store, uint32_t slot)
{
    return slot < store->shape.chunk_count;
}

/* A whole block's slot is that of its chunk, which is free when the chunk is. */
static uint32_t take(struct store *store, uint64_t length)
{
    struct extent_wish wish = wish_for(store, length);
    wish.owner = wish.is_low ? 0 : store->free_slots;
    if (wish.owner == CACHE_NO_SLOT)
        return CACHE_NO_SLOT;
    uint32_t extent = extents_take(&store->extents, &wish);
    if (extent == EXTENT_NONE)
        return CACHE_NO_SLOT;
    uint32_t slot = wish.owner;
    if (wish.is_low) {
        slot = (uint32_t)(store->extents.extent[extent].offset / store->shape.block_length);
        store->extents.extent[extent].owner = slot;
    } else {
        store->free_slots = store->slots[slot].next;
    }
    store->slots[slot].extent = extent;
    return slot;
}

static void free_slot_add(struct store *store, uint32_t slot)
{
    store->slots[slot].next = store->free_slots;
    store->free_slots = slot;
}

static void give(struct store *store, uint32_t slot)
{
    store->slots[slot].state = STORE_FREE;
    extents_give(&store->extents, store->slots[slot].extent);
    if (!is_whole(store, slot))
        free_slot_add(store, slot);
}

/* ---- Life of a block ------------------------------------------------------------------------ */

int store_open(struct store *store, void *arena, struct cache_control *control,
               const struct cache_shape *shape)
{
    *store = (struct store){.shape = *shape,
                            .control = control,
                            .general = {.first = CACHE_NO_SLOT, .last = CACHE_NO_SLOT},
                            .singlet = {.first = CACHE_NO_SLOT, .last = CACHE_NO_SLOT},
                            .free_slots = CACHE_NO_SLOT};
    store->arena = cache_arena_at(arena, &store->shape);
    store->slots = calloc(shape->slot_count, sizeof(*store->slots));
    if (!store->slots)
        return -ENOMEM;
    int result = extents_open(&store->extents, cache_data_length(shape), shape->slot_count);
    if (result < 0) {
        free(store->slots);
        return result;
    }
    pthread_mutex_init(&store->lock, NULL);
    for (uint32_t slot = shape->slot_count; slot-- > shape->chunk_count;)
        free_slot_add(store, slot);
    return 0;
}

void store_close(struct store *store)
{
    free(store->slots);
    extents_close(&store->extents);
    pthread_mutex_destroy(&store->lock);
}

uint32_t store_reserve(struct store *store, uint64_t length)
{
    pthread_mutex_lock(&store->lock);
    uint32_t slot = take(store, length);
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

static void set_header(struct store *store, uint32_t slot, const uint64_t id[2], uint64_t length,
                       uint64_t checksum)
{
    struct cache_slot *header = &store->arena.slots[slot];
    uint64_t offset = (uint64_t)((char *)store_data(store, slot) - store->arena.data);
    atomic_store_explicit(&header->id[0], id[0], memory_order_relaxed);
    atomic_store_explicit(&header->id[1], id[1], memory_order_relaxed);
    atomic_store_explicit(&header->length, length, memory_order_relaxed);
    atomic_store_explicit(&header->checksum, checksum, memory_order_relaxed);
    atomic_store_explicit(&header->offset, offset, memory_order_relaxed);
}

uint64_t store_publish(struct store *store, uint32_t slot, const uint64_t id[2], uint64_t length,
                       uint64_t checksum)
{
    struct cache_slot *header = &store->arena.slots[slot];
    pthread_mutex_lock(&store->lock);
    ASSERT(store->slots[slot].state == STORE_FILLING);
    uint64_t token = next_token(store);
    set_header(store, slot, id, length, checksum);
    /* release: pairs with cache_index_find(); data and ID come before the token */
    atomic_store_explicit(&header->token, token, memory_order_release);
    if (store_index_add(&store->arena, id, slot)) {
        atomic_store_explicit(&cache_touched(store->control, &store->shape)[slot], 0,
                              memory_order_relaxed);
        list_add(store, slot, STORE_GENERAL);
        store->content_bytes += length;
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

uint32_t store_victim(struct store *store, uint64_t bytes_max, bool *is_singlet)
{
    pthread_mutex_lock(&store->lock);
    uint32_t slot = CACHE_NO_SLOT;
    if (store->singlet.bytes > bytes_max || store->general.count == 0)
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
    list->bytes += bytes_of(store, slot);
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
    store->content_bytes -= atomic_load_explicit(&header->length, memory_order_relaxed);
    give(store, slot);
    show(store);
    pthread_mutex_unlock(&store->lock);
}

/* The free memory there is when a slot's extent is free, and who is beside it. */
struct surroundings {
    uint64_t first, end;
    uint32_t before, after; /* extents, or EXTENT_NONE */
};

static struct surroundings look_around(const struct store *store, uint32_t slot)
{
    const struct extent *extents = store->extents.extent;
    const struct extent *own = &extents[store->slots[slot].extent];
    struct surroundings around = {own->offset, own->offset + own->length, own->before, own->after};
    if (around.before != EXTENT_NONE && extents[around.before].owner == EXTENT_NONE) {
        around.first = extents[around.before].offset;
        around.before = extents[around.before].before;
    }
    if (around.after != EXTENT_NONE && extents[around.after].owner == EXTENT_NONE) {
        around.end += extents[around.after].length;
        around.after = extents[around.after].after;
    }
    return around;
}

/* Which of the two goes: for a whole block what is in the chunk that the slot begins in; else the
 * shorter one, with which less is lost beyond what is needed. */
static uint32_t choose_side(const struct store *store, uint32_t slot, uint64_t length,
                            const struct surroundings *around)
{
    const struct extent *extents = store->extents.extent;
    uint64_t block = store->shape.block_length;
    if (cache_is_whole(&store->shape, length)) {
        uint64_t chunk = extents[store->slots[slot].extent].offset / block;
        return around->end < (chunk + 1) * block ? around->after : around->before;
    }
    if (around->before == EXTENT_NONE || around->after == EXTENT_NONE)
        return around->before == EXTENT_NONE ? around->after : around->before;
    return extents[around->before].length < extents[around->after].length ? around->before
                                                                          : around->after;
}

static bool may_leave(struct store *store, uint32_t slot, bool is_urgent)
{
    uint8_t state = store->slots[slot].state;
    _Atomic uint8_t *touched = &cache_touched(store->control, &store->shape)[slot];
    return (state == STORE_GENERAL || state == STORE_SINGLET) &&
           (is_urgent || !atomic_load_explicit(touched, memory_order_relaxed));
}

uint32_t store_neighbour(struct store *store, uint32_t slot, const struct store_room *room)
{
    struct extent_wish wish = wish_for(store, room->length);
    uint64_t at;
    uint32_t found = CACHE_NO_SLOT;
    pthread_mutex_lock(&store->lock);
    ASSERT(store->slots[slot].state == STORE_LEAVING);
    struct surroundings around = look_around(store, slot);
    if (!extent_fits(&wish, around.first, around.end, &at))
        found = store->extents.extent[choose_side(store, slot, room->length, &around)].owner;
    if (found != CACHE_NO_SLOT && !may_leave(store, found, room->is_urgent))
        found = CACHE_NO_SLOT;
    if (found != CACHE_NO_SLOT) {
        list_remove(store, found);
        store->slots[found].state = STORE_LEAVING;
    }
    pthread_mutex_unlock(&store->lock);
    return found;
}
