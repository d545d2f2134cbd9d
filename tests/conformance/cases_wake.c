/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleepers are woken: by the write itself, whichever way it comes, and without loss.
 */
#include "conformance.h"

#include <stdlib.h>

#define WAKES    15
#define ATTEMPTS 8

static int compare_times(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static int64_t median(int64_t *values)
{
    qsort(values, WAKES, sizeof(values[0]), compare_times);
    return values[WAKES / 2];
}

/* How late the clock ends a sleep: what any wake-up takes on this machine at this moment. */
static int64_t lateness_ns(void)
{
    int64_t start_ns = test_now_ns();
    test_sleep_us(1000);
    return test_now_ns() - start_ns - RH_MILLISECONDS(1);
}

/* Medians of WAKES wake-ups, on rank 1. */
struct wakes {
    int64_t taken_ns; /* by rank 0's write */
    int64_t late_ns;  /* by the clock */
};

typedef void write_word(struct test *test, struct rh_remote word, uint64_t value);

static void by_push(struct test *test, struct rh_remote word, uint64_t value)
{
    CHECK_OK(rh_push(test->job, word, &value, sizeof(value)));
}

static void by_swap(struct test *test, struct rh_remote word, uint64_t value)
{
    CHECK_OK(rh_swap(test->job, word, value, NULL));
}

static void by_store(struct test *test, struct rh_remote word, uint64_t value)
{
    struct rh_page *page;
    CHECK_OK(rh_page_open(test->job, word, sizeof(value), &page));
    CHECK_OK(rh_store(page, 0, value, sizeof(value)));
    rh_page_close(page);
}

static struct wakes wake_often(struct test *test, write_word *write, uint64_t *words,
                               uint64_t first)
{
    int64_t taken_ns[WAKES] = {0}, late_ns[WAKES] = {0};
    for (uint64_t round = first; round < first + WAKES; round++) {
        if (test->rank == 0) {
            test_sleep_us(40000);
            write(test, rh_at(1, 1, 0), (uint64_t)test_now_ns());
            test_await(test, &words[1], round + 1, 1);
        } else {
            struct rh_wait wait = {.word = words,
                                   .when = RH_NOT_EQUAL,
                                   .value = words[2],
                                   .from = 0,
                                   .timeout_ns = TEST_WAIT_NS};
            late_ns[round - first] = lateness_ns();
            CHECK_OK(rh_wait_word(test->job, &wait));
            words[2] = words[0];
            taken_ns[round - first] = test_now_ns() - (int64_t)words[2];
            test_signal(test, rh_at(0, 1, 8), round + 1);
        }
    }
    return (struct wakes){.taken_ns = median(taken_ns), .late_ns = median(late_ns)};
}

/* A sleeper is woken by the write itself. A NIC that only looks again from time to time would pass
 * all other cases; here it would take half its interval, while a wake-up takes a tenth of a
 * millisecond. The median of many, and far from both; where the machine has other things to do,
 * the clock's own wake-ups say how much later anything is. Tried again, which would not help a NIC
 * that polls. */
static void woken_by(struct test *test, write_word *write)
{
    uint64_t *words = test_alloc(test, 1, 64);
    struct wakes wakes = {0};
    uint64_t is_good = 0;
    test_barrier(test);
    for (uint64_t attempt = 0; attempt < ATTEMPTS && !is_good && test->rank < 2; attempt++) {
        wakes = wake_often(test, write, words, attempt * WAKES);
        is_good = wakes.taken_ns <= RH_MILLISECONDS(3) + 4 * wakes.late_ns;
        if (test->rank == 1) {
            test_signal(test, rh_at(0, 1, 24), attempt << 1 | is_good | 1ull << 32);
        } else {
            struct rh_wait wait = {.word = &words[3],
                                   .when = RH_AT_LEAST,
                                   .value = attempt << 1 | 1ull << 32,
                                   .from = 1,
                                   .timeout_ns = TEST_WAIT_NS};
            CHECK_OK(rh_wait_word(test->job, &wait));
            is_good = words[3] & 1;
        }
    }
    if (test->rank == 1 && !is_good)
        FAIL("waking a sleeper took %.1f ms, %d times; the clock is %.1f ms late",
             (double)wakes.taken_ns / 1e6, ATTEMPTS, (double)wakes.late_ns / 1e6);
}

static void woken_not_polled(struct test *test)
{
    woken_by(test, test_signal);
}

static void woken_by_push(struct test *test)
{
    woken_by(test, by_push);
}

static void woken_by_swap(struct test *test)
{
    woken_by(test, by_swap);
}

static void woken_by_store(struct test *test)
{
    woken_by(test, by_store);
}

#define PING_PONGS 10000

/* Ten thousand hand-overs with random pauses around the moment of falling asleep: one lost wake-up
 * and this case runs into its deadline. */
static void no_lost_wake_up(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, 64);
    struct prng prng = {.state = 99 + (uint64_t)test->rank};
    test_barrier(test);
    int peer = test->rank ^ 1;
    if (peer >= test->size)
        return;
    for (uint64_t round = 1; round <= PING_PONGS; round++) {
        if (test->rank % 2 == 0)
            test_signal(test, rh_at(peer, 1, 0), round);
        test_await(test, words, round, peer);
        uint64_t dice = prng_below(&prng, 100);
        if (dice == 0)
            test_sleep_us((unsigned)prng_below(&prng, 1000));
        for (volatile uint64_t spin = dice < 50 ? prng_below(&prng, 2000) : 0; spin > 0;)
            spin = spin - 1;
        if (test->rank % 2 == 1)
            test_signal(test, rh_at(peer, 1, 0), round);
    }
}

const struct test_case wake_cases[] = {
    {.name = "wait-woken-not-polled", .run = woken_not_polled},
    {.name = "wait-woken-by-push", .run = woken_by_push},
    {.name = "wait-woken-by-swap", .run = woken_by_swap},
    {.name = "wait-woken-by-store", .run = woken_by_store},
    {.name = "wait-no-lost-wake-up", .run = no_lost_wake_up},
    {.name = NULL},
};
