/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory with one owner, which is given back all at once. A struct that has many arrays keeps an
 * arena among them; {0} is an empty one. It takes what it needs, asks once at the end whether it
 * has got all of it, and frees once:
 *
 *   ARENA_TAKE(&net->memory, net->head, channels);
 *   ARENA_TAKE(&net->memory, net->tail, channels);
 *   if (net->memory.is_short)
 *       return no_memory();
 *   ...
 *   arena_free(&net->memory);
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* the last one taken first */
    bool is_short;              /* something was wanted and there was no memory for it */
};

/* Makes `array`, a pointer, point to so many cleared items, aligned as they are to be, and as any
 * memory of malloc() is. NULL: no memory. */
#define ARENA_TAKE(arena, array, count)                                                            \
    ((array) = arena_take((arena), (size_t)(count), sizeof(*(array)), _Alignof(typeof(*(array)))))

void *arena_take(struct arena *arena, size_t count, size_t item_bytes, size_t alignment);

/* Everything; the arena is empty then, and can be used again. */
void arena_free(struct arena *arena);

/* A cleared struct on the heap whose first member is its arena, and its end with all it has taken.
 * NULL is no memory, and nothing to free. */
void *arena_owner(size_t bytes);
void arena_owner_free(void *owner);
