/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Alignment and overlap.
 */
#include "conformance.h"

#include <string.h>

/* Every source and target alignment with every small length. */
static void every_alignment(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 128), *local = test_buffer(test, 128);
    unsigned char expected[128], seen[128];
    test_barrier(test);
    if (test->rank == 0) {
        pattern_fill(local, 128, 3);
        for (size_t from = 0; from < 9; from++) {
            for (size_t to = 0; to < 9; to++) {
                for (size_t length = 0; length < 40; length++) {
                    struct rh_remote all = rh_at(1, 1, 0);
                    memset(expected, CANARY, sizeof(expected));
                    CHECK_OK(rh_push(test->job, all, expected, sizeof(expected)));
                    memcpy(expected + to, local + from, length);
                    CHECK_OK(rh_push(test->job, rh_at(1, 1, to), local + from, length));
                    CHECK_OK(rh_pull(test->job, all, seen, sizeof(seen)));
                    CHECK(memcmp(expected, seen, sizeof(seen)) == 0);
                }
            }
        }
    }
    test_barrier(test);
    (void)base;
}

static void odd_attached(struct test *test)
{
    unsigned char *memory = test_buffer(test, 20000);
    memset(memory, CANARY, 20000);
    test_attach(test, 1, memory + 13, 9999);
    unsigned char *local = test_buffer(test, 9001);
    test_barrier(test);
    pattern_fill(local + 1, 9000, 5);
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, 777), local + 1, 9000));
    test_barrier(test);
    CHECK_PATTERN(memory + 13 + 777, 9000, 5);
    CHECK_FILLED(memory, 13 + 777, CANARY);
    CHECK_FILLED(memory + 13 + 777 + 9000, 20000 - 13 - 777 - 9000, CANARY);
    memset(local, 0, 9001);
    test_barrier(test);
    CHECK_OK(rh_pull(test->job, rh_at(test_next(test), 1, 778), local, 8999));
    CHECK(memcmp(local, memory + 13 + 778, 8999) == 0);
}

/* Push to oneself where source and target overlap: as memmove. */
static void overlap(struct test *test)
{
    size_t length = 10000;
    unsigned char *base = test->running->argument == 1 ? test_buffer(test, length)
                                                       : test_alloc(test, 1, length);
    if (test->running->argument == 1)
        test_attach(test, 1, base, length);
    unsigned char *expected = test_buffer(test, length);
    static const struct {
        size_t from, to, length;
    } moves[] = {{0, 1, 9000},      {1, 0, 9000},  {100, 5000, 4999},
                 {5000, 100, 4999}, {0, 0, 10000}, {0, 4096, 5000},
                 {4096, 0, 5000},   {8, 16, 64},   {16, 8, 64}};
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        struct rh_remote target = rh_at(test->rank, 1, moves[i].to);
        struct rh_remote source = rh_at(test->rank, 1, moves[i].from);
        pattern_fill(base, length, i);
        pattern_fill(expected, length, i);
        memmove(expected + moves[i].to, expected + moves[i].from, moves[i].length);
        CHECK_OK(rh_push(test->job, target, base + moves[i].from, moves[i].length));
        CHECK(memcmp(base, expected, length) == 0);
        pattern_fill(base, length, i);
        CHECK_OK(rh_pull(test->job, source, base + moves[i].to, moves[i].length));
        CHECK(memcmp(base, expected, length) == 0);
    }
}

/* Local memory that is itself somebody's segment, as source and as target. */
static void segment_to_segment(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 8192);
    unsigned char *attached = test_buffer(test, 8192);
    test_attach(test, 2, attached, 8192);
    pattern_fill(base, 4096, (uint64_t)test->rank);
    test_barrier(test);
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 2, 4096), base, 4096));
    test_barrier(test);
    CHECK_PATTERN(attached + 4096, 4096, (uint64_t)test_previous(test));
    CHECK_FILLED(attached, 4096, 0);
    CHECK_OK(rh_pull(test->job, rh_at(test_next(test), 2, 4096), base + 4096, 4096));
    CHECK_PATTERN(base + 4096, 4096, (uint64_t)test->rank);
}

static void self(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 4096);
    uint64_t old = 0;
    CHECK_OK(rh_push(test->job, rh_at(test->rank, 1, 16), "myself", 6));
    CHECK(memcmp(base + 16, "myself", 6) == 0);
    CHECK_OK(rh_fetch_add(test->job, rh_at(test->rank, 1, 64), 5, &old));
    CHECK_U64(old, 0);
    char seen[6];
    CHECK_OK(rh_pull(test->job, rh_at(test->rank, 1, 16), seen, 6));
    CHECK(memcmp(seen, "myself", 6) == 0);
    CHECK_OK(rh_flush(test->job, test->rank));
    CHECK_OK(rh_wake(test->job, test->rank));
}

const struct test_case align_cases[] = {
    {.name = "align-every", .run = every_alignment},
    {.name = "align-odd-attached", .run = odd_attached},
    {.name = "align-overlap", .run = overlap},
    {.name = "align-overlap-attached", .run = overlap, .argument = 1},
    {.name = "align-segment-to-segment", .run = segment_to_segment},
    {.name = "align-self", .run = self},
    {.name = NULL},
};
