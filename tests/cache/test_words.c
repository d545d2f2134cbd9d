/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of contents, words of the directory, and the ratio of singlets.
 */
#include "cache/directory/cell.h"
#include "cache/key.h"
#include "cache/store/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

static void every_part_of_a_key_counts(void **state)
{
    (void)state;
    const struct cache_key key = {1, 2, 3, 4, 5};
    struct cache_key others[] = {
        {2, 2, 3, 4, 5}, {1, 1, 3, 4, 5}, {1, 2, 4, 4, 5}, {1, 2, 3, 3, 5}, {1, 2, 3, 4, 6}};
    uint64_t id[2], other[2];
    cache_key_id(&key, id);
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cache_key_id(&others[i], other);
        assert_true(other[0] != id[0]);
        assert_true(other[1] != id[1]);
    }
}

static void blocks_have_names_of_their_own(void **state)
{
    (void)state;
    const uint64_t file[2] = {11, 12};
    uint64_t first[2], second[2];
    cache_block_id(file, 0, first);
    cache_block_id(file, 1, second);
    assert_true(first[0] & 1);
    assert_true(first[0] != second[0]);
    assert_true(first[1] != second[1]);
}

static void a_head_keeps_its_parts(void **state)
{
    (void)state;
    const uint64_t id[2] = {1, 0xfedcba9876543210};
    uint64_t head = head_make(head_tag(id), HEAD_CLAIMING, CELL_RANKS_MAX, 0x7fff);
    assert_true(head_is(head, head_tag(id)));
    assert_int_equal(head_stage(head), HEAD_CLAIMING);
    assert_int_equal(head_rank(head), CELL_RANKS_MAX);
    head = head_with(head, HEAD_LOADED);
    assert_int_equal(head_stage(head), HEAD_LOADED);
    assert_int_equal(head_rank(head), CELL_RANKS_MAX);
    for (int i = 0; i < 300; i++) { /* renewing goes round and touches nothing else */
        uint64_t renewed = head_renewed(head);
        assert_true(renewed != head);
        assert_int_equal(renewed >> 8, head >> 8);
        head = renewed;
    }
    assert_false(head_is(0, 0));
}

static void a_cell_keeps_its_parts(void **state)
{
    (void)state;
    uint64_t cell = cell_make(CELL_RANKS_MAX, 0x3ffffe, 0xabcdef0fffffff);
    struct cell_place place = cell_place(cell);
    assert_int_equal(place.rank, CELL_RANKS_MAX);
    assert_int_equal(place.slot, 0x3ffffe);
    assert_int_equal(place.token, 0xfffffff);
    assert_true(cell_is_loaded(cell));
    assert_false(cell_is_fetching(cell));
    uint64_t mark = cell_fetching(0, 0);
    assert_true(cell_is_fetching(mark));
    assert_false(cell_is_loaded(mark));
    assert_true(cell_fetching(3, 1) != cell_fetching(3, 2));
    assert_int_equal(cell_rank(cell_fetching(3, 1)), 3);
    assert_false(cell_is_fetching(0));
}

static void a_fixed_ratio_stays(void **state)
{
    (void)state;
    struct policy policy;
    const uint64_t id[2] = {1, 2};
    assert_int_equal(policy_open(&policy, &(struct policy_options){0.3, 1000, 1000, 4}), 0);
    assert_int_equal(policy_singlets_max(&policy), 300);
    policy_gave_up(&policy, id, true);
    policy_brought(&policy, &(struct policy_arrival){id, 10, 1000000, true});
    assert_int_equal(policy_singlets_max(&policy), 300);
    policy_close(&policy);
}

/* Bring back `count` blocks that were given up, from the file system or from other nodes. */
static void bring_back(struct policy *policy, unsigned count, bool was_loaded)
{
    for (uint64_t i = 1; i <= count; i++) {
        const uint64_t id[2] = {i << 1, i << 8};
        policy_gave_up(policy, id, was_loaded);
        struct policy_arrival arrival = {id, 8, was_loaded ? 10000000 : 1000000, was_loaded};
        policy_brought(policy, &arrival);
    }
}

static void the_ratio_follows_what_comes_back(void **state)
{
    (void)state;
    struct policy policy;
    assert_int_equal(policy_open(&policy, &(struct policy_options){-1, 1000, 1000, 4}), 0);
    bring_back(&policy, 1, false); /* both costs are known from here on */
    uint64_t start = policy_singlets_max(&policy);
    bring_back(&policy, 100, true);
    uint64_t high = policy_singlets_max(&policy);
    assert_true(high > start);
    bring_back(&policy, 1000, false);
    assert_true(policy_singlets_max(&policy) < high);
    for (int i = 0; i < 100; i++)
        bring_back(&policy, 1000, true);
    assert_in_range(policy_singlets_max(&policy), 900, 999);
    policy_close(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_a_key_counts),
        cmocka_unit_test(blocks_have_names_of_their_own),
        cmocka_unit_test(a_head_keeps_its_parts),
        cmocka_unit_test(a_cell_keeps_its_parts),
        cmocka_unit_test(a_fixed_ratio_stays),
        cmocka_unit_test(the_ratio_follows_what_comes_back),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
