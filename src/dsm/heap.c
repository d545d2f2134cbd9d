/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The allocator: shared data like any other. It lies at the beginning of the heap, bound to a
 * variable of our own, and whoever allocates or frees acquires that.
 *
 * Two bits per grain of 64 bytes: whether it is in use, and whether an allocation begins there. So
 * memory that is given back joins its free neighbours by itself, and all zero means all free.
 */
#include "dsm/reach.h"

#define GRAIN     64
#define NAMES_MAX 1024

#define NAME_NONE 0          /* nor is there any behind it */
#define NAME_GONE UINT64_MAX /* but there may be others behind it */

struct heap_name {
    uint64_t key; /* name + 1, or one of those above */
    uint64_t offset;
    uint64_t length;
};

struct heap {
    uint64_t cursor;                   /* grain from which to look */
    struct heap_name names[NAMES_MAX]; /* open addressing */
    uint64_t maps[];                   /* used, then starts */
};

/* The allocator's memory while it is held. */
struct open_heap {
    struct rh_dsm *dsm;
    struct heap *heap;
    uint64_t *used, *starts;
    uint64_t grain_count;
    uint64_t first_offset; /* of grain 0 */
};

static rh_dsm_variable heap_variable(const struct rh_dsm *dsm)
{
    return dsm->variable_count + DSM_VARIABLE_HEAP;
}

static uint64_t map_words(const struct rh_dsm *dsm)
{
    return (dsm->heap_length / GRAIN + 63) / 64;
}

static uint64_t book_length(const struct rh_dsm *dsm)
{
    uint64_t length = sizeof(struct heap) + 2 * map_words(dsm) * sizeof(uint64_t);
    return (length + GRAIN - 1) / GRAIN * GRAIN;
}

uint64_t dsm_heap_min(void)
{
    return sizeof(struct heap) + 65536;
}

int dsm_heap_open(struct rh_dsm *dsm)
{
    struct dsm_binding *binding = &dsm->bindings[heap_variable(dsm)];
    binding->region_count = 1;
    binding->length = book_length(dsm);
    binding->region[0] = (struct rh_dsm_region){.offset = 0, .length = book_length(dsm)};
    return 0;
}

/* ---- Maps ----------------------------------------------------------------------------------- */

static bool is_set(const uint64_t *map, uint64_t grain)
{
    return map[grain / 64] >> (grain % 64) & 1;
}

static void set_run(uint64_t *map, uint64_t first, uint64_t count, bool value)
{
    for (uint64_t i = first; i < first + count;) {
        uint64_t bits = first + count - i;
        if (i % 64 == 0 && bits >= 64) {
            map[i / 64] = value ? ~0ULL : 0;
            i += 64;
            continue;
        }
        if (value)
            map[i / 64] |= 1ULL << (i % 64);
        else
            map[i / 64] &= ~(1ULL << (i % 64));
        i++;
    }
}

/* First grain from `from` on whose bit is `value`, or `end`. */
static uint64_t find_bit(const uint64_t *map, uint64_t from, uint64_t end, bool value)
{
    while (from < end) {
        uint64_t word = (value ? map[from / 64] : ~map[from / 64]) >> (from % 64);
        if (word != 0) {
            uint64_t found = from + (uint64_t)__builtin_ctzll(word);
            return found < end ? found : end;
        }
        from = (from / 64 + 1) * 64;
    }
    return end;
}

/* A run of free grains in [from, end), or end. */
static uint64_t find_run(const struct open_heap *open, uint64_t from, uint64_t end, uint64_t count)
{
    while (from < end) {
        uint64_t first = find_bit(open->used, from, end, false);
        if (end - first < count)
            return end;
        uint64_t next = find_bit(open->used, first, first + count, true);
        if (next == first + count)
            return first;
        from = next;
    }
    return end;
}

/* ---- Allocating, with the allocator held ---------------------------------------------------- */

static int take_run(struct open_heap *open, uint64_t length, uint64_t *offset)
{
    uint64_t count = length / GRAIN + (length % GRAIN != 0), end = open->grain_count;
    uint64_t cursor = open->heap->cursor < end ? open->heap->cursor : 0;
    uint64_t first = count > end ? end : find_run(open, cursor, end, count);
    if (first == end && count <= end) {
        uint64_t limit = cursor + count - 1 < end ? cursor + count - 1 : end;
        first = find_run(open, 0, limit, count);
        if (first == limit)
            first = end;
    }
    if (first == end)
        return error_fail(RH_ENOSPACE,
                          "no %llu bytes of shared memory in one piece are free; give "
                          "RHINET_DSM_HEAP more than %llu MiB",
                          (unsigned long long)length,
                          (unsigned long long)(open->dsm->heap_length >> 20));
    set_run(open->used, first, count, true);
    set_run(open->starts, first, 1, true);
    open->heap->cursor = first + count;
    *offset = open->first_offset + first * GRAIN;
    return 0;
}

static int give_back(struct open_heap *open, uint64_t offset)
{
    uint64_t first = (offset - open->first_offset) / GRAIN, end = open->grain_count;
    if (offset < open->first_offset || offset % GRAIN != 0 || first >= end ||
        !is_set(open->starts, first))
        return error_fail(RH_EINVALID, "nothing is allocated at offset %llu of the shared memory",
                          (unsigned long long)offset);
    uint64_t last = find_bit(open->starts, first + 1, end, true);
    last = find_bit(open->used, first, last, false);
    set_run(open->used, first, last - first, false);
    set_run(open->starts, first, 1, false);
    return 0;
}

/* The entry of a name, or else one to use for it, or NULL. */
static struct heap_name *find_name(struct open_heap *open, uint32_t name)
{
    struct heap_name *unused = NULL;
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        struct heap_name *entry = &open->heap->names[(name * 2654435761u + i) % NAMES_MAX];
        if (entry->key == (uint64_t)name + 1)
            return entry;
        if (!unused && (entry->key == NAME_NONE || entry->key == NAME_GONE))
            unused = entry;
        if (entry->key == NAME_NONE)
            break;
    }
    return unused;
}

static int take_named(struct open_heap *open, uint32_t name, uint64_t length, uint64_t *offset)
{
    struct heap_name *entry = find_name(open, name);
    if (!entry)
        return error_fail(RH_ENOSPACE, "there are %d names in use, and no more", NAMES_MAX);
    bool is_new = entry->key != (uint64_t)name + 1;
    if (!is_new && entry->length != length)
        return error_fail(RH_EINVALID, "name %u was allocated with %llu bytes, not %llu", name,
                          (unsigned long long)entry->length, (unsigned long long)length);
    if (is_new) {
        int result = take_run(open, length, &entry->offset);
        if (result < 0)
            return result;
        entry->key = (uint64_t)name + 1;
        entry->length = length;
    }
    *offset = entry->offset;
    return 0;
}

/* An object that is freed loses its name. */
static void forget_name(struct open_heap *open, uint64_t offset)
{
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        struct heap_name *entry = &open->heap->names[i];
        if (entry->key != NAME_NONE && entry->key != NAME_GONE && entry->offset == offset)
            *entry = (struct heap_name){.key = NAME_GONE};
    }
}

/* ---- The calls ------------------------------------------------------------------------------ */

static int open_heap(struct rh_dsm *dsm, struct open_heap *open)
{
    int result = dsm_acquire(dsm, heap_variable(dsm), RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    struct heap *heap = (struct heap *)(void *)dsm->heap;
    *open = (struct open_heap){.dsm = dsm,
                               .heap = heap,
                               .used = heap->maps,
                               .starts = heap->maps + map_words(dsm),
                               .first_offset = book_length(dsm)};
    open->grain_count = (dsm->heap_length - open->first_offset) / GRAIN;
    return 0;
}

/* By name, or without one (NULL). */
static int allocate(struct rh_dsm *dsm, const uint32_t *name, uint64_t length, uint64_t *offset)
{
    struct open_heap open;
    uint64_t found = 0;
    if (length == 0)
        return error_fail(RH_EINVALID, "0 bytes of shared memory are none");
    int result = open_heap(dsm, &open);
    if (result < 0)
        return result;
    result = name ? take_named(&open, *name, length, &found) : take_run(&open, length, &found);
    dsm_release(dsm, heap_variable(dsm));
    if (result == 0)
        *offset = found;
    return result;
}

int rh_dsm_alloc(struct rh_dsm *dsm, uint64_t length, uint64_t *offset)
{
    return allocate(dsm, NULL, length, offset);
}

int rh_dsm_alloc_named(struct rh_dsm *dsm, uint32_t name, uint64_t length, uint64_t *offset)
{
    return allocate(dsm, &name, length, offset);
}

int rh_dsm_free(struct rh_dsm *dsm, uint64_t offset)
{
    struct open_heap open;
    int result = open_heap(dsm, &open);
    if (result < 0)
        return result;
    result = give_back(&open, offset);
    if (result == 0)
        forget_name(&open, offset);
    dsm_release(dsm, heap_variable(dsm));
    return result;
}

void *rh_dsm_ptr(const struct rh_dsm *dsm, uint64_t offset)
{
    return dsm->base + offset;
}

uint64_t rh_dsm_offset(const struct rh_dsm *dsm, const void *pointer)
{
    return (uint64_t)((const char *)pointer - dsm->base);
}
