/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays that grow. Whoever has one keeps a pointer and how many items have room:
 *
 *   struct wish *wishes;
 *   size_t wish_count, wish_room;
 *   ...
 *   if (!array_grow(&all->wishes, &all->wish_room, all->wish_count + 1))
 *       return no_memory();
 *   all->wishes[all->wish_count++] = wish;
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Room for at least this many items; at least twice the room before, so that adding one after
 * another is cheap. New items are not cleared. False: no memory, or more bytes than there can be;
 * then array and room are as they were. array: of type `T **`; room: `size_t *`. */
#define array_grow(array, room, needed)                                                            \
    array_room_make((array), (room), (needed), sizeof(**(array)))

/* Room for exactly this many, at least one: of an array that rarely grows, and with nothing beyond.
 */
#define array_resize(array, count) array_room_set((array), (count), sizeof(**(array)))

bool array_room_set(void *array, size_t count, size_t item_bytes);

/* The rare half of array_room_make(). */
bool array_enlarge(void *array, size_t *room, size_t needed, size_t item_bytes);

static inline bool array_room_make(void *array, size_t *room, size_t needed, size_t item_bytes)
{
    return needed <= *room || array_enlarge(array, room, needed, item_bytes);
}
