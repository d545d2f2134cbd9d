/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the cache under mixes of lengths: whatever comes, what is taken is little more than
 * what was asked for; and when everything is full, it is full of contents, whichever lengths come
 * next.
 */
#include "base/splitmix.h"
#include "cache/store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#define BLOCK  (1u << 20)
#define CHUNKS 64u

static uint64_t dice_state;

static uint64_t dice(uint64_t below)
{
    dice_state += SPLITMIX_STEP;
    return splitmix_mix(dice_state) % below;
}

/* ---- The row of extents --------------------------------------------------------------------- */

#define TAKEN_MAX 400u

/* Random takes and gives; nothing overlaps, nothing is lost, and in the end all is one again. */
static void extents_stay_sound(void **state)
{
    (void)state;
    struct extents extents;
    uint32_t taken[TAKEN_MAX], count = 0;
    uint64_t length = 16u * BLOCK;
    assert_int_equal(extents_open(&extents, length, TAKEN_MAX), 0);
    dice_state = 1;
    for (int round = 0; round < 20000; round++) {
        struct extent_wish wish = {.length = CACHE_UNIT << dice(14), .alignment = CACHE_UNIT};
        wish.length = (1 + dice(wish.length / CACHE_UNIT)) * CACHE_UNIT;
        if (dice(8) == 0)
            wish = (struct extent_wish){.length = BLOCK, .alignment = BLOCK, .is_low = true};
        wish.owner = count;
        if (count < TAKEN_MAX && dice(2) == 0) {
            uint32_t index = extents_take(&extents, &wish);
            if (index == EXTENT_NONE)
                continue;
            assert_int_equal(extents.extent[index].offset % wish.alignment, 0);
            assert_int_equal(extents.extent[index].length, wish.length);
            taken[count++] = index;
        } else if (count > 0) {
            uint32_t which = (uint32_t)dice(count);
            extents_give(&extents, taken[which]);
            taken[which] = taken[--count];
        }
        if (round % 16 == 0)
            assert_true(extents_are_sound(&extents));
    }
    while (count > 0)
        extents_give(&extents, taken[--count]);
    assert_true(extents_are_sound(&extents));
    assert_int_equal(extents.extent[0].length, length);
    assert_int_equal(extents.extent[0].after, EXTENT_NONE);
    extents_close(&extents);
}

/* ---- Mixes ---------------------------------------------------------------------------------- */

struct fixture {
    struct store store;
    struct cache_control *control;
    void *arena; /* headers only: no test looks at the data */
    uint64_t number;
    uint64_t evicted; /* since it was last set to 0 */
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct cache_shape shape;
    assert_true(cache_shape_make(&shape, (uint64_t)CHUNKS * BLOCK, BLOCK));
    fixture->arena = calloc(1, shape.data_offset);
    fixture->control = calloc(1, shape.control_length);
    assert_int_equal(store_open(&fixture->store, fixture->arena, fixture->control, &shape), 0);
    dice_state = 7;
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

/* As node/evict.c does it. */
static void make_room(struct fixture *fixture, const struct store_room *room)
{
    struct store *store = &fixture->store;
    bool is_singlet;
    uint32_t gone = store_victim(store, 0, &is_singlet), beside;
    assert_true(gone != CACHE_NO_SLOT);
    while ((beside = store_neighbour(store, gone, room)) != CACHE_NO_SLOT) {
        store_release(store, beside);
        fixture->evicted++;
    }
    store_release(store, gone);
    fixture->evicted++;
}

static uint32_t bring(struct fixture *fixture, uint64_t length)
{
    struct store *store = &fixture->store;
    uint64_t number = ++fixture->number;
    uint64_t id[2] = {splitmix_mix(number) | 1, splitmix_mix(~number)};
    uint32_t slot;
    for (int round = 0; (slot = store_reserve(store, length)) == CACHE_NO_SLOT; round++)
        make_room(fixture, &(struct store_room){length, round >= 8});
    assert_true(store_publish(store, slot, id, length, 0) != 0);
    return slot;
}

static double used_by_content(const struct fixture *fixture)
{
    return (double)fixture->control->used_bytes / (double)fixture->control->content_bytes;
}

static double filled(const struct fixture *fixture)
{
    return (double)fixture->control->content_bytes / ((double)CHUNKS * BLOCK);
}

/* Lengths of blocks, as mixes of files have them. */
typedef uint64_t length_source(void);

static uint64_t small_files(void) /* 3000 of them are about 13 MiB */
{
    return 1000 + dice(7000);
}

static uint64_t of_4k(void)
{
    return 4096;
}

static uint64_t of_100k(void)
{
    return 100 << 10;
}

static uint64_t just_over_an_eighth(void)
{
    return (128 << 10) + 1;
}

static uint64_t of_600k(void)
{
    return 600 << 10;
}

static uint64_t nearly_whole(void)
{
    return BLOCK - BLOCK / 8 + 1;
}

static uint64_t whole(void)
{
    return BLOCK;
}

static uint64_t any(void)
{
    return 256 + dice(BLOCK - 255);
}

static uint64_t any_power(void) /* as many from 1 KiB to 2 KiB as from 512 KiB to 1 MiB */
{
    uint64_t power = 512ull << dice(11);
    return power + 1 + dice(power);
}

static uint64_t large_files(void) /* whole blocks and a rest */
{
    return dice(4) > 0 ? BLOCK : 1 + dice(BLOCK);
}

static uint64_t whole_and_tiny(void)
{
    return dice(2) > 0 ? BLOCK : 300 + dice(4000);
}

static length_source *const sources[] = {
    small_files, of_4k, of_100k,   just_over_an_eighth, of_600k,       nearly_whole,
    whole,       any,   any_power, large_files,         whole_and_tiny};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

static void whatever_comes_takes_little_more_than_it_is(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < SOURCES; i++) {
        for (int j = 0; j < 2000; j++)
            bring(fixture, sources[i]());
        assert_true(used_by_content(fixture) <= 1.25);
        assert_true(extents_are_sound(&fixture->store.extents));
    }
}

static void three_thousand_small_files_take_what_they_are(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 3000; i++)
        bring(fixture, small_files());
    assert_int_equal(fixture->evicted, 0);
    assert_true(used_by_content(fixture) <= 1.05);
}

static void touch(struct fixture *fixture, uint32_t slot)
{
    cache_touched(fixture->control, &fixture->store.shape)[slot] = 1;
}

/* Bring twice what fits, and use some of what is there: blocks do not leave in the order in which
 * they came. */
static void flood(struct fixture *fixture, length_source *source)
{
    for (uint64_t bytes = 0; bytes < 2ull * CHUNKS * BLOCK;) {
        uint64_t length = source();
        bring(fixture, length);
        touch(fixture, (uint32_t)dice(fixture->store.shape.slot_count));
        touch(fixture, (uint32_t)dice(CHUNKS));
        bytes += length;
    }
}

/* After any mix any other: the memory goes from the one to the other. */
static void a_full_cache_is_full_of_contents(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < SOURCES; i++) {
        for (unsigned j = 0; j < SOURCES; j++) {
            flood(fixture, sources[i]);
            flood(fixture, sources[j]);
            assert_true(filled(fixture) >= 0.8);
            assert_true(used_by_content(fixture) <= 1.25);
        }
    }
    assert_true(extents_are_sound(&fixture->store.extents));
}

#define HOT 1000u

/* What is used stays while others pass by, whichever of the two is large: how many of the hot ones
 * are left when ten times the memory has come. */
static unsigned left_after(struct fixture *fixture, length_source *hot, length_source *passing)
{
    uint32_t slots[HOT], count = 0, left = 0;
    uint64_t tokens[HOT], bytes = 0;
    for (; count < HOT && bytes < CHUNKS / 4ull * BLOCK; count++) {
        uint64_t length = hot();
        slots[count] = bring(fixture, length);
        tokens[count] = fixture->store.arena.slots[slots[count]].token;
        bytes += length;
    }
    for (bytes = 0; bytes < 10ull * CHUNKS * BLOCK;) {
        for (uint32_t i = 0; i < count; i++)
            touch(fixture, slots[i]);
        uint64_t length = passing();
        bring(fixture, length);
        bytes += length;
    }
    for (uint32_t i = 0; i < count; i++)
        left += fixture->store.arena.slots[slots[i]].token == tokens[i];
    return left * 100 / count;
}

static void what_is_used_stays(void **state)
{
    struct fixture *fixture = *state;
    assert_true(left_after(fixture, small_files, whole) >= 75);
    assert_true(left_after(fixture, whole, any) >= 75);
    assert_true(left_after(fixture, any, of_100k) >= 75);
    assert_true(left_after(fixture, small_files, any) >= 75);
    assert_true(left_after(fixture, any, any) >= 75);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_stay_sound),
        cmocka_unit_test_setup_teardown(whatever_comes_takes_little_more_than_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(three_thousand_small_files_take_what_they_are, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_cache_is_full_of_contents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_used_stays, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("extents", tests, NULL, NULL);
}
