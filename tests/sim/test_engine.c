/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event engine: order, cancelling, far and near events, chance, the hash of the event log.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

struct recorder {
    struct sim *sim;
    uint32_t actor;
    size_t count;
    struct record {
        sim_time when;
        uint64_t argument;
    } records[4096];
};

static void record(void *context, uint32_t kind, uint64_t argument)
{
    struct recorder *recorder = context;
    (void)kind;
    assert_true(recorder->count < COUNT_OF(recorder->records));
    recorder->records[recorder->count++] = (struct record){sim_now(recorder->sim), argument};
}

static void recorder_open(struct recorder *recorder, uint64_t seed)
{
    memset(recorder, 0, sizeof(*recorder));
    recorder->sim = world_make(seed);
    int actor = sim_actor_add(recorder->sim, &(struct sim_actor){
                                                 .name = "recorder",
                                                 .handle = record,
                                                 .context = recorder,
                                             });
    assert_true(actor >= 0);
    recorder->actor = (uint32_t)actor;
}

static sim_ticket post(struct recorder *recorder, sim_time when, uint64_t argument)
{
    return sim_post(recorder->sim, when, (struct sim_event){recorder->actor, 0, argument});
}

static void test_order(void **state)
{
    (void)state;
    struct recorder *r = calloc(1, sizeof(*r));
    recorder_open(r, 1);
    /* Near, within the wheel, and beyond it; posted backwards. */
    static const sim_time times[] = {5, 4096, 4097, 1000000, 16 * SIM_US, 17 * SIM_US, 3 * SIM_S};
    for (size_t i = COUNT_OF(times); i-- > 0;)
        post(r, times[i], i);
    assert_int_equal(sim_pending(r->sim), COUNT_OF(times));
    assert_int_equal(sim_run(r->sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(r->count, COUNT_OF(times));
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        assert_int_equal(r->records[i].when, times[i]);
        assert_int_equal(r->records[i].argument, i);
    }
    assert_int_equal(sim_pending(r->sim), 0);
    sim_destroy(r->sim);
    free(r);
}

static void test_ties(void **state)
{
    (void)state;
    struct recorder *r = calloc(1, sizeof(*r));
    recorder_open(r, 1);
    static const sim_time times[] = {7, 40 * SIM_NS, 30 * SIM_US};
    for (uint64_t i = 0; i < 300; i++)
        post(r, times[i % 3], i);
    assert_int_equal(sim_run(r->sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(r->count, 300);
    for (uint64_t i = 0; i < 300; i++)
        assert_int_equal(r->records[i].argument, i % 100 * 3 + i / 100);
    sim_destroy(r->sim);
    free(r);
}

static void test_cancel(void **state)
{
    (void)state;
    struct recorder *r = calloc(1, sizeof(*r));
    recorder_open(r, 1);
    static const sim_time times[] = {1, 50 * SIM_NS, 40 * SIM_US};
    for (size_t i = 0; i < 3; i++) {
        sim_ticket gone = post(r, times[i], 100 + i);
        post(r, times[i], i);
        assert_true(sim_cancel(r->sim, gone));
        assert_false(sim_cancel(r->sim, gone));
    }
    sim_ticket late = post(r, SIM_S, 9);
    assert_true(sim_cancel(r->sim, late));
    assert_int_equal(sim_pending(r->sim), 3);
    assert_int_equal(sim_run(r->sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(r->count, 3);
    assert_int_equal(sim_now(r->sim), 40 * SIM_US); /* a cancelled event lets no time pass */
    assert_false(sim_cancel(r->sim, late));
    assert_false(sim_cancel(r->sim, 0));
    sim_destroy(r->sim);
    free(r);
}

static void test_until_and_limit(void **state)
{
    (void)state;
    struct recorder *r = calloc(1, sizeof(*r));
    recorder_open(r, 1);
    for (uint64_t i = 1; i <= 10; i++)
        post(r, (sim_time)i * SIM_US, i);
    assert_int_equal(sim_run(r->sim, 3500 * SIM_NS, 0), SIM_TIME);
    assert_int_equal(r->count, 3);
    assert_int_equal(sim_now(r->sim), 3500 * SIM_NS);
    post(r, 3600 * SIM_NS, 99); /* earlier than what the queue has looked at already */
    assert_int_equal(sim_run(r->sim, SIM_NEVER, 2), SIM_LIMIT);
    assert_int_equal(r->records[3].argument, 99);
    assert_int_equal(r->records[4].argument, 4);
    assert_int_equal(sim_run(r->sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(r->count, 11);
    sim_destroy(r->sim);
    free(r);
}

/* Chance decides when and how many; the queue must agree with a plain sort. */
static void test_random_against_sort(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct recorder *r = calloc(1, sizeof(*r));
        recorder_open(r, seed);
        sim_time last = 0;
        uint64_t posted = 0;
        while (posted < 4000) {
            for (uint64_t k = sim_random_below(r->sim, 50); k > 0 && posted < 4000; k--) {
                unsigned bits = (unsigned)sim_random_below(r->sim, 36);
                post(r, sim_now(r->sim) + (sim_time)sim_random_below(r->sim, 1ULL << bits),
                     posted++);
            }
            sim_run(r->sim, SIM_NEVER, sim_random_below(r->sim, 40) + 1);
        }
        assert_int_equal(sim_run(r->sim, SIM_NEVER, 0), SIM_IDLE);
        assert_int_equal(r->count, 4000);
        for (size_t i = 0; i < r->count; i++) {
            assert_true(r->records[i].when >= last);
            if (i > 0 && r->records[i].when == last)
                assert_true(r->records[i].argument > r->records[i - 1].argument);
            last = r->records[i].when;
        }
        sim_destroy(r->sim);
        free(r);
    }
}

static uint64_t hash_of(uint64_t seed)
{
    struct recorder *r = calloc(1, sizeof(*r));
    recorder_open(r, seed);
    for (int i = 0; i < 1000; i++)
        post(r, (sim_time)sim_random_below(r->sim, SIM_MS), sim_random(r->sim));
    assert_int_equal(sim_run(r->sim, SIM_NEVER, 0), SIM_IDLE);
    assert_int_equal(sim_event_count(r->sim), 1000);
    uint64_t hash = sim_hash(r->sim);
    sim_destroy(r->sim);
    free(r);
    return hash;
}

static void test_hash(void **state)
{
    (void)state;
    assert_true(hash_of(1) == hash_of(1));
    assert_true(hash_of(1) != hash_of(2));
}

/* One changed, moved, missing or swapped event shows. */
static void test_hash_sees_all(void **state)
{
    (void)state;
    uint64_t hashes[5];
    for (int variant = 0; variant < 5; variant++) {
        struct recorder *r = calloc(1, sizeof(*r));
        recorder_open(r, 1);
        post(r, 10, variant == 1 ? 6 : 5);
        if (variant == 4)
            post(r, 20, 8);
        if (variant != 3)
            post(r, variant == 2 ? 21 : 20, 7);
        if (variant != 4)
            post(r, 20, 8);
        sim_run(r->sim, SIM_NEVER, 0);
        hashes[variant] = sim_hash(r->sim);
        for (int other = 0; other < variant; other++)
            assert_true(hashes[other] != hashes[variant]);
        sim_destroy(r->sim);
        free(r);
    }
}

static void test_chance(void **state)
{
    (void)state;
    struct sim *sim = world_make(3);
    double sum = 0, wait = 0;
    unsigned seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        double real = sim_random_real(sim), time = sim_random_wait(sim, 2.5);
        assert_true(real >= 0 && real < 1);
        assert_true(time > 0);
        sum += real;
        wait += time;
        seen[sim_random_below(sim, 7)]++;
    }
    assert_float_equal(sum / 70000, 0.5, 0.01);
    assert_float_equal(wait / 70000, 2.5, 0.05);
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 9500, 10500);
    sim_destroy(sim);
}

static void test_log(void **state)
{
    (void)state;
    struct recorder *r = calloc(1, sizeof(*r));
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    recorder_open(r, 1);
    sim_log_to(r->sim, out);
    post(r, 1500, 42);
    sim_run(r->sim, SIM_NEVER, 0);
    fclose(out);
    assert_string_equal(text, "1500 recorder 0 42\n");
    free(text);
    sim_destroy(r->sim);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_until_and_limit),
        cmocka_unit_test(test_random_against_sort),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_hash_sees_all),
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
