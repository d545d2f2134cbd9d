/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When a wait spins and when it gives its core away.
 */
#include "nic/shm/habit.h"
#include "unit.h"

static void learn(struct shm_habit *habit, enum habit_end end, int times)
{
    for (int i = 0; i < times; i++)
        habit_note(habit, end);
}

/* How many of the next waits spin. */
static int spins_of(struct shm_habit *habit, int waits)
{
    int spins = 0;
    for (int i = 0; i < waits; i++)
        spins += habit_spins(habit);
    return spins;
}

static void test_spins_while_it_pays(void **state)
{
    struct shm_habit habit = {.row = 0};
    (void)state;
    habit_begin(&habit, false);
    assert_int_equal(spins_of(&habit, 100), 100);
    learn(&habit, HABIT_SPUN, 100);
    assert_int_equal(spins_of(&habit, 100), 100);
    for (int i = 0; i < 10; i++) { /* never so often in a row */
        learn(&habit, HABIT_YIELDED, HABIT_WASTED - 1);
        learn(&habit, HABIT_SPUN, 1);
        learn(&habit, HABIT_YIELDED, HABIT_WASTED - 1);
        habit_note_quick(&habit);
    }
    assert_int_equal(spins_of(&habit, 100), 100);
}

static void test_yields_when_it_does_not(void **state)
{
    struct shm_habit habit = {.row = 0};
    (void)state;
    habit_begin(&habit, false);
    learn(&habit, HABIT_YIELDED, HABIT_WASTED);
    assert_true(habit_yields(&habit));
    assert_int_equal(spins_of(&habit, 10 * HABIT_TRIALS), 10); /* the trials */
    learn(&habit, HABIT_YIELDED, 10);
    assert_true(habit_yields(&habit));
}

static void test_spins_again(void **state)
{
    struct shm_habit habit = {.row = 0};
    (void)state;
    habit_begin(&habit, false);
    learn(&habit, HABIT_YIELDED, HABIT_WASTED);
    learn(&habit, HABIT_SPUN, HABIT_PAID - 1);
    learn(&habit, HABIT_YIELDED, 1);
    learn(&habit, HABIT_SPUN, HABIT_PAID - 1);
    habit_note_quick(&habit); /* a quick end is no trial, and says nothing */
    assert_true(habit_yields(&habit));
    learn(&habit, HABIT_SPUN, 1);
    assert_false(habit_yields(&habit));
    assert_int_equal(spins_of(&habit, 100), 100);
}

static void test_counted_is_certain(void **state)
{
    struct shm_habit habit = {.row = 0};
    (void)state;
    habit_begin(&habit, true);
    assert_true(habit_yields(&habit));
    assert_int_equal(spins_of(&habit, 10 * HABIT_TRIALS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spins_while_it_pays),
        cmocka_unit_test(test_yields_when_it_does_not),
        cmocka_unit_test(test_spins_again),
        cmocka_unit_test(test_counted_is_certain),
    };
    return cmocka_run_group_tests_name("habit", tests, NULL, NULL);
}
