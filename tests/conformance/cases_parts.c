/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of selected parts: strided, masked, TWIN/DIFF, multicast. Each is compared, byte by
 * byte, with the obvious loop; what is not selected must keep its canary.
 */
#include "conformance.h"

#include <string.h>

#define LENGTH 60000

static unsigned char *target_memory(struct test *test)
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

static const struct rh_stride shapes[] = {
    {8, 100, 8, 24},    {1, 1000, 7, 3},       {100, 50, 100, 100},   {3000, 10, 5000, 3001},
    {7, 0, 7, 7},       {0, 10, 16, 16},       {5000, 1, 5000, 5000}, {64, 200, 128, 64},
    {64, 200, 64, 256}, {4096, 8, 4096, 6000},
};

static void reference(unsigned char *target, const unsigned char *source,
                      const struct rh_stride *shape)
{
    for (uint64_t i = 0; i < shape->block_count; i++)
        memcpy(target + i * shape->target_stride, source + i * shape->source_stride,
               shape->block_length);
}

static void push_strided(struct test *test)
{
    unsigned char *base = target_memory(test), *local = test_buffer(test, LENGTH);
    unsigned char *expected = test_buffer(test, LENGTH);
    pattern_fill(local, LENGTH, 21);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        memset(base, CANARY, LENGTH);
        memset(expected, CANARY, LENGTH);
        reference(expected + 50, local, &shapes[i]);
        test_barrier(test);
        CHECK_OK(rh_push_strided(test->job, rh_at(test_next(test), 1, 50), local, &shapes[i]));
        test_barrier(test);
        CHECK(memcmp(base, expected, LENGTH) == 0);
        test_barrier(test);
    }
}

static void pull_strided(struct test *test)
{
    unsigned char *base = target_memory(test), *local = test_buffer(test, LENGTH);
    unsigned char *expected = test_buffer(test, LENGTH);
    pattern_fill(base, LENGTH, 22);
    test_barrier(test);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        memset(local, CANARY, LENGTH);
        memset(expected, CANARY, LENGTH);
        reference(expected, base + 50, &shapes[i]); /* all ranks have the same */
        CHECK_OK(rh_pull_strided(test->job, rh_at(test_next(test), 1, 50), local, &shapes[i]));
        CHECK(memcmp(local, expected, LENGTH) == 0);
    }
}

static void strided_invalid(struct test *test)
{
    static const struct rh_stride bad[] = {{8, 2, 7, 8}, {8, 2, 8, 7}, {8, 2, 0, 8}};
    unsigned char *base = target_memory(test), local[64] = {0};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct rh_remote remote = rh_at(test_next(test), 1, 0);
        CHECK_CODE(rh_push_strided(test->job, remote, local, &bad[i]), RH_EINVALID);
        CHECK_CODE(rh_pull_strided(test->job, remote, local, &bad[i]), RH_EINVALID);
    }
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
}

/* One mask on one block, against the obvious loop. */
static void try_mask(struct test *test, unsigned char *base, const unsigned char *local,
                     const struct rh_mask *mask, size_t length)
{
    unsigned char *expected = guarded_create(LENGTH);
    CHECK(expected != NULL);
    memset(base, CANARY, LENGTH);
    memset(expected, CANARY, LENGTH);
    for (size_t at = 0; at < length; at++) {
        uint64_t bit = at / mask->grain;
        if (mask->bitmap[bit / 64] >> bit % 64 & 1)
            expected[10 + at] = local[at];
    }
    test_barrier(test);
    int result = rh_push_masked(test->job, rh_at(test_next(test), 1, 10), local, length, mask);
    test_barrier(test);
    bool is_equal = memcmp(base, expected, LENGTH) == 0;
    guarded_destroy(expected);
    CHECK_OK(result);
    CHECK(is_equal);
    test_barrier(test);
}

static void masked(struct test *test)
{
    static const uint64_t grains[] = {1, 3, 8, 64, 1000, 1ull << 40};
    unsigned char *base = target_memory(test), *local = test_buffer(test, LENGTH);
    uint64_t *bitmap = test_buffer(test, LENGTH / 8 + 8);
    pattern_fill(local, LENGTH, 23);
    for (size_t i = 0; i < COUNT_OF(grains); i++) {
        struct rh_mask mask = {.bitmap = bitmap, .grain = grains[i]};
        for (size_t word = 0; word < LENGTH / 64; word++)
            bitmap[word] = prng_next(&test->prng) & prng_next(&test->prng);
        try_mask(test, base, local, &mask, 5000); /* last grain short for most */
        try_mask(test, base, local, &mask, 1);
        memset(bitmap, 0xff, LENGTH / 8);
        try_mask(test, base, local, &mask, 5003);
        memset(bitmap, 0, LENGTH / 8);
        try_mask(test, base, local, &mask, 5003);
        bitmap[0] = 1ull << 63;
        bitmap[1] = 1;
        try_mask(test, base, local, &mask, 5003); /* a run across two words of the bitmap */
    }
}

static void masked_invalid(struct test *test)
{
    unsigned char *base = target_memory(test), local[64] = {0};
    uint64_t bitmap = 1;
    struct rh_mask no_grain = {.bitmap = &bitmap, .grain = 0};
    struct rh_remote remote = rh_at(test_next(test), 1, 0);
    CHECK_CODE(rh_push_masked(test->job, remote, local, 64, &no_grain), RH_EINVALID);
    struct rh_mask good = {.bitmap = &bitmap, .grain = 8};
    CHECK_OK(rh_push_masked(test->job, remote, local, 0, &good));
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
}

/* The target changes bytes that the source did not: a diff must leave those alone. */
static void diff(struct test *test)
{
    unsigned char *base = target_memory(test), *local = test_buffer(test, LENGTH);
    unsigned char *twin = test_buffer(test, LENGTH), *expected = test_buffer(test, LENGTH);
    pattern_fill(local, LENGTH, 24);
    memcpy(twin, local, LENGTH);
    memset(expected, CANARY, LENGTH);
    for (int round = 0; round < 40; round++) {
        uint64_t changed = 0;
        for (int i = 0; i < 200; i++) {
            size_t at = prng_below(&test->prng, LENGTH - 40);
            size_t run = 1 + prng_below(&test->prng, round % 4 ? 3 : 40);
            for (size_t j = at; j < at + run; j++) {
                if (local[j] == twin[j])
                    changed++;
                local[j] = expected[j] = (unsigned char)(twin[j] ^ (1 + round % 255));
            }
        }
        int64_t pushed = rh_push_diff(test->job, rh_at(test_next(test), 1, 0), local, twin, LENGTH);
        CHECK_CODE(pushed, (int64_t)changed);
        CHECK(memcmp(local, twin, LENGTH) == 0);
        test_barrier(test);
        CHECK(memcmp(base, expected, LENGTH) == 0);
        test_barrier(test);
    }
}

static void diff_nothing(struct test *test)
{
    unsigned char *base = target_memory(test), *local = test_buffer(test, 5000);
    unsigned char *twin = test_buffer(test, 5000);
    struct rh_remote remote = rh_at(test_next(test), 1, 3);
    CHECK_CODE(rh_push_diff(test->job, remote, local, twin, 5000), 0);
    CHECK_CODE(rh_push_diff(test->job, remote, local, twin, 0), 0);
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
    test_barrier(test);
    memset(local, 9, 5000);
    CHECK_CODE(rh_push_diff(test->job, remote, local, twin, 5000), 5000);
    test_barrier(test);
    CHECK_FILLED(base + 3, 5000, 9);
    CHECK_FILLED(base, 3, CANARY);
    CHECK_FILLED(base + 5003, LENGTH - 5003, CANARY);
}

static void multicast(struct test *test)
{
    unsigned char *base = target_memory(test), *local = test_buffer(test, 5000);
    int ranks[MEETING_RANKS_MAX];
    for (int rank = 0; rank < test->size; rank++)
        ranks[rank] = rank;
    for (int sender = 0; sender < test->size; sender++) {
        struct rh_multicast targets = {
            .ranks = ranks, .rank_count = (size_t)test->size, .sid = 1, .offset = 100};
        if (test->rank == sender) {
            pattern_fill(local, 5000, 30 + (uint64_t)sender);
            CHECK_OK(rh_push_multicast(test->job, &targets, local, 5000));
            targets.rank_count = 0;
            CHECK_OK(rh_push_multicast(test->job, &targets, local, 5000));
        }
        test_barrier(test);
        CHECK_PATTERN(base + 100, 5000, 30 + (uint64_t)sender);
        CHECK_FILLED(base, 100, CANARY);
        CHECK_FILLED(base + 5100, LENGTH - 5100, CANARY);
        test_barrier(test);
    }
}

/* One target refuses: the others still get it, and the error names the one. */
static void multicast_partly(struct test *test)
{
    int refusing = test->size - 1, ranks[MEETING_RANKS_MAX];
    unsigned char *base = test_create(test, 1, 64, test->rank == refusing ? RH_READ : RH_ALL);
    test_barrier(test);
    if (test->rank == 0) {
        for (int i = 0; i < test->size; i++)
            ranks[i] = test->size - 1 - i; /* the refusing one first */
        struct rh_multicast targets = {
            .ranks = ranks, .rank_count = (size_t)test->size, .sid = 1, .offset = 0};
        CHECK_CODE(rh_push_multicast(test->job, &targets, "all of you", 10), RH_ERIGHTS);
        CHECK_CODE(rh_error_rank(), refusing);
    }
    test_barrier(test);
    if (test->rank == refusing)
        CHECK_FILLED(base, 64, 0);
    else
        CHECK(memcmp(base, "all of you", 10) == 0);
}

const struct test_case parts_cases[] = {
    {.name = "parts-push-strided", .run = push_strided},
    {.name = "parts-push-strided-attached", .run = push_strided, .argument = 1},
    {.name = "parts-pull-strided", .run = pull_strided},
    {.name = "parts-pull-strided-attached", .run = pull_strided, .argument = 1},
    {.name = "parts-strided-invalid", .run = strided_invalid},
    {.name = "parts-masked", .run = masked},
    {.name = "parts-masked-attached", .run = masked, .argument = 1},
    {.name = "parts-masked-invalid", .run = masked_invalid},
    {.name = "parts-diff", .run = diff},
    {.name = "parts-diff-attached", .run = diff, .argument = 1},
    {.name = "parts-diff-nothing", .run = diff_nothing},
    {.name = "parts-multicast", .run = multicast},
    {.name = "parts-multicast-partly", .run = multicast_partly},
    {.name = NULL},
};
