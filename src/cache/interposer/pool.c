/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See pool.h. A thread that is inside has raised one of the counters. What was retired before a
 * counter was seen at zero is not known to any thread that counts there; when that has been seen of
 * all of them, it may be used again. A thread that was inside when the process forked by a bare
 * system call leaves its counter raised in the child: then nothing is used again there, and new
 * descriptions are made until there are TABLE_SIZE of them.
 */
#include "cache/interposer/pool.h"

#include "cache/interposer/real.h"

#include <sys/mman.h>

enum { COUNTERS = 64, CHUNK = 64, CHUNKS = TABLE_SIZE / CHUNK };

enum description_state { STATE_FREE, STATE_USED, STATE_RETIRED, STATE_WAITING };

struct chunk {
    struct description descriptions[CHUNK];
};

static struct {
    struct {
        _Alignas(64) _Atomic uint32_t inside;
    } counters[COUNTERS];
    _Atomic(struct chunk *) chunks[CHUNKS];
    _Atomic unsigned hint; /* where a free one may be */
    _Atomic bool is_collecting;
} pool;

/* Threads lie megabytes apart. */
static _Atomic uint32_t *my_counter(void)
{
    uint64_t place = (uint64_t)(uintptr_t)__builtin_thread_pointer();
    return &pool.counters[(place * 0x9e3779b97f4a7c15u) >> 58].inside;
}

void pool_enter(void)
{
    atomic_fetch_add(my_counter(), 1);
}

void pool_leave(void)
{
    atomic_fetch_sub_explicit(my_counter(), 1, memory_order_release); /* pairs with all_out() */
}

static struct chunk *chunk_at(unsigned index)
{
    return atomic_load_explicit(&pool.chunks[index], memory_order_acquire);
}

static struct chunk *chunk_make(unsigned index)
{
    struct chunk *made = real.mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    struct chunk *other = NULL;
    if (atomic_compare_exchange_strong(&pool.chunks[index], &other, made))
        return made;
    munmap(made, sizeof(*made));
    return other;
}

static struct description *take_from(struct chunk *chunk)
{
    for (unsigned i = 0; i < CHUNK; i++) {
        struct description *description = &chunk->descriptions[i];
        uint32_t state = STATE_FREE;
        if (atomic_load_explicit(&description->state, memory_order_relaxed) == STATE_FREE &&
            atomic_compare_exchange_strong(&description->state, &state, STATE_USED))
            return description;
    }
    return NULL;
}

static void change_all(uint32_t from, uint32_t to)
{
    for (unsigned index = 0; index < CHUNKS && chunk_at(index); index++) {
        for (unsigned i = 0; i < CHUNK; i++) {
            uint32_t state = from;
            atomic_compare_exchange_strong(&chunk_at(index)->descriptions[i].state, &state, to);
        }
    }
}

static bool all_out(void)
{
    for (unsigned i = 0; i < COUNTERS; i++) {
        if (atomic_load(&pool.counters[i].inside) != 0)
            return false;
    }
    return true;
}

/* Make what nobody looks at any more free. */
static void collect(void)
{
    if (atomic_exchange(&pool.is_collecting, true))
        return;
    change_all(STATE_RETIRED, STATE_WAITING);
    if (all_out()) {
        change_all(STATE_WAITING, STATE_FREE);
        atomic_store(&pool.hint, 0);
    }
    atomic_store(&pool.is_collecting, false);
}

static struct description *take_from_existing(void)
{
    for (unsigned index = atomic_load(&pool.hint); index < CHUNKS && chunk_at(index); index++) {
        struct description *description = take_from(chunk_at(index));
        if (description) {
            atomic_store(&pool.hint, index);
            return description;
        }
    }
    return NULL;
}

struct description *pool_take(void)
{
    struct description *description = take_from_existing();
    if (!description) {
        collect();
        description = take_from_existing();
    }
    for (unsigned index = 0; index < CHUNKS && !description; index++) {
        struct chunk *chunk = chunk_at(index) ? NULL : chunk_make(index);
        if (chunk)
            description = take_from(chunk);
        else if (!chunk_at(index))
            break; /* no memory */
    }
    return description;
}

void pool_give_back(struct description *description)
{
    atomic_store(&description->state, STATE_FREE);
}

void pool_retire(struct description *description)
{
    atomic_store(&description->state, STATE_RETIRED);
}

void pool_forked(void)
{
    for (unsigned i = 0; i < COUNTERS; i++)
        atomic_store(&pool.counters[i].inside, 0);
    atomic_store(&pool.is_collecting, false);
}
