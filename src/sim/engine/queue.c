/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event queue; see queue.h for how it is laid out.
 */
#include "sim/engine/queue.h"

#include "base/array.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define FEW       16
#define FEW_SLOTS 512 /* 2 us: more could make the heap large when more events come */
#define HEAP_WAYS 4   /* four children share a cache line and a half: fewer levels than two ways */

static bool entry_is_before(const struct queue_entry *a, const struct queue_entry *b)
{
    return a->when < b->when || (a->when == b->when && a->sequence < b->sequence);
}

static bool heap_push(struct queue_heap *heap, struct queue_entry entry)
{
    if (!array_grow(&heap->entries, &heap->room, heap->count + 1))
        return false;
    size_t at = heap->count++;
    while (at > 0) {
        size_t parent = (at - 1) / HEAP_WAYS;
        if (!entry_is_before(&entry, &heap->entries[parent]))
            break;
        heap->entries[at] = heap->entries[parent];
        at = parent;
    }
    heap->entries[at] = entry;
    return true;
}

static size_t first_child(const struct queue_heap *heap, size_t at)
{
    size_t child = at * HEAP_WAYS + 1, best = child;
    size_t end = child + HEAP_WAYS < heap->count ? child + HEAP_WAYS : heap->count;
    while (++child < end) {
        if (entry_is_before(&heap->entries[child], &heap->entries[best]))
            best = child;
    }
    return best;
}

static void heap_pop(struct queue_heap *heap)
{
    struct queue_entry last = heap->entries[--heap->count];
    size_t at = 0;
    while (at * HEAP_WAYS + 1 < heap->count) {
        size_t child = first_child(heap, at);
        if (!entry_is_before(&heap->entries[child], &last))
            break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = last;
}

void queue_init(struct queue *queue)
{
    memset(queue, 0, sizeof(*queue));
    queue->free_item = QUEUE_NONE;
    for (size_t i = 0; i < QUEUE_SLOTS; i++)
        queue->wheel[i] = QUEUE_NONE;
}

void queue_free(struct queue *queue)
{
    free(queue->items);
    free(queue->run);
    free(queue->near.entries);
    free(queue->far.entries);
}

static uint32_t item_take(struct queue *queue)
{
    uint32_t index = queue->free_item;
    if (index != QUEUE_NONE) {
        queue->free_item = queue->items[index].next;
        return index;
    }
    if (!array_grow(&queue->items, &queue->item_room, (size_t)queue->item_count + 1))
        return QUEUE_NONE;
    index = queue->item_count++;
    queue->items[index].generation = 1;
    return index;
}

static void item_give(struct queue *queue, uint32_t index)
{
    struct queue_item *item = &queue->items[index];
    item->generation++;
    item->next = queue->free_item;
    queue->free_item = index;
}

static void wheel_put(struct queue *queue, uint32_t index)
{
    struct queue_item *item = &queue->items[index];
    size_t place = (size_t)(item->when >> QUEUE_SLOT_SHIFT) % QUEUE_SLOTS;
    item->next = queue->wheel[place];
    queue->wheel[place] = index;
    queue->filled[place / 64] |= 1ULL << place % 64;
    queue->filled_words |= 1ULL << place / 64;
}

/* With few events and nothing further away, one small heap is the fastest: the present slot then
 * reaches up to the new event. */
static bool few_are_near(const struct queue *queue, int64_t slot)
{
    return queue->filled_words == 0 && queue->far.count == 0 && queue->near.count < FEW &&
           queue->run_at == queue->run_count && slot - queue->slot < FEW_SLOTS;
}

sim_ticket queue_push(struct queue *queue, sim_time when, struct sim_event event)
{
    uint32_t index = item_take(queue);
    if (index == QUEUE_NONE)
        return 0;
    struct queue_item *item = &queue->items[index];
    item->when = when;
    item->sequence = queue->sequence++;
    item->event = event;
    item->is_cancelled = false;
    struct queue_entry entry = {when, item->sequence, index};
    int64_t slot = when >> QUEUE_SLOT_SHIFT;
    bool fits = true;
    if (slot > queue->slot && few_are_near(queue, slot))
        queue->slot = slot;
    if (slot <= queue->slot)
        fits = heap_push(&queue->near, entry);
    else if (slot - queue->slot < QUEUE_SLOTS)
        wheel_put(queue, index);
    else
        fits = heap_push(&queue->far, entry);
    if (!fits) {
        item_give(queue, index);
        return 0;
    }
    queue->pending++;
    return (uint64_t)item->generation << 32 | index;
}

bool queue_cancel(struct queue *queue, sim_ticket ticket)
{
    uint32_t index = (uint32_t)ticket, generation = (uint32_t)(ticket >> 32);
    if (ticket == 0 || index >= queue->item_count)
        return false;
    struct queue_item *item = &queue->items[index];
    if (item->generation != generation || item->is_cancelled)
        return false;
    item->is_cancelled = true; /* it is given back when its turn comes */
    queue->pending--;
    return true;
}

/* The first filled place of the wheel at or after `place`, going round; the wheel is not empty. */
static size_t wheel_next(const struct queue *queue, size_t place)
{
    uint64_t word = queue->filled[place / 64] & ~0ULL << place % 64;
    if (word)
        return place / 64 * 64 + (size_t)__builtin_ctzll(word);
    uint64_t later = place / 64 == 63 ? 0 : queue->filled_words & ~0ULL << (place / 64 + 1);
    size_t at = (size_t)__builtin_ctzll(later ? later : queue->filled_words);
    return at * 64 + (size_t)__builtin_ctzll(queue->filled[at]);
}

/* What has come within reach of the wheel leaves the far heap. */
static void far_draw(struct queue *queue)
{
    while (queue->far.count > 0) {
        int64_t slot = queue->far.entries[0].when >> QUEUE_SLOT_SHIFT;
        if (slot - queue->slot >= QUEUE_SLOTS)
            return;
        wheel_put(queue, queue->far.entries[0].item);
        heap_pop(&queue->far);
    }
}

static bool run_put(struct queue *queue, struct queue_entry entry)
{
    if (!array_grow(&queue->run, &queue->run_room, queue->run_count + 1))
        return false;
    queue->run[queue->run_count++] = entry;
    return true;
}

/* Lists have the youngest first. Turned round they are often in order: controllers in step post
 * their events in order of time. If not, a heap sorts them as they are needed. */
static bool run_order(struct queue *queue)
{
    struct queue_entry *run = queue->run;
    size_t count = queue->run_count, sorted = 1;
    for (size_t i = 0; i < count / 2; i++) {
        struct queue_entry entry = run[i];
        run[i] = run[count - 1 - i];
        run[count - 1 - i] = entry;
    }
    while (sorted < count && entry_is_before(&run[sorted - 1], &run[sorted]))
        sorted++;
    while (queue->run_count > sorted) {
        if (!heap_push(&queue->near, run[queue->run_count - 1]))
            return false;
        queue->run_count--;
    }
    return true;
}

/* The list of this place becomes the run: the one before has been used up. */
static bool run_fill(struct queue *queue, size_t place)
{
    queue->run_at = queue->run_count = 0;
    for (uint32_t index = queue->wheel[place]; index != QUEUE_NONE;) {
        const struct queue_item *item = &queue->items[index];
        uint32_t next = item->next;
        if (item->is_cancelled)
            item_give(queue, index);
        else if (!run_put(queue, (struct queue_entry){item->when, item->sequence, index}))
            return false; /* the rest stays in the list */
        queue->wheel[place] = index = next;
    }
    if (!run_order(queue))
        return false;
    queue->filled[place / 64] &= ~(1ULL << place % 64);
    if (queue->filled[place / 64] == 0)
        queue->filled_words &= ~(1ULL << place / 64);
    return true;
}

/* Moves on to the next slot that has events. False if there is none. */
static bool slot_advance(struct queue *queue)
{
    if (queue->filled_words == 0) {
        if (queue->far.count == 0)
            return false;
        queue->slot = queue->far.entries[0].when >> QUEUE_SLOT_SHIFT;
    } else {
        size_t here = (size_t)queue->slot % QUEUE_SLOTS;
        size_t place = wheel_next(queue, here);
        queue->slot += (int64_t)((place - here) % QUEUE_SLOTS);
    }
    far_draw(queue);
    return run_fill(queue, (size_t)queue->slot % QUEUE_SLOTS);
}

/* Is the run's first before the heap's? One of them has something. */
static bool run_is_first(const struct queue *queue)
{
    if (queue->run_at == queue->run_count)
        return false;
    return queue->near.count == 0 ||
           entry_is_before(&queue->run[queue->run_at], &queue->near.entries[0]);
}

static void first_drop(struct queue *queue)
{
    if (run_is_first(queue))
        queue->run_at++;
    else
        heap_pop(&queue->near);
}

sim_time queue_peek(struct queue *queue)
{
    for (;;) {
        while (queue->near.count == 0 && queue->run_at == queue->run_count) {
            if (!slot_advance(queue))
                return SIM_NEVER;
        }
        const struct queue_entry *first = run_is_first(queue) ? &queue->run[queue->run_at]
                                                              : &queue->near.entries[0];
        if (!queue->items[first->item].is_cancelled)
            return first->when;
        item_give(queue, first->item);
        first_drop(queue);
    }
}

struct sim_event queue_pop(struct queue *queue)
{
    ASSERT(queue->near.count > 0 || queue->run_at < queue->run_count); /* after queue_peek() */
    uint32_t index = run_is_first(queue) ? queue->run[queue->run_at].item
                                         : queue->near.entries[0].item;
    struct sim_event event = queue->items[index].event;
    first_drop(queue);
    item_give(queue, index);
    queue->pending--;
    return event;
}
