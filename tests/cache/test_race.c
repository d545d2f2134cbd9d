/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of all lengths come and go in little memory while others copy them as clients do, without
 * a lock: whoever takes what it has copied for a block has that block, though its memory was
 * others', longer and shorter ones', a moment ago. The model is tests/model/cache_fetch.pml.
 */
#include "base/splitmix.h"
#include "cache/store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#define BLOCK     (64u << 10)
#define CHUNKS    8u
#define NUMBERS   512u /* different blocks */
#define WRITERS   2
#define READERS   2
#define ROUNDS    6000
#define TAKEN_MIN 1000

static struct store store;
static _Atomic bool has_ended;
static _Atomic unsigned taken, wrong;

static uint64_t length_of(uint64_t number)
{
    uint64_t dice = splitmix_mix(number);
    return dice % 4 == 0 ? BLOCK : 1 + (dice >> 8) % (dice % 4 == 1 ? 500 : BLOCK);
}

static void id_of(uint64_t number, uint64_t id[2])
{
    id[0] = splitmix_mix(number) | 1;
    id[1] = splitmix_mix(~number);
}

/* Every byte of a block says which it is. */
static bool is_block(const unsigned char *data, uint64_t number, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++) {
        if (data[i] != (unsigned char)(number * 31))
            return false;
    }
    return true;
}

static uint32_t make_room(uint64_t length)
{
    for (unsigned round = 0;; round++) {
        struct store_room room = {length, round >= 8};
        uint32_t slot = store_reserve(&store, length), gone, beside;
        bool is_singlet;
        if (slot != CACHE_NO_SLOT)
            return slot;
        gone = store_victim(&store, 0, &is_singlet);
        if (gone == CACHE_NO_SLOT)
            continue; /* the others are about to give something up */
        while ((beside = store_neighbour(&store, gone, &room)) != CACHE_NO_SLOT)
            store_release(&store, beside);
        store_release(&store, gone);
    }
}

static void *bring_blocks(void *argument)
{
    uint64_t state = (uintptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t number = splitmix_mix(state += SPLITMIX_STEP) % NUMBERS, id[2];
        uint64_t length = length_of(number);
        id_of(number, id);
        if (cache_index_has(&store.arena, id))
            continue;
        uint32_t slot = make_room(length);
        memset(store_data(&store, slot), (int)(unsigned char)(number * 31), length);
        (void)store_publish(&store, slot, id, length, 0);
    }
    return NULL;
}

static void *copy_blocks(void *argument)
{
    static _Thread_local unsigned char copy[BLOCK];
    uint64_t state = (uintptr_t)argument;
    while (!has_ended) {
        uint64_t number = splitmix_mix(state += SPLITMIX_STEP) % NUMBERS, id[2], token;
        uint64_t length = length_of(number);
        id_of(number, id);
        uint32_t slot = cache_index_find(&store.arena, id, &token);
        if (slot == CACHE_NO_SLOT)
            continue;
        const char *bytes = cache_slot_bytes(&store.arena, slot, 0, length);
        if (!bytes)
            continue;
        memcpy(copy, bytes, length);
        if (!cache_slot_stands(&store.arena.slots[slot], token))
            continue;
        taken++;
        wrong += !is_block(copy, number, length);
    }
    return NULL;
}

static void whoever_copies_has_the_block(void **state)
{
    (void)state;
    struct cache_shape shape;
    pthread_t writers[WRITERS], readers[READERS];
    assert_true(cache_shape_make(&shape, CHUNKS * BLOCK, BLOCK));
    void *arena = aligned_alloc(BLOCK, cache_round_up(shape.arena_length, BLOCK));
    struct cache_control *control = calloc(1, shape.control_length);
    memset(arena, 0, shape.arena_length);
    assert_int_equal(store_open(&store, arena, control, &shape), 0);
    for (uintptr_t i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, copy_blocks, (void *)(i + 1));
    do {
        for (uintptr_t i = 0; i < WRITERS; i++)
            pthread_create(&writers[i], NULL, bring_blocks, (void *)(i + 100 + taken));
        for (unsigned i = 0; i < WRITERS; i++)
            pthread_join(writers[i], NULL);
        assert_true(extents_are_sound(&store.extents));
    } while (taken < TAKEN_MIN);
    has_ended = true;
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(wrong, 0);
    store_close(&store);
    free(arena);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whoever_copies_has_the_block)};
    return cmocka_run_group_tests_name("race", tests, NULL, NULL);
}
