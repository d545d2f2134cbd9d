/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Push and pull of every interesting size, into allocated and into attached memory, each byte
 * checked, with guards around both ends.
 */
#include "conformance.h"

#include <stdio.h>
#include <string.h>

#define MARGIN 128 /* canaries before and after the data, inside the segment */

/* Who moves data: with gigabytes only rank 0 to rank 1, else each to its neighbour. */
static bool is_initiator(const struct test *test)
{
    return !(test->running->flags & CASE_HEAVY) || test->rank == 0;
}

static bool is_target(const struct test *test)
{
    return !(test->running->flags & CASE_HEAVY) || test->rank == 1;
}

static uint64_t available_bytes(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    }
    if (file)
        fclose(file);
    return (uint64_t)kib * 1024;
}

/* SID 1 or 2 with margins of canaries; the memory of the program itself for 2. */
static unsigned char *open_target(struct test *test, rh_sid sid, size_t length)
{
    unsigned char *base;
    size_t total = length + 2 * MARGIN;
    if (sid == 2) {
        base = test_buffer(test, total);
        test_attach(test, sid, base, total);
    } else {
        base = test_alloc(test, sid, total);
    }
    memset(base, CANARY, MARGIN);
    memset(base + MARGIN + length, CANARY, MARGIN);
    return base;
}

static void move(struct test *test, rh_sid sid, size_t length, unsigned char *local)
{
    int peer = test_next(test);
    uint64_t seed = 1000 * sid + (uint64_t)test->rank;
    uint64_t peer_seed = 1000 * sid + (uint64_t)test_previous(test);
    unsigned char *base = is_target(test) ? open_target(test, sid, length) : NULL;
    test_barrier(test);
    if (is_initiator(test)) {
        pattern_fill(local, length, seed);
        CHECK_OK(rh_push(test->job, rh_at(peer, sid, MARGIN), local, length));
        memset(local, 0, length);
    }
    test_barrier(test);
    if (base) {
        CHECK_PATTERN(base + MARGIN, length, peer_seed);
        pattern_fill(base + MARGIN, length, peer_seed + 500);
    }
    test_barrier(test);
    if (is_initiator(test)) {
        CHECK_OK(rh_pull(test->job, rh_at(peer, sid, MARGIN), local, length));
        CHECK_PATTERN(local, length, seed + 500);
    }
    test_barrier(test);
    if (base) {
        CHECK_PATTERN(base + MARGIN, length, peer_seed + 500);
        CHECK_FILLED(base, MARGIN, CANARY);
        CHECK_FILLED(base + MARGIN + length, MARGIN, CANARY);
        test_detach(test, sid);
    }
    test_barrier(test);
}

static void size(struct test *test)
{
    size_t length = test->running->argument;
    if (available_bytes() < 5 * (uint64_t)length)
        SKIP("this machine has only %llu MiB free", (unsigned long long)(available_bytes() >> 20));
    unsigned char *local = is_initiator(test) ? test_buffer(test, length) : NULL;
    move(test, 1, length, local);
    move(test, 2, length, local);
}

/* Source and target are both attached, and both are pieces of larger memory. */
static void random_pieces(struct test *test)
{
    size_t total = 200000;
    unsigned char *base = test_buffer(test, total), *mirror = test_buffer(test, total);
    unsigned char *local = test_buffer(test, total);
    test_attach(test, 1, base, total);
    pattern_fill(local, total, 1);
    test_barrier(test);
    for (int round = 0; round < 300; round++) { /* the same numbers on all ranks */
        size_t length = prng_below(&test->prng, 20000);
        size_t from = prng_below(&test->prng, total - length);
        size_t to = prng_below(&test->prng, total - length);
        memcpy(mirror + to, local + from, length);
        CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, to), local + from, length));
    }
    test_barrier(test);
    CHECK(memcmp(base, mirror, total) == 0);
}

const struct test_case size_cases[] = {
    {.name = "size-0", .run = size, .argument = 0},
    {.name = "size-1", .run = size, .argument = 1},
    {.name = "size-7", .run = size, .argument = 7},
    {.name = "size-8", .run = size, .argument = 8},
    {.name = "size-63", .run = size, .argument = 63},
    {.name = "size-64", .run = size, .argument = 64},
    {.name = "size-65", .run = size, .argument = 65},
    {.name = "size-4095", .run = size, .argument = 4095},
    {.name = "size-4096", .run = size, .argument = 4096},
    {.name = "size-4097", .run = size, .argument = 4097},
    {.name = "size-1M", .run = size, .argument = 1 << 20},
    {.name = "size-1G", .run = size, .argument = 1 << 30, .flags = CASE_HEAVY},
    {.name = "size-random-pieces", .run = random_pieces},
    {.name = NULL},
};
