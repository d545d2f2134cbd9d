/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent's side of a node's cache: which slots are free, which hold what, and in which order
 * they leave.
 *
 * The lists are the paper's. The general list is in order of use by this node; what others fetch
 * from here leaves a copy there and does not count. The singlet list is first in, first out, for
 * blocks of which this is the only copy in the cluster. Clients use blocks without telling: they
 * mark them as touched, and a block found touched when it is about to leave has a second turn.
 *
 * Any thread may call; none of these waits for anything but the lock, and none talks to other
 * nodes: whoever gives up a block tells the directory between store_victim() and store_release().
 */
#pragma once

#include "cache/index.h"
#include "cache/store/extents.h"

#include <pthread.h>

enum store_state {
    STORE_FREE,
    STORE_FILLING, /* reserved, data comes */
    STORE_GENERAL, /* valid, in the general list */
    STORE_SINGLET, /* valid, in the singlet list */
    STORE_LEAVING  /* valid still, but chosen to leave */
};

struct store_slot {
    uint32_t next, previous; /* in its list; next: among the free */
    uint32_t extent;
    uint8_t state;
};

struct store_list {
    uint32_t first, last; /* newest, oldest */
    uint32_t count;
    uint64_t bytes; /* of the arena that its blocks take */
};

struct store {
    struct cache_shape shape;
    struct cache_arena arena;
    struct cache_control *control;
    pthread_mutex_t lock;
    struct store_slot *slots;
    struct extents extents; /* offsets from where the arena's data begins */
    struct store_list general, singlet;
    uint32_t free_slots; /* of blocks that are not whole */
    uint64_t content_bytes;
    uint64_t token; /* the last one that was given */
};

int store_open(struct store *store, void *arena, struct cache_control *control,
               const struct cache_shape *shape);
void store_close(struct store *store);

/* A slot for so many bytes, or CACHE_NO_SLOT: something must leave first. */
uint32_t store_reserve(struct store *store, uint64_t length);

/* The slot's data is there: let everybody find it. Returns its token; 0 if it cannot be found
 * because the index is full: the slot is free again. */
uint64_t store_publish(struct store *store, uint32_t slot, const uint64_t id[2], uint64_t length,
                       uint64_t checksum);

/* The reserved slot is not needed after all. */
void store_cancel(struct store *store, uint32_t slot);

/* Where a slot's bytes are. */
static inline void *store_data(const struct store *store, uint32_t slot)
{
    return store->arena.data + store->shape.data_offset +
           store->extents.extent[store->slots[slot].extent].offset;
}

/* A block that is to leave so that room is made, marked as leaving: the oldest of the general list,
 * or of the singlet list if that has more than `bytes_max` or there is no other. is_singlet
 * says which. CACHE_NO_SLOT: nothing can leave now. */
uint32_t store_victim(struct store *store, uint64_t bytes_max, bool *is_singlet);

/* What becomes of it: into the singlet list after all; back to the end of that list, where it was;
 * or away. */
void store_singlet_keep(struct store *store, uint32_t slot);
void store_singlet_return(struct store *store, uint32_t slot);
void store_release(struct store *store, uint32_t slot);

/* Where a block that leaves is, so many bytes shall have room: another block beside it, marked as
 * leaving, too. CACHE_NO_SLOT: there is room when the first one is away, or its neighbour cannot
 * leave now; nor, unless it is urgent, one that has been used lately. */
struct store_room {
    uint64_t length;
    bool is_urgent;
};
uint32_t store_neighbour(struct store *store, uint32_t slot, const struct store_room *room);

/* index.c, inside the lock: let a slot be found by its ID, or not any more. False: its buckets are
 * full. */
bool store_index_add(struct cache_arena *arena, const uint64_t id[2], uint32_t slot);
void store_index_remove(struct cache_arena *arena, const uint64_t id[2], uint32_t slot);

/* The ID that a slot holds. */
void store_id(const struct store *store, uint32_t slot, uint64_t id[2]);
