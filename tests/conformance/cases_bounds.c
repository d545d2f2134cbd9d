/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bounds: each edge by one byte, and numbers chosen to overflow a careless sum.
 */
#include "access.h"

#include <string.h>

#define LENGTH 1000

/* SID 1: LENGTH bytes of canaries in the middle of a larger guarded buffer if attached. */
static unsigned char *canaries(struct test *test)
{
    unsigned char *base;
    if (test->running->argument == 1) {
        base = test_buffer(test, LENGTH);
        test_attach(test, 1, base, LENGTH);
    } else {
        base = test_alloc(test, 1, LENGTH);
    }
    memset(base, CANARY, LENGTH);
    test_barrier(test);
    return base;
}

struct range {
    uint64_t offset;
    size_t length;
    int expected;
};

static const struct range edges[] = {
    {0, LENGTH, 0},
    {0, LENGTH + 1, RH_EBOUNDS},
    {1, LENGTH, RH_EBOUNDS},
    {1, LENGTH - 1, 0},
    {LENGTH - 1, 1, 0},
    {LENGTH - 1, 2, RH_EBOUNDS},
    {LENGTH, 1, RH_EBOUNDS},
    {LENGTH, 0, 0},
    {0, 0, 0},
    {LENGTH + 1, 0, RH_EBOUNDS},
    {LENGTH + 1, 1, RH_EBOUNDS},
};

static void edge(struct test *test)
{
    unsigned char *base = canaries(test);
    unsigned char *local = test_buffer(test, LENGTH + 1);
    memset(local, CANARY, LENGTH + 1); /* so that allowed pushes leave the canaries */
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        const struct range *range = &edges[i];
        struct rh_remote remote = rh_at(test_next(test), 1, range->offset);
        struct rh_done done = {.state = 55};
        CHECK_CODE(rh_push(test->job, remote, local, range->length), range->expected);
        CHECK_CODE(rh_pull(test->job, remote, local, range->length), range->expected);
        int result = rh_push_start(test->job, remote, local, range->length, &done);
        if (result == 0)
            result = rh_wait_done(test->job, &done, TEST_WAIT_NS);
        else
            CHECK_U64(done.state, 55); /* known at once: the flag is not touched */
        CHECK_CODE(result, range->expected);
        if (range->length <= RH_INLINE_MAX)
            CHECK_CODE(rh_push_inline(test->job, remote, local, range->length), range->expected);
        CHECK_OK(rh_flush(test->job, test_next(test)));
        CHECK_FILLED(local, LENGTH + 1, CANARY);
    }
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
}

static const struct range huge[] = {
    {UINT64_MAX, 1, RH_EBOUNDS},     {UINT64_MAX, 0, RH_EBOUNDS},
    {UINT64_MAX - 7, 8, RH_EBOUNDS}, /* the sum is 0 */
    {UINT64_MAX - 3, 8, RH_EBOUNDS}, /* the sum is 4 */
    {1ull << 63, 1, RH_EBOUNDS},     {(1ull << 63) - 1, 1, RH_EBOUNDS},
    {1ull << 32, 8, RH_EBOUNDS}, /* 0 to a 32-bit reader */
    {0, SIZE_MAX, RH_EBOUNDS},       {0, (size_t)1 << 63, RH_EBOUNDS},
    {8, SIZE_MAX - 7, RH_EBOUNDS},   {LENGTH, SIZE_MAX, RH_EBOUNDS},
};

static void overflow(struct test *test)
{
    unsigned char *base = canaries(test);
    unsigned char local[16];
    memset(local, CANARY, sizeof(local));
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        const struct range *range = &huge[i];
        struct rh_remote remote = rh_at(test_next(test), 1, range->offset);
        struct rh_page *page;
        CHECK_CODE(rh_push(test->job, remote, local, range->length), range->expected);
        CHECK_CODE(rh_pull(test->job, remote, local, range->length), range->expected);
        CHECK_CODE(rh_page_open(test->job, remote, range->length, &page), range->expected);
        CHECK(rh_remote_ptr(test->job, remote, range->length) == NULL);
    }
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
    CHECK_FILLED(local, sizeof(local), CANARY);
}

/* Every kind of access, one word past the end, and far past it. */
static void every_access(struct test *test)
{
    unsigned char *base = canaries(test);
    static const uint64_t offsets[] = {LENGTH, LENGTH + 8, 1ull << 32, 1ull << 63, UINT64_MAX - 7};
    for (size_t i = 0; i < COUNT_OF(offsets); i++)
        CHECK_ACCESSES(test, rh_at(test_next(test), 1, offsets[i]), RH_ALL, RH_EBOUNDS);
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
}

/* Blocks whose last one, or whose arithmetic, leaves the segment. Nothing is written, not even the
 * blocks that would fit. */
static void strided(struct test *test)
{
    unsigned char *base = canaries(test);
    unsigned char *local = test_buffer(test, LENGTH);
    static const struct rh_stride bad[] = {
        {8, 2, 8, LENGTH - 7},       {8, 126, 8, 8},        {1, 1ull << 33, 1, 1ull << 33},
        {1, 2, 1, UINT64_MAX - 100}, {8, UINT64_MAX, 8, 8}, {1, 3, 1, 1ull << 63},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct rh_stride pull = {bad[i].block_length, bad[i].block_count, bad[i].target_stride,
                                 bad[i].source_stride};
        struct rh_remote remote = rh_at(test_next(test), 1, 0);
        CHECK_CODE(rh_push_strided(test->job, remote, local, &bad[i]), RH_EBOUNDS);
        CHECK_CODE(rh_pull_strided(test->job, remote, local, &pull), RH_EBOUNDS);
    }
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
    CHECK_FILLED(local, LENGTH, 0);
}

/* The range counts, not the bits that are set in it. */
static void masked(struct test *test)
{
    unsigned char *base = canaries(test);
    unsigned char *local = test_buffer(test, LENGTH + 64);
    unsigned char *twin = test_buffer(test, LENGTH + 64);
    uint64_t bitmap[LENGTH / 64 + 2];
    memset(bitmap, 0xff, sizeof(bitmap));
    struct rh_mask mask = {.bitmap = bitmap, .grain = 1};
    memset(local, 1, LENGTH + 64);
    struct rh_remote start = rh_at(test_next(test), 1, 0), inside = rh_at(test_next(test), 1, 1);
    CHECK_CODE(rh_push_masked(test->job, start, local, LENGTH + 1, &mask), RH_EBOUNDS);
    CHECK_CODE(rh_push_masked(test->job, inside, local, LENGTH, &mask), RH_EBOUNDS);
    CHECK_CODE(rh_push_diff(test->job, start, local, twin, LENGTH + 1), RH_EBOUNDS);
    CHECK_FILLED(twin, LENGTH + 64, 0); /* nothing was pushed, so the twin stays */
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
}

static void unaligned_atomic(struct test *test)
{
    unsigned char *base = canaries(test);
    CHECK_OK(rh_fetch_add(test->job, rh_at(test_next(test), 1, 0), 0, NULL)); /* is looked up */
    for (uint64_t offset = 1; offset < 8; offset++) {
        uint64_t old = 77;
        struct rh_remote remote = rh_at(test_next(test), 1, offset);
        CHECK_CODE(rh_fetch_add(test->job, remote, 1, &old), RH_EINVALID);
        CHECK_CODE(rh_compare_swap(test->job, remote, 0, 1, &old), RH_EINVALID);
        CHECK_U64(old, 77);
    }
    /* LENGTH is a multiple of 8: the last word is inside, the next is not */
    CHECK_OK(rh_fetch_add(test->job, rh_at(test_next(test), 1, LENGTH - 8), 0, NULL));
    CHECK_CODE(rh_fetch_add(test->job, rh_at(test_next(test), 1, LENGTH), 0, NULL), RH_EBOUNDS);
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
}

const struct test_case bounds_cases[] = {
    {.name = "bounds-edges", .run = edge},
    {.name = "bounds-edges-attached", .run = edge, .argument = 1},
    {.name = "bounds-overflow", .run = overflow},
    {.name = "bounds-overflow-attached", .run = overflow, .argument = 1},
    {.name = "bounds-every-access", .run = every_access},
    {.name = "bounds-strided", .run = strided},
    {.name = "bounds-masked", .run = masked},
    {.name = "bounds-atomic", .run = unaligned_atomic},
    {.name = NULL},
};
