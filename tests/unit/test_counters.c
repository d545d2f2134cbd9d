/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The counters' table is complete and without doubles, and counting counts.
 */
#include "base/counters.h"
#include "nic/nic_layer.h"
#include "rma/rma_layer.h"
#include "unit.h"
#include "watch/roster.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

static void test_table(void **state)
{
    (void)state;
    unsigned count = 0;
    for (unsigned i = 0; i < COUNTERS_MAX; i++) {
        const struct counter_spec *spec = counter_spec(i);
        if (!spec)
            continue;
        count++;
        if (!spec->name || !spec->help || !spec->help[0])
            fail_msg("counter %u has no name or no help", i);
        for (const char *at = spec->name; *at; at++) {
            if (!islower((unsigned char)*at) && *at != '_')
                fail_msg("counter name %s is not lower case", spec->name);
        }
        for (unsigned k = 0; k < i; k++) {
            if (counter_spec(k) && strcmp(counter_spec(k)->name, spec->name) == 0)
                fail_msg("counter %s is there twice", spec->name);
        }
    }
    assert_true(count > 30);
    assert_null(counter_spec(COUNTERS_MAX));
    assert_null(counter_spec(UINT32_MAX));
}

static void test_add(void **state)
{
    (void)state;
    struct counters counters = {0};
    counter_add(&counters, COUNTER_PUSH, 1);
    counter_add(&counters, COUNTER_PUSH, 2);
    counter_add(&counters, COUNTER_PUSH_BYTES, UINT64_MAX);
    counter_add_exact(&counters, COUNTER_DENIED_DEAD);
    for (unsigned i = 0; i < COUNTERS_MAX; i++) {
        uint64_t expected = i == COUNTER_PUSH          ? 3
                            : i == COUNTER_PUSH_BYTES  ? UINT64_MAX
                            : i == COUNTER_DENIED_DEAD ? 1
                                                       : 0;
        assert_true(counter_read(&counters, i) == expected);
    }
    counter_add(&counters, COUNTER_PUSH_BYTES, 2); /* wraps, as unsigned numbers do */
    assert_true(counter_read(&counters, COUNTER_PUSH_BYTES) == 1);
}

#define ADD_COUNT 100000

static void *add_many(void *counters)
{
    for (int i = 0; i < ADD_COUNT; i++)
        counter_add_exact(counters, COUNTER_DENIED_STALE);
    return NULL;
}

static void test_exact_loses_nothing(void **state)
{
    (void)state;
    struct counters counters = {0};
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &counters), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(counter_read(&counters, COUNTER_DENIED_STALE) == COUNT_OF(threads) * ADD_COUNT);
}

/* The layout is shared between programs of different builds. */
static void test_layout(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct counters), COUNTERS_MAX * sizeof(uint64_t));
    assert_int_equal(offsetof(struct board_rank, counters), 0);
    assert_int_equal(sizeof(struct board_rank), 2048);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_exact_loses_nothing),
        cmocka_unit_test(test_layout),
    };
    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
