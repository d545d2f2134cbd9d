/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See arena.h. Each array is a block of its own from calloc(), which clears large ones for nothing.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

struct arena_block {
    _Alignas(max_align_t) struct arena_block *next; /* the array follows */
};

_Static_assert(sizeof(struct arena_block) % _Alignof(max_align_t) == 0, "what follows is aligned");

void *arena_take(struct arena *arena, size_t count, size_t item_bytes, size_t alignment)
{
    size_t bytes, more = sizeof(struct arena_block) + alignment;
    struct arena_block *block = NULL;
    if (!__builtin_mul_overflow(count, item_bytes, &bytes) && bytes <= PTRDIFF_MAX - more)
        block = calloc(1, bytes + more);
    if (!block) {
        arena->is_short = true;
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    char *array = (char *)(block + 1);
    return array + (-(uintptr_t)array & (alignment - 1));
}

void arena_free(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    arena->is_short = false;
}

void *arena_owner(size_t bytes)
{
    return calloc(1, bytes);
}

void arena_owner_free(void *owner)
{
    if (owner)
        arena_free(owner);
    free(owner);
}
