/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The store alone: index, slots, tokens, lists, small objects and whole blocks.
 */
#include "cache/store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#define BLOCK  (64u << 10)
#define CHUNKS 4u

struct fixture {
    struct store store;
    struct cache_control *control;
    void *arena;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct cache_shape shape;
    assert_true(cache_shape_make(&shape, CHUNKS * BLOCK, BLOCK));
    fixture->arena = aligned_alloc(BLOCK, shape.arena_length);
    fixture->control = aligned_alloc(4096, shape.control_length);
    memset(fixture->arena, 0, shape.arena_length);
    memset(fixture->control, 0, shape.control_length);
    assert_int_equal(store_open(&fixture->store, fixture->arena, fixture->control, &shape), 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    store_close(&fixture->store);
    free(fixture->arena);
    free(fixture->control);
    free(fixture);
    return 0;
}

static void id_of(uint64_t number, uint64_t id[2])
{
    id[0] = number * 0x9e3779b97f4a7c15u | 1;
    id[1] = number * 0xbf58476d1ce4e5b9u;
}

/* Put a block with this number in; returns its slot. */
static uint32_t put(struct store *store, uint64_t number, uint64_t length)
{
    uint64_t id[2];
    id_of(number, id);
    uint32_t slot = store_reserve(store, length);
    if (slot != CACHE_NO_SLOT)
        assert_true(store_publish(store, slot, id, length, 0) != 0);
    return slot;
}

static uint32_t find(struct store *store, uint64_t number, uint64_t *token)
{
    uint64_t id[2];
    id_of(number, id);
    return cache_index_find(&store->arena, id, token);
}

static void touch(struct fixture *fixture, uint32_t slot)
{
    cache_touched(fixture->control, &fixture->store.shape)[slot] = 1;
}

static void shape_is_checked(void **state)
{
    (void)state;
    struct cache_shape shape;
    assert_false(cache_shape_make(&shape, 1 << 20, 3 << 16));
    assert_false(cache_shape_make(&shape, 1 << 20, 32 << 10));
    assert_false(cache_shape_make(&shape, BLOCK, BLOCK));
    assert_true(cache_shape_make(&shape, 8ull << 30, 1 << 20));
    assert_true(cache_shape_check(&shape));
    assert_int_equal(shape.chunk_count, 8192);
    shape.data_offset += 4096;
    assert_false(cache_shape_check(&shape));
}

static void what_is_published_is_found(void **state)
{
    struct fixture *fixture = *state;
    uint64_t token = 0, again;
    uint32_t slot = put(&fixture->store, 7, BLOCK);
    assert_int_equal(find(&fixture->store, 7, &token), slot);
    assert_int_equal(find(&fixture->store, 8, &again), CACHE_NO_SLOT);
    assert_true(cache_slot_stands(&fixture->store.arena.slots[slot], token));
    assert_int_equal(fixture->store.arena.slots[slot].length, BLOCK);
}

static void tokens_are_never_used_again(void **state)
{
    struct fixture *fixture = *state;
    uint64_t first, second;
    bool is_singlet;
    uint32_t slot = put(&fixture->store, 1, BLOCK);
    find(&fixture->store, 1, &first);
    assert_int_equal(store_victim(&fixture->store, 0, &is_singlet), slot);
    assert_true(
        cache_slot_stands(&fixture->store.arena.slots[slot], first)); /* leaving, not gone */
    store_release(&fixture->store, slot);
    assert_false(cache_slot_stands(&fixture->store.arena.slots[slot], first));
    assert_int_equal(put(&fixture->store, 1, BLOCK), slot);
    assert_int_equal(find(&fixture->store, 1, &second), slot);
    assert_true(second != first);
    assert_false(cache_slot_stands(&fixture->store.arena.slots[slot], first));
}

static void the_token_skips_zero_in_the_directory(void **state)
{
    struct fixture *fixture = *state;
    uint64_t token = 0;
    fixture->store.token = 0xfffffff;
    put(&fixture->store, 1, BLOCK);
    find(&fixture->store, 1, &token);
    assert_true((token & 0xfffffff) != 0);
}

static void the_oldest_leaves_first(void **state)
{
    struct fixture *fixture = *state;
    struct store *store = &fixture->store;
    bool is_singlet = true;
    uint32_t slots[CHUNKS];
    for (uint32_t i = 0; i < CHUNKS; i++)
        slots[i] = put(store, i, BLOCK);
    assert_int_equal(store_reserve(store, BLOCK), CACHE_NO_SLOT);
    touch(fixture, slots[0]); /* used: it stays, the next goes */
    assert_int_equal(store_victim(store, 0, &is_singlet), slots[1]);
    assert_false(is_singlet);
    store_release(store, slots[1]);
    assert_int_equal(store_victim(store, 0, &is_singlet), slots[2]);
    assert_int_equal(store_victim(store, 0, &is_singlet), slots[3]);
    assert_int_equal(store_victim(store, 0, &is_singlet), slots[0]);
    assert_int_equal(store_victim(store, 0, &is_singlet), CACHE_NO_SLOT);
}

static void if_all_were_used_one_leaves_still(void **state)
{
    struct fixture *fixture = *state;
    bool is_singlet;
    for (uint32_t i = 0; i < CHUNKS; i++)
        touch(fixture, put(&fixture->store, i, BLOCK));
    assert_true(store_victim(&fixture->store, 0, &is_singlet) != CACHE_NO_SLOT);
}

static void singlets_leave_in_order_and_only_beyond_their_share(void **state)
{
    struct fixture *fixture = *state;
    struct store *store = &fixture->store;
    uint32_t slots[CHUNKS];
    bool is_singlet;
    for (uint32_t i = 0; i < CHUNKS; i++)
        slots[i] = put(store, i, BLOCK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_victim(store, 2ull * BLOCK, &is_singlet), slots[i]);
        store_singlet_keep(store, slots[i]);
    }
    /* Two blocks are allowed there, so the general list gives the next. */
    assert_int_equal(store_victim(store, 2ull * BLOCK, &is_singlet), slots[2]);
    assert_false(is_singlet);
    store_singlet_keep(store, slots[2]);
    assert_int_equal(store_victim(store, 2ull * BLOCK, &is_singlet), slots[0]);
    assert_true(is_singlet);
    store_singlet_return(store, slots[0]); /* at the same end again */
    assert_int_equal(store_victim(store, 2ull * BLOCK, &is_singlet), slots[0]);
    store_release(store, slots[0]);
    /* One that is used goes back to the general list. */
    touch(fixture, slots[1]);
    assert_int_equal(store_victim(store, 0, &is_singlet), slots[2]);
    assert_true(is_singlet);
    store_release(store, slots[2]);
    assert_int_equal(store_victim(store, 0, &is_singlet), slots[3]);
    assert_false(is_singlet);
    store_release(store, slots[3]);
    assert_int_equal(store_victim(store, 0, &is_singlet), slots[1]);
    assert_false(is_singlet);
}

/* One block leaves so that so many bytes have room, and those beside it if need be; how many. */
static uint32_t make_room(struct store *store, uint64_t length)
{
    bool is_singlet;
    uint32_t gone = store_victim(store, 0, &is_singlet), beside, count = 1;
    assert_true(gone != CACHE_NO_SLOT);
    while ((beside = store_neighbour(store, gone, &(struct store_room){length, true})) !=
           CACHE_NO_SLOT) {
        store_release(store, beside);
        count++;
    }
    store_release(store, gone);
    return count;
}

static void small_blocks_make_room_for_a_whole_one(void **state)
{
    struct fixture *fixture = *state;
    struct store *store = &fixture->store;
    uint32_t count = 0;
    while (put(store, count, BLOCK / 8) != CACHE_NO_SLOT)
        count++;
    assert_int_equal(count, CHUNKS * 8);
    assert_int_equal(store_reserve(store, 1), CACHE_NO_SLOT);
    assert_int_equal(store_reserve(store, BLOCK), CACHE_NO_SLOT);
    assert_int_equal(make_room(store, BLOCK), 8);
    uint32_t whole = store_reserve(store, BLOCK);
    assert_true(whole < CHUNKS);
    assert_ptr_equal(store_data(store, whole),
                     (char *)fixture->arena + store->shape.data_offset + (uint64_t)whole * BLOCK);
    /* What is being filled cannot leave, and is not taken apart. */
    assert_int_equal(store_reserve(store, BLOCK), CACHE_NO_SLOT);
    store_cancel(store, whole);
    assert_true(put(store, 1000, 1) != CACHE_NO_SLOT);
}

static void a_neighbour_that_is_filled_stays(void **state)
{
    struct fixture *fixture = *state;
    struct store *store = &fixture->store;
    uint64_t length = BLOCK / 8;
    bool is_singlet;
    for (uint64_t i = 0; i < CHUNKS * 8; i += 2) {
        assert_true(put(store, i, length) != CACHE_NO_SLOT);
        assert_true(store_reserve(store, length) != CACHE_NO_SLOT);
    }
    uint32_t gone = store_victim(store, 0, &is_singlet);
    assert_int_equal(store_neighbour(store, gone, &(struct store_room){BLOCK, true}),
                     CACHE_NO_SLOT);
    store_release(store, gone);
    assert_int_equal(store_reserve(store, BLOCK), CACHE_NO_SLOT);
    assert_true(store_reserve(store, length) != CACHE_NO_SLOT);
}

static void slots_may_run_out_before_memory(void **state)
{
    struct fixture *fixture = *state;
    struct store *store = &fixture->store;
    uint32_t others = store->shape.slot_count - CHUNKS, count = 0;
    while (put(store, count, 100) != CACHE_NO_SLOT)
        count++;
    assert_int_equal(count, others);
    assert_int_equal(make_room(store, 100), 1);
    assert_true(put(store, 1000, 100) != CACHE_NO_SLOT);
}

static void what_is_used_is_told(void **state)
{
    struct fixture *fixture = *state;
    put(&fixture->store, 1, 100);
    put(&fixture->store, 2, CACHE_PAGED_MIN + 1);
    put(&fixture->store, 3, BLOCK - 1);
    assert_int_equal(fixture->control->content_bytes, 100 + CACHE_PAGED_MIN + 1 + BLOCK - 1);
    assert_int_equal(fixture->control->used_bytes, 128 + CACHE_PAGED_MIN + CACHE_PAGE + BLOCK);
    for (int i = 0; i < 3; i++)
        make_room(&fixture->store, 1);
    assert_int_equal(fixture->control->content_bytes, 0);
    assert_int_equal(fixture->control->used_bytes, 0);
}

static void a_full_index_refuses(void **state)
{
    struct fixture *fixture = *state;
    struct cache_arena *arena = &fixture->store.arena;
    uint64_t both = 1 | 1ull << 33; /* buckets 0 and 1 */
    uint32_t added = 0;
    assert_true(arena->shape->bucket_count >= 2);
    for (uint64_t i = 1; i < 100; i++) {
        uint64_t id[2] = {both, i << 24};
        if (!store_index_add(arena, id, 0))
            break;
        added++;
    }
    assert_int_equal(added, 2 * CACHE_ENTRIES);
    uint64_t id[2] = {both, 1 << 24};
    store_index_remove(arena, id, 0);
    assert_true(store_index_add(arena, id, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_is_checked),
        cmocka_unit_test_setup_teardown(what_is_published_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokens_are_never_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_token_skips_zero_in_the_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_leaves_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(if_all_were_used_one_leaves_still, set_up, tear_down),
        cmocka_unit_test_setup_teardown(singlets_leave_in_order_and_only_beyond_their_share, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(small_blocks_make_room_for_a_whole_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_neighbour_that_is_filled_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slots_may_run_out_before_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_used_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_index_refuses, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
