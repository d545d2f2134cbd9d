/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations: each against its definition, then all ranks at once.
 */
#include "conformance.h"

#include <string.h>

#define ROUNDS 3000

/* 64 words under SID 1 at every rank; attached if argument is 1. */
static uint64_t *words(struct test *test)
{
    uint64_t *base;
    if (test->running->argument == 1) {
        base = test_buffer(test, 512);
        test_attach(test, 1, base, 512);
    } else {
        base = test_alloc(test, 1, 512);
    }
    test_barrier(test);
    return base;
}

static uint64_t word_of(struct test *test, struct rh_remote word)
{
    uint64_t value = 0;
    CHECK_OK(rh_pull(test->job, word, &value, 8));
    return value;
}

/* Values that show a carry into, or a loss of, the high half. */
static const uint64_t samples[] = {0,          1,          0xffffffff,        1ull << 32,
                                   1ull << 63, UINT64_MAX, 0x0123456789abcdef};

static void definitions(struct test *test)
{
    words(test);
    struct rh_remote word = rh_at(test_next(test), 1, 24);
    for (size_t i = 0; i < COUNT_OF(samples) * COUNT_OF(samples); i++) {
        uint64_t a = samples[i / COUNT_OF(samples)], b = samples[i % COUNT_OF(samples)], old = 1;
        CHECK_OK(rh_swap(test->job, word, a, &old));
        CHECK_OK(rh_fetch_add(test->job, word, b, &old));
        CHECK_U64(old, a);
        CHECK_U64(word_of(test, word), a + b);
        CHECK_OK(rh_swap(test->job, word, a, &old));
        CHECK_U64(old, a + b);
        CHECK_OK(rh_fetch_or(test->job, word, b, &old));
        CHECK_U64(old, a);
        CHECK_OK(rh_fetch_and(test->job, word, b, &old));
        CHECK_U64(old, a | b);
        CHECK_U64(word_of(test, word), b);
        CHECK_OK(rh_compare_swap(test->job, word, a, 42, &old));
        CHECK_U64(old, b);
        CHECK_U64(word_of(test, word), a == b ? 42 : b);
    }
}

static void null_old(struct test *test)
{
    words(test);
    struct rh_remote word = rh_at(test_next(test), 1, 0);
    CHECK_OK(rh_fetch_add(test->job, word, 5, NULL));
    CHECK_OK(rh_fetch_or(test->job, word, 8, NULL));
    CHECK_OK(rh_fetch_and(test->job, word, 12, NULL));
    CHECK_U64(word_of(test, word), 12);
    CHECK_OK(rh_swap(test->job, word, 3, NULL));
    CHECK_OK(rh_compare_swap(test->job, word, 3, 4, NULL));
    CHECK_U64(word_of(test, word), 4);
}

static void neighbours(struct test *test)
{
    uint64_t *base = words(test);
    memset(base, CANARY, 512);
    test_barrier(test);
    CHECK_OK(rh_swap(test->job, rh_at(test_next(test), 1, 256), 0, NULL));
    CHECK_OK(rh_fetch_add(test->job, rh_at(test_next(test), 1, 256), UINT64_MAX, NULL));
    test_barrier(test);
    CHECK_FILLED(base, 256, CANARY);
    CHECK_U64(base[32], UINT64_MAX);
    CHECK_FILLED(base + 33, 512 - 264, CANARY);
}

/* All add to one word: the sum is exact, and every value before was seen exactly once. */
static void contended_add(struct test *test)
{
    uint64_t *base = words(test);
    uint64_t old_sum = 0, total = (uint64_t)ROUNDS * (uint64_t)test->size;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t old;
        CHECK_OK(rh_fetch_add(test->job, rh_at(0, 1, 0), 1, &old));
        old_sum += old;
    }
    CHECK_OK(rh_fetch_add(test->job, rh_at(0, 1, 8), old_sum, NULL));
    test_barrier(test);
    if (test->rank == 0) {
        CHECK_U64(base[0], total);
        CHECK_U64(base[1], total * (total - 1) / 2);
    }
}

static void contended_compare_swap(struct test *test)
{
    uint64_t *base = words(test);
    uint64_t guess = 0;
    for (int i = 0; i < ROUNDS / 10; i++) {
        for (;;) {
            uint64_t old;
            CHECK_OK(rh_compare_swap(test->job, rh_at(0, 1, 0), guess, guess + 3, &old));
            bool has_won = old == guess;
            guess = has_won ? old + 3 : old;
            if (has_won)
                break;
        }
    }
    test_barrier(test);
    if (test->rank == 0)
        CHECK_U64(base[0], 3ull * (ROUNDS / 10) * (uint64_t)test->size);
}

/* Each rank sets and clears its own bit: nobody else may change it. */
static void contended_bits(struct test *test)
{
    uint64_t *base = words(test);
    uint64_t bit = 1ull << test->rank;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t old;
        CHECK_OK(rh_fetch_or(test->job, rh_at(0, 1, 0), bit, &old));
        CHECK_U64(old & bit, 0);
        CHECK_OK(rh_fetch_and(test->job, rh_at(0, 1, 0), ~bit, &old));
        CHECK_U64(old & bit, bit);
    }
    test_barrier(test);
    CHECK_U64(base[0], 0);
}

/* Values swapped in come out exactly once. */
static void contended_swap(struct test *test)
{
    uint64_t *base = words(test);
    uint64_t taken = 0, given = 0;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint64_t old, mine = (uint64_t)(test->rank + 1) << 32 | i;
        CHECK_OK(rh_swap(test->job, rh_at(0, 1, 0), mine, &old));
        taken += old;
        given += mine;
    }
    CHECK_OK(rh_fetch_add(test->job, rh_at(0, 1, 8), given - taken, NULL));
    test_barrier(test);
    if (test->rank == 0)
        CHECK_U64(base[0], base[1]);
}

/* Towards the owner's own instructions too, where the NIC brought the memory. */
static void with_owner(struct test *test)
{
    uint64_t *base = words(test);
    for (int i = 0; i < ROUNDS; i++) {
        if (test->rank == 0)
            __atomic_fetch_add(&base[0], 1, __ATOMIC_SEQ_CST);
        else
            CHECK_OK(rh_fetch_add(test->job, rh_at(0, 1, 0), 1, NULL));
    }
    test_barrier(test);
    if (test->rank == 0)
        CHECK_U64(base[0], (uint64_t)ROUNDS * (uint64_t)test->size);
}

/* A waiter asleep on the word notices an atomic as it does a push. */
static void wakes(struct test *test)
{
    uint64_t *base = words(test);
    if (test->rank == 0) {
        test_await(test, &base[0], (uint64_t)test->size - 1, RH_ANY_RANK);
    } else {
        test_sleep_us(100000);
        CHECK_OK(rh_fetch_add(test->job, rh_at(0, 1, 0), 1, NULL));
    }
}

const struct test_case atomic_cases[] = {
    {.name = "atomic-definitions", .run = definitions},
    {.name = "atomic-definitions-attached", .run = definitions, .argument = 1},
    {.name = "atomic-null-old", .run = null_old},
    {.name = "atomic-neighbours", .run = neighbours},
    {.name = "atomic-contended-add", .run = contended_add},
    {.name = "atomic-contended-add-attached", .run = contended_add, .argument = 1},
    {.name = "atomic-contended-compare-swap", .run = contended_compare_swap},
    {.name = "atomic-contended-bits", .run = contended_bits},
    {.name = "atomic-contended-swap", .run = contended_swap},
    {.name = "atomic-with-owner", .run = with_owner},
    {.name = "atomic-wakes", .run = wakes},
    {.name = "atomic-wakes-attached", .run = wakes, .argument = 1},
    {.name = NULL},
};
