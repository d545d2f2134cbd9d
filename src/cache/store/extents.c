/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See extents.h.
 */
#include "cache/store/extents.h"

#include "base/assert.h"
#include "cache/layout.h"

#include <errno.h>
#include <stdlib.h>

#define LOOK_MAX 16 /* extents of a list that are looked at: alignment may spoil some */

/* ---- Lists of the free ---------------------------------------------------------------------- */

/* EXTENT_STEPS lists from one power of two to the next; the shortest lengths have one each. */
static unsigned list_of(uint64_t length)
{
    uint64_t units = length / CACHE_UNIT;
    unsigned power = 63 - (unsigned)__builtin_clzll(units);
    uint64_t step = power >= 3 ? units >> (power - 3) : units << (3 - power);
    return power * EXTENT_STEPS + (unsigned)(step % EXTENT_STEPS);
}

static void free_add(struct extents *extents, uint32_t index)
{
    struct extent *extent = &extents->extent[index];
    unsigned list = list_of(extent->length);
    extent->owner = EXTENT_NONE;
    extent->previous = EXTENT_NONE;
    extent->next = extents->list[list];
    if (extent->next != EXTENT_NONE)
        extents->extent[extent->next].previous = index;
    extents->list[list] = index;
    extents->is_filled[list / 64] |= 1ull << (list % 64);
}

static void free_remove(struct extents *extents, uint32_t index)
{
    struct extent *extent = &extents->extent[index];
    unsigned list = list_of(extent->length);
    if (extent->next != EXTENT_NONE)
        extents->extent[extent->next].previous = extent->previous;
    if (extent->previous != EXTENT_NONE)
        extents->extent[extent->previous].next = extent->next;
    else
        extents->list[list] = extent->next;
    if (extents->list[list] == EXTENT_NONE)
        extents->is_filled[list / 64] &= ~(1ull << (list % 64));
}

/* The first list from `list` on that is not empty, or EXTENT_LISTS. */
static unsigned next_list(const struct extents *extents, unsigned list)
{
    for (unsigned word = list / 64; word < EXTENT_WORDS; word++) {
        uint64_t bits = extents->is_filled[word];
        if (word == list / 64)
            bits &= ~0ull << (list % 64);
        if (bits)
            return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return EXTENT_LISTS;
}

bool extent_fits(const struct extent_wish *wish, uint64_t first, uint64_t end, uint64_t *at)
{
    if (end - first < wish->length)
        return false;
    *at = wish->is_low ? cache_round_up(first, wish->alignment)
                       : (end - wish->length) / wish->alignment * wish->alignment;
    return wish->is_low ? *at + wish->length <= end : *at >= first;
}

/* A free extent that fits, of those that fit the one of about the right length. */
static uint32_t find(const struct extents *extents, const struct extent_wish *wish, uint64_t *at)
{
    for (unsigned list = next_list(extents, list_of(wish->length)); list < EXTENT_LISTS;
         list = next_list(extents, list + 1)) {
        uint32_t index = extents->list[list];
        for (int i = 0; i < LOOK_MAX && index != EXTENT_NONE; i++) {
            const struct extent *extent = &extents->extent[index];
            if (extent_fits(wish, extent->offset, extent->offset + extent->length, at))
                return index;
            index = extent->next;
        }
    }
    return EXTENT_NONE;
}

/* ---- The row -------------------------------------------------------------------------------- */

/* Another entry, which is there: extents_open() made enough for every second one to be free. */
static uint32_t entry_take(struct extents *extents)
{
    uint32_t index = extents->spare;
    if (index == EXTENT_NONE) {
        ASSERT(extents->used < extents->count_max);
        return extents->used++;
    }
    extents->spare = extents->extent[index].next;
    return index;
}

static void entry_give(struct extents *extents, uint32_t index)
{
    extents->extent[index].next = extents->spare;
    extents->spare = index;
}

static void chain(struct extents *extents, uint32_t before, uint32_t after)
{
    if (before != EXTENT_NONE)
        extents->extent[before].after = after;
    if (after != EXTENT_NONE)
        extents->extent[after].before = before;
}

/* Cut an extent, which is in no list: what begins at `offset` is a free one of its own. */
static void split(struct extents *extents, uint32_t index, uint64_t offset)
{
    struct extent *extent = &extents->extent[index];
    uint64_t end = extent->offset + extent->length;
    if (offset == end)
        return;
    uint32_t rest = entry_take(extents);
    extents->extent[rest] = (struct extent){.offset = offset, .length = end - offset};
    extent->length = offset - extent->offset;
    chain(extents, rest, extent->after);
    chain(extents, index, rest);
    free_add(extents, rest);
}

/* Put an extent and the one after it together; both are in no list. */
static void join(struct extents *extents, uint32_t index)
{
    struct extent *extent = &extents->extent[index];
    uint32_t rest = extent->after;
    extent->length += extents->extent[rest].length;
    chain(extents, index, extents->extent[rest].after);
    entry_give(extents, rest);
}

static bool is_free(const struct extents *extents, uint32_t index)
{
    return index != EXTENT_NONE && extents->extent[index].owner == EXTENT_NONE;
}

/* ---- Outside -------------------------------------------------------------------------------- */

int extents_open(struct extents *extents, uint64_t length, uint32_t taken_max)
{
    *extents = (struct extents){.count_max = 2 * taken_max + 1, .used = 1, .spare = EXTENT_NONE};
    extents->extent = calloc(extents->count_max, sizeof(*extents->extent));
    if (!extents->extent)
        return -ENOMEM;
    for (unsigned list = 0; list < EXTENT_LISTS; list++)
        extents->list[list] = EXTENT_NONE;
    extents->extent[0] = (struct extent){
        .length = length, .before = EXTENT_NONE, .after = EXTENT_NONE};
    free_add(extents, 0);
    return 0;
}

void extents_close(struct extents *extents)
{
    free(extents->extent);
}

uint32_t extents_take(struct extents *extents, const struct extent_wish *wish)
{
    uint64_t at;
    uint32_t index = find(extents, wish, &at);
    if (index == EXTENT_NONE)
        return index;
    free_remove(extents, index);
    if (at > extents->extent[index].offset) {
        uint32_t front = index;
        split(extents, front, at);
        index = extents->extent[front].after;
        free_remove(extents, index);
        free_add(extents, front);
    }
    split(extents, index, at + wish->length);
    extents->extent[index].owner = wish->owner;
    extents->taken_bytes += wish->length;
    return index;
}

void extents_give(struct extents *extents, uint32_t index)
{
    ASSERT(!is_free(extents, index));
    extents->taken_bytes -= extents->extent[index].length;
    uint32_t before = extents->extent[index].before, after = extents->extent[index].after;
    if (is_free(extents, after)) {
        free_remove(extents, after);
        join(extents, index);
    }
    if (is_free(extents, before)) {
        free_remove(extents, before);
        join(extents, before);
        index = before;
    }
    free_add(extents, index);
}

static bool is_listed(const struct extents *extents, uint32_t wanted)
{
    uint32_t index = extents->list[list_of(extents->extent[wanted].length)];
    while (index != EXTENT_NONE && index != wanted)
        index = extents->extent[index].next;
    return index == wanted;
}

bool extents_are_sound(const struct extents *extents)
{
    uint64_t offset = 0, taken = 0;
    uint32_t before = EXTENT_NONE;
    for (uint32_t i = 0; i != EXTENT_NONE; i = extents->extent[i].after) {
        const struct extent *extent = &extents->extent[i];
        if (extent->offset != offset || extent->before != before || extent->length == 0)
            return false;
        if (is_free(extents, i) ? is_free(extents, before) || !is_listed(extents, i) : false)
            return false;
        taken += is_free(extents, i) ? 0 : extent->length;
        offset += extent->length;
        before = i;
    }
    return taken == extents->taken_bytes;
}
