/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Life cycle: who is in the job, segments and queues that come and go.
 *
 * Longer than most files: a function for each case, and their list.
 */
#include "access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void identity(struct test *test)
{
    uint64_t *table = test_alloc(test, 1, 64 * 8);
    test_barrier(test);
    CHECK_U64(rh_rank(test->job), test->rank);
    CHECK(rh_nic_name(test->job) != NULL && rh_nic_name(test->job)[0] != '\0');
    uint64_t number = rh_job_id(test->job);
    for (int rank = 0; rank < test->size; rank++) {
        CHECK(rh_node(test->job, rank) >= 0);
        CHECK_OK(rh_push(test->job, rh_at(rank, 1, (uint64_t)test->rank * 8), &number, 8));
    }
    test_barrier(test);
    for (int rank = 0; rank < test->size; rank++)
        CHECK_U64(table[rank], number);
    CHECK_CODE(rh_node(test->job, test->size), RH_EINVALID);
    CHECK_CODE(rh_node(test->job, -1), RH_EINVALID);
}

static void peer_state(struct test *test)
{
    for (int rank = 0; rank < test->size; rank++)
        CHECK_CODE(rh_peer_state(test->job, rank), RH_PEER_JOINED);
    CHECK_CODE(rh_peer_state(test->job, test->size), RH_EINVALID);
    CHECK_CODE(rh_peer_state(test->job, -1), RH_EINVALID);
    CHECK_CODE(rh_deaths_acknowledge(test->job), 0);
}

static void create_detach(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 100);
    CHECK_FILLED(base, 100, 0);
    test_barrier(test);
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, 10), "hello", 5));
    test_barrier(test);
    CHECK(memcmp(base + 10, "hello", 5) == 0);
    CHECK_FILLED(base, 10, 0);
    CHECK_FILLED(base + 15, 85, 0);
    test_detach(test, 1);
    CHECK_CODE(rh_segment_detach(test->job, 1), RH_ENOSEG);
}

/* The same SID again and again, each time of another size, and always fresh. */
static void recreate(struct test *test)
{
    for (uint64_t round = 1; round <= 60; round++) {
        uint64_t length = 64 * round, seen = 0;
        unsigned char *base = test_alloc(test, 2, length);
        CHECK_FILLED(base, length, 0);
        test_barrier(test);
        CHECK_OK(rh_segment_length(test->job, test_next(test), 2, &seen));
        CHECK_U64(seen, length);
        CHECK_OK(rh_push(test->job, rh_at(test_next(test), 2, length - 8), &round, 8));
        test_barrier(test);
        CHECK(memcmp(base + length - 8, &round, 8) == 0);
        test_detach(test, 2);
    }
}

/* Detached and created again without any meeting: a peer sees old, stale or new, nothing else. */
static void recreate_in_use(struct test *test)
{
    uint64_t *flag = test_alloc(test, 9, 8);
    size_t part = 512; /* each rank writes its own */
    uint64_t length = part * (uint64_t)test->size, offset = part * (uint64_t)test->rank;
    if (test->rank == 0)
        test_alloc(test, 3, length);
    test_barrier(test);
    uint64_t *mine = test_buffer(test, part);
    if (test->rank == 0) {
        for (int round = 0; round < 200; round++) {
            test_detach(test, 3);
            test_alloc(test, 3, length);
        }
        for (int rank = 1; rank < test->size; rank++)
            test_signal(test, rh_at(rank, 9, 0), 1);
    } else {
        int64_t limit_ns = test_now_ns() + TEST_WAIT_NS;
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {
            CHECK(test_now_ns() < limit_ns);
            int result = rh_push(test->job, rh_at(0, 3, offset), mine, part);
            if (result != 0 && result != RH_ESTALE)
                FAIL("expected success or RH_ESTALE, got %s: %s", rh_error_name(result),
                     rh_error_text());
        }
        CHECK_OK(rh_push(test->job, rh_at(0, 3, offset), mine, part));
    }
}

#define MANY_SIDS 70000

static uint64_t create_until_full(struct test *test)
{
    uint64_t made = 0;
    void *base;
    int result = 0;
    while (made < MANY_SIDS) {
        result = rh_segment_alloc(test->job, (rh_sid)(1000 + made), 64, &base);
        if (result < 0)
            break;
        *(uint64_t *)base = made++;
    }
    CHECK_CODE(result, RH_ENOSPACE);
    return made;
}

/* Up to RHINET_SEGMENTS: then RH_ENOSPACE, and removing one makes room for one. */
static void many_segments(struct test *test)
{
    uint64_t *counts = test_alloc(test, 1, 64 * 8);
    test_barrier(test);
    uint64_t made = create_until_full(test);
    CHECK(made >= 4);
    CHECK_OK(rh_segment_detach(test->job, 1000));
    void *base;
    CHECK_OK(rh_segment_alloc(test->job, 1000, 64, &base));
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, 8), &made, 8));
    test_barrier(test);
    for (uint64_t i = 1; i < counts[1]; i++) {
        uint64_t value = 0;
        CHECK_OK(rh_pull(test->job, rh_at(test_previous(test), (rh_sid)(1000 + i), 0), &value, 8));
        CHECK_U64(value, i);
    }
    test_barrier(test);
    for (uint64_t i = 0; i < made; i++)
        CHECK_OK(rh_segment_detach(test->job, (rh_sid)(1000 + i)));
    test_barrier(test);
    uint64_t again = create_until_full(test);
    for (uint64_t i = 0; i < again; i++)
        CHECK_OK(rh_segment_detach(test->job, (rh_sid)(1000 + i)));
    CHECK_U64(again, made);
}

static void segment_wait(struct test *test)
{
    int64_t start_ns = test_now_ns();
    CHECK_CODE(rh_segment_wait(test->job, test_next(test), 4, RH_MILLISECONDS(20)), RH_ETIMEOUT);
    CHECK(test_now_ns() - start_ns >= RH_MILLISECONDS(20));
    test_barrier(test);
    test_sleep_us(20000 * (unsigned)(test->rank + 1));
    test_alloc(test, 4, 64);
    CHECK_OK(rh_segment_wait_all(test->job, 4, TEST_WAIT_NS));
    for (int rank = 0; rank < test->size; rank++)
        CHECK_OK(rh_segment_wait(test->job, rank, 4, RH_TIMEOUT_NONE));
    CHECK_OK(rh_segment_wait_all(test->job, 4, RH_TIMEOUT_NONE));
    CHECK_CODE(rh_segment_wait_all(test->job, 5, RH_TIMEOUT_NONE), RH_EAGAIN);
    CHECK_CODE(rh_segment_wait_all(test->job, 5, RH_MILLISECONDS(20)), RH_ETIMEOUT);
    CHECK_CODE(rh_error_rank(), 0);
    CHECK_OK(rh_segment_wait(test->job, test_next(test), 4, RH_TIMEOUT_NONE));
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 4, 0), "x", 1));
}

static void segment_length(struct test *test)
{
    uint64_t length = 77;
    char *memory = test_buffer(test, 333);
    test_alloc(test, 5, 12345);
    test_attach(test, 6, memory, 333);
    test_barrier(test);
    CHECK_CODE(rh_segment_length(test->job, test_next(test), 7, &length), RH_ENOSEG);
    CHECK_U64(length, 77); /* outputs are written on success only */
    CHECK_OK(rh_segment_length(test->job, test_next(test), 5, &length));
    CHECK_U64(length, 12345);
    CHECK_OK(rh_segment_length(test->job, test_next(test), 6, &length));
    CHECK_U64(length, 333);
    test_barrier(test);
    test_detach(test, 5);
    test_barrier(test);
    CHECK_CODE(rh_segment_length(test->job, test_next(test), 5, &length), RH_ESTALE);
}

static void queue_again(struct test *test)
{
    for (uint32_t round = 1; round <= 30; round++) {
        struct rh_queue *queue = test_queue(test, 8, round, round * 8);
        struct rh_arrival arrival;
        test_barrier(test);
        CHECK_OK(rh_append(test->job, test_next(test), 8, &round, sizeof(round)));
        CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
        CHECK_U64(arrival.length, sizeof(round));
        CHECK(memcmp(arrival.data, &round, sizeof(round)) == 0);
        rh_queue_release(queue);
        test_barrier(test);
        test_queue_destroy(test, queue);
        test_barrier(test);
        CHECK_CODE(rh_append(test->job, test_next(test), 8, &round, sizeof(round)), RH_ESTALE);
        test_barrier(test);
    }
}

static void queue_invalid(struct test *test)
{
    struct rh_queue *queue = NULL;
    struct rh_queue_shape good = {2, 8};
    test_alloc(test, 8, 64);
    CHECK_CODE(rh_queue_create(test->job, 8, good, &queue), RH_EEXIST);
    test_queue(test, 9, 2, 8);
    void *base;
    CHECK_CODE(rh_segment_alloc(test->job, 9, 64, &base), RH_EEXIST);
}

static void always_zeroed(struct test *test)
{
    for (int round = 0; round < 20; round++) {
        unsigned char *base = test_alloc(test, 1, 70000);
        CHECK_FILLED(base, 70000, 0);
        memset(base, 0xff, 70000);
        test_detach(test, 1);
    }
}

static void create_invalid(struct test *test)
{
    struct rh_segment good = {
        .struct_size = sizeof(good), .sid = 1, .length = 64, .rights = RH_ALL};
    struct rh_segment bad = good;
    bad.length = 0;
    CHECK_CODE(rh_segment_create(test->job, &bad), RH_EINVALID);
    bad = good;
    bad.rights = 0x80;
    CHECK_CODE(rh_segment_create(test->job, &bad), RH_EINVALID);
    bad = good;
    bad.flags = 0x8000;
    CHECK_CODE(rh_segment_create(test->job, &bad), RH_EINVALID);
    bad = good;
    bad.struct_size = 3;
    CHECK_CODE(rh_segment_create(test->job, &bad), RH_EINVALID);
    bad = good;
    bad.length = UINT64_MAX - 4096;
    int result = rh_segment_create(test->job, &bad);
    CHECK(result == RH_ENOSPACE || result == RH_EINVALID);
    bad = (struct rh_segment){.sid = 2, .length = 64}; /* the rest is usual */
    test_segment(test, &bad);
    CHECK_ACCESSES(test, rh_at(test->rank, 2, 0), RH_ALL, 0);
    CHECK_OK(rh_segment_create(test->job, &good)); /* none of them has left anything behind */
    CHECK_OK(rh_segment_detach(test->job, 1));
}

static void error_text(struct test *test)
{
    int peer = test_next(test);
    CHECK_CODE(rh_push(test->job, rh_at(peer, 4242, 0), "x", 1), RH_ENOSEG);
    CHECK(strlen(rh_error_text()) > 10);
    CHECK_CODE(rh_error_rank(), peer);
    CHECK(strcmp(rh_error_name(RH_ENOSEG), "") != 0);
}

static void counters(struct test *test)
{
    uint64_t value = 77;
    test_alloc(test, 1, 4096);
    test_barrier(test);
    CHECK_CODE(rh_counter(test->job, "no such counter", &value), RH_EINVALID);
    CHECK_U64(value, 77);
    test_counter(test, "agent"); /* by their old names, too */
    test_counter(test, "msg_joint");
    uint64_t pushes = test_counter(test, "push"), bytes = test_counter(test, "push_bytes");
    uint64_t pulls = test_counter(test, "pull"), atomics = test_counter(test, "atomic");
    char data[100] = {0};
    for (int i = 0; i < 7; i++)
        CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, 0), data, 100));
    CHECK_OK(rh_push_ordered(test->job, rh_at(test_next(test), 1, 512), data, 64));
    CHECK_OK(rh_pull(test->job, rh_at(test_next(test), 1, 0), data, 100));
    CHECK_OK(rh_fetch_add(test->job, rh_at(test_next(test), 1, 256), 1, NULL));
    CHECK_U64(test_counter(test, "push") - pushes, 8);
    CHECK_U64(test_counter(test, "push_bytes") - bytes, 764);
    CHECK_U64(test_counter(test, "pull") - pulls, 1);
    CHECK_U64(test_counter(test, "atomic") - atomics, 1);
}

/* Pin-down cache: attaching the same range again is cheap, and never leaves the old one usable. */
static void attach_again(struct test *test)
{
    unsigned char *memory = test_buffer(test, 65536);
    for (int round = 0; round < 1000; round++) {
        test_attach(test, 1, memory, 65536);
        test_detach(test, 1);
    }
    test_barrier(test);
    CHECK_CODE(rh_push(test->job, rh_at(test_next(test), 1, 0), "x", 1), RH_ESTALE);
    test_barrier(test);
    CHECK_FILLED(memory, 65536, 0);
    test_attach(test, 1, memory + 4096, 100);
    test_barrier(test);
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, 99), "y", 1));
    CHECK_CODE(rh_push(test->job, rh_at(test_next(test), 1, 100), "y", 1), RH_EBOUNDS);
    test_barrier(test);
    CHECK(memory[4096 + 99] == 'y');
    CHECK_FILLED(memory, 4096 + 99, 0);
    CHECK_FILLED(memory + 4096 + 100, 65536 - 4096 - 100, 0);
}

/* Two segments may lie over the same memory of the program. */
static void attach_overlapping(struct test *test)
{
    unsigned char *memory = test_buffer(test, 8192);
    test_attach(test, 1, memory, 8192);
    test_attach(test, 2, memory + 1000, 2000);
    test_barrier(test);
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 2, 5), "z", 1));
    test_barrier(test);
    CHECK(memory[1005] == 'z');
    test_detach(test, 2);
    test_barrier(test);
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, 1006), "w", 1));
    test_barrier(test);
    CHECK(memory[1006] == 'w');
}

static uint64_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    CHECK(fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Pages of segments that come and go, some of them closed after the segment went: what was kept for
 * them goes, too. */
static void page_again(struct test *test)
{
    enum { ROUNDS = 300, WARM = 50 };
    uint64_t length = 256 << 10, at_first = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct rh_page *page;
        uint64_t *base = test_alloc(test, 3, length);
        test_barrier(test);
        CHECK_OK(rh_page_open(test->job, rh_at(test_next(test), 3, 0), 64, &page));
        CHECK_OK(rh_store(page, 8, (uint64_t)round, 8));
        if (round % 2 == 0)
            rh_page_close(page);
        CHECK_OK(rh_flush(test->job, test_next(test)));
        test_barrier(test);
        CHECK_U64(base[1], (uint64_t)round);
        test_detach(test, 3);
        test_barrier(test);
        if (round % 2 == 1) {
            CHECK_CODE(rh_store(page, 8, 0, 8), RH_ESTALE);
            rh_page_close(page);
        }
        if (round == WARM)
            at_first = address_space();
    }
    CHECK(address_space() < at_first + (ROUNDS - WARM) * length / 3);
}

/* The last page of a long copy: when detach has returned it is the program's again, however far the
 * copy had come. */
static void detach_waits(struct test *test)
{
    size_t length = 24 << 20, page = 4096;
    unsigned char *memory = test_buffer(test, length);
    for (int round = 0; round < 3; round++) {
        memset(memory, test->rank == 0 ? 0 : 0x5a, length);
        if (test->rank == 0)
            test_attach(test, 4, memory, length);
        test_barrier(test);
        if (test->rank == 1) {
            int result = rh_push(test->job, rh_at(0, 4, 0), memory, length);
            CHECK(result == 0 || result == RH_ESTALE);
        } else if (test->rank == 0) {
            int64_t limit_ns = test_now_ns() + TEST_WAIT_NS;
            while (__atomic_load_n(memory, __ATOMIC_RELAXED) == 0) {
                CHECK(test_now_ns() < limit_ns);
                CHECK_OK(rh_wake(test->job, 0)); /* makes progress where that is needed */
            }
            test_detach(test, 4);
            memset(memory + length - page, 0x11, page);
        }
        test_barrier(test);
        if (test->rank == 0)
            CHECK_FILLED(memory + length - page, page, 0x11);
    }
}

const struct test_case life_cases[] = {
    {.name = "life-identity", .run = identity},
    {.name = "life-peer-state", .run = peer_state},
    {.name = "life-create-detach", .run = create_detach},
    {.name = "life-recreate", .run = recreate},
    {.name = "life-page-again", .run = page_again, .flags = CASE_PROCESS},
    {.name = "life-recreate-in-use", .run = recreate_in_use, .flags = CASE_LATE},
    {.name = "life-many-segments", .run = many_segments},
    {.name = "life-segment-wait", .run = segment_wait},
    {.name = "life-segment-length", .run = segment_length},
    {.name = "life-queue-again", .run = queue_again},
    {.name = "life-queue-invalid", .run = queue_invalid},
    {.name = "life-always-zeroed", .run = always_zeroed},
    {.name = "life-create-invalid", .run = create_invalid},
    {.name = "life-error-text", .run = error_text},
    {.name = "life-counters", .run = counters},
    {.name = "life-attach-again", .run = attach_again},
    {.name = "life-attach-overlapping", .run = attach_overlapping},
    {.name = "life-detach-waits", .run = detach_waits, .flags = CASE_LATE},
    {.name = NULL},
};
