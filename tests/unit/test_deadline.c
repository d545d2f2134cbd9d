/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deadlines: for ever is a deadline too, the longest time-outs do not wrap into the past, and what
 * is left is never negative.
 */
#include "base/clock.h"
#include "unit.h"

static void test_after(void **state)
{
    (void)state;
    assert_true(deadline_after_ns(1000, 0) == 1000);
    assert_true(deadline_after_ns(1000, 5) == 1005);
    assert_true(deadline_after_ns(1000, INT64_MAX - 1000) == DEADLINE_NEVER);
    assert_true(deadline_after_ns(1000, INT64_MAX - 1001) == DEADLINE_NEVER - 1);
    assert_true(deadline_after_ns(1000, INT64_MAX - 999) == DEADLINE_NEVER);
    assert_true(deadline_after_ns(1000, INT64_MAX) == DEADLINE_NEVER);
    assert_true(deadline_after_ns(INT64_MAX, 1) == DEADLINE_NEVER);
    assert_true(clock_deadline_ns(INT64_MAX) == DEADLINE_NEVER);
    int64_t before_ns = clock_now_ns(), deadline_ns = clock_deadline_ns(NS_PER_S);
    assert_true(deadline_ns >= before_ns + NS_PER_S);
    assert_true(deadline_ns <= clock_now_ns() + NS_PER_S);
}

static void test_left(void **state)
{
    (void)state;
    assert_true(deadline_left_ns(1005, 1000) == 5);
    assert_true(deadline_left_ns(1000, 1000) == 0);
    assert_true(deadline_left_ns(1000, 1001) == 0);
    assert_true(deadline_left_ns(0, INT64_MAX) == 0);
    assert_true(deadline_left_ns(DEADLINE_NEVER, 1000) == DEADLINE_NEVER);
    assert_true(deadline_left_ns(DEADLINE_NEVER, INT64_MAX) == 0); /* a clock that has stopped */
    assert_true(deadline_slice_ns(1005, 1000, 100) == 5);
    assert_true(deadline_slice_ns(1005, 1000, 3) == 3);
    assert_true(deadline_slice_ns(1005, 2000, 3) == 0);
    assert_true(deadline_slice_ns(DEADLINE_NEVER, 1000, 3) == 3);
}

static void test_left_ms(void **state)
{
    (void)state;
    assert_int_equal(deadline_left_ms(7 * NS_PER_MS, 5 * NS_PER_MS), 2);
    assert_int_equal(deadline_left_ms(7 * NS_PER_MS + 1, 5 * NS_PER_MS), 3);
    assert_int_equal(deadline_left_ms(1, 0), 1); /* not 0: that would be a loop without a rest */
    assert_int_equal(deadline_left_ms(5, 5), 0);
    assert_int_equal(deadline_left_ms(5, 6), 0);
    assert_int_equal(deadline_left_ms(DEADLINE_NEVER, 5), -1);
    assert_int_equal(deadline_left_ms(DEADLINE_NEVER - 1, 5), INT_MAX);
    assert_int_equal(deadline_left_ms(INT_MAX * NS_PER_MS + 1, 0), INT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_left_ms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
