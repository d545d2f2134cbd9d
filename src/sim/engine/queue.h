/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events in order of (time, order of posting). Private to the engine.
 *
 * Three places, by how far away an event is. What is due in the present slot of time is a sorted
 * run, and a near heap for what was not in order or was posted since the slot began; the wheel has
 * a list for each of the next slots; the far heap has the rest. Most events of a network are due
 * within microseconds, so they go into a list and later through a heap of a few entries. With a
 * thousand controllers in step hundreds are due at the same time, in order: the run saves the heap
 * then. Measured by `rhinet sim bench`.
 */
#pragma once

#include "sim/engine/engine.h"

#define QUEUE_SLOT_SHIFT 12 /* a slot is 4.096 ns */
#define QUEUE_SLOTS      4096
#define QUEUE_NONE       UINT32_MAX

struct queue_item {
    sim_time when;
    uint64_t sequence;
    struct sim_event event;
    uint32_t next;       /* in a list of the wheel, or of free items */
    uint32_t generation; /* changes when the item is given back: old tickets are void */
    bool is_cancelled;
};

struct queue_entry {
    sim_time when;
    uint64_t sequence;
    uint32_t item;
};

struct queue_heap {
    struct queue_entry *entries;
    size_t count, room;
};

struct queue {
    struct queue_item *items;
    uint32_t item_count, free_item;
    size_t item_room;
    size_t pending; /* without the cancelled ones */
    uint64_t sequence;
    int64_t slot;            /* number of the present slot; all before it are empty */
    struct queue_entry *run; /* the present slot's */
    size_t run_at, run_count, run_room;
    struct queue_heap near, far;
    uint32_t wheel[QUEUE_SLOTS];
    uint64_t filled[QUEUE_SLOTS / 64]; /* which lists of the wheel are not empty */
    uint64_t filled_words;             /* which words of filled are not zero */
};

void queue_init(struct queue *queue);
void queue_free(struct queue *queue);

/* 0 when memory is out. */
sim_ticket queue_push(struct queue *queue, sim_time when, struct sim_event event);
bool queue_cancel(struct queue *queue, sim_ticket ticket);

/* The next event's time, SIM_NEVER if there is none. */
sim_time queue_peek(struct queue *queue);

/* Takes the next event, which must be there. */
struct sim_event queue_pop(struct queue *queue);

/* An event that is due soon, to fetch its memory beforehand; NULL: who knows. */
static inline const struct sim_event *queue_glance(const struct queue *queue, size_t ahead)
{
    size_t at = queue->run_at + ahead;
    return at < queue->run_count ? &queue->items[queue->run[at].item].event : NULL;
}
