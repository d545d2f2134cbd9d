/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stores through a page handle, and direct pointers to remote memory.
 */
#include "conformance.h"

#include <string.h>

static void *target_memory(struct test *test, size_t length)
{
    void *base;
    if (test->running->argument == 1) {
        base = test_buffer(test, length);
        test_attach(test, 1, base, length);
    } else {
        base = test_alloc(test, 1, length);
    }
    return base;
}

static struct rh_page *open_page(struct test *test, uint64_t offset, uint64_t length)
{
    struct rh_page *page = NULL;
    CHECK_OK(rh_page_open(test->job, rh_at(test_next(test), 1, offset), length, &page));
    CHECK(page != NULL);
    return page;
}

static void widths(struct test *test)
{
    unsigned char *base = target_memory(test, 256), expected[256];
    memset(base, CANARY, 256);
    memset(expected, CANARY, 256);
    test_barrier(test);
    struct rh_page *page = open_page(test, 0, 256);
    uint64_t value = 0x1122334455667788u;
    for (unsigned width = 1; width <= 8; width *= 2) {
        for (uint64_t i = 0; i < 4; i++) {
            uint64_t offset = 64 * (width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3) + 16 * i;
            CHECK_OK(rh_store(page, offset, value + i, width));
            uint64_t low = value + i;
            memcpy(expected + offset, &low, width);
        }
    }
    CHECK_OK(rh_flush(test->job, test_next(test)));
    rh_page_close(page);
    test_barrier(test);
    CHECK(memcmp(base, expected, 256) == 0);
}

static void invalid(struct test *test)
{
    unsigned char *base = target_memory(test, 256);
    test_barrier(test);
    struct rh_page *page = open_page(test, 64, 64);
    CHECK_CODE(rh_store(page, 1, 1, 2), RH_EINVALID);
    CHECK_CODE(rh_store(page, 4, 1, 8), RH_EINVALID);
    CHECK_CODE(rh_store(page, 0, 1, 3), RH_EINVALID);
    CHECK_CODE(rh_store(page, 0, 1, 0), RH_EINVALID);
    CHECK_CODE(rh_store(page, 0, 1, 16), RH_EINVALID);
    CHECK_CODE(rh_store(page, 64, 1, 1), RH_EBOUNDS);
    CHECK_CODE(rh_store(page, 64, 1, 8), RH_EBOUNDS);
    CHECK_CODE(rh_store(page, UINT64_MAX, 1, 1), RH_EBOUNDS);
    CHECK_CODE(rh_store(page, UINT64_MAX - 7, 1, 8), RH_EBOUNDS);
    CHECK_CODE(rh_store(page, (uint64_t)-64, 1, 8), RH_EBOUNDS); /* would be the segment's start */
    CHECK_OK(rh_store(page, 56, 0, 8));
    CHECK_OK(rh_flush(test->job, test_next(test)));
    rh_page_close(page);
    page = open_page(test, 64, 12);
    CHECK_CODE(rh_store(page, 8, 1, 8), RH_EBOUNDS);
    CHECK_OK(rh_store(page, 8, 0, 4));
    rh_page_close(page);
    test_barrier(test);
    CHECK_FILLED(base, 256, 0);
}

/* A page is a window: offset 0 is where it starts, and several may lie over each other. */
static void windows(struct test *test)
{
    unsigned char *base = target_memory(test, 4096);
    test_barrier(test);
    struct rh_page *low = open_page(test, 0, 2048), *high = open_page(test, 1024, 3072);
    CHECK_OK(rh_store(low, 1032, 0x0101010101010101u, 8));
    CHECK_OK(rh_flush(test->job, test_next(test)));
    CHECK_OK(rh_store(high, 8, 0x02, 1));
    CHECK_OK(rh_store(high, 3064, 0x03, 8));
    CHECK_OK(rh_flush(test->job, test_next(test)));
    rh_page_close(low);
    CHECK_OK(rh_store(high, 0, 0x04, 1));
    CHECK_OK(rh_flush(test->job, test_next(test)));
    rh_page_close(high);
    test_barrier(test);
    CHECK_U64(base[1032], 2);
    CHECK_U64(base[1033], 1);
    CHECK_U64(base[1024], 4);
    CHECK_U64(base[4088], 3);
}

/* Readers never see half a store. */
static void whole(struct test *test)
{
    uint64_t *base = target_memory(test, 128);
    test_barrier(test);
    if (test->rank == 1) {
        int64_t limit_ns = test_now_ns() + TEST_WAIT_NS;
        uint64_t seen = 0;
        while (__atomic_load_n(&base[8], __ATOMIC_ACQUIRE) == 0) {
            seen = __atomic_load_n(&base[0], __ATOMIC_RELAXED);
            if (seen != 0 && seen != UINT64_MAX)
                FAIL("saw half a store: 0x%llx", (unsigned long long)seen);
            CHECK(test_now_ns() < limit_ns);
        }
    } else if (test->rank == 0) {
        struct rh_page *page = open_page(test, 0, 128);
        for (int i = 0; i < 20000; i++)
            CHECK_OK(rh_store(page, 0, i % 2 ? UINT64_MAX : 0, 8));
        rh_page_close(page);
        test_signal(test, rh_at(1, 1, 64), 1);
    }
}

/* A waiter asleep on the word notices a store and a flush. */
static void wakes(struct test *test)
{
    uint64_t *base = target_memory(test, 64);
    test_barrier(test);
    if (test->rank == 1) {
        test_await(test, base, 42, 0);
        CHECK_U64(*base, 42);
    } else if (test->rank == 0) {
        struct rh_page *page = open_page(test, 0, 8);
        test_sleep_us(100000);
        CHECK_OK(rh_store(page, 0, 42, 8));
        CHECK_OK(rh_flush(test->job, 1));
        rh_page_close(page);
    }
}

/* Stores without any flush arrive too, as long as the program goes on calling. */
static void ping_pong(struct test *test)
{
    uint64_t *base = target_memory(test, 64);
    test_barrier(test);
    if (test->rank > 1)
        return;
    struct rh_page *page = NULL;
    CHECK_OK(rh_page_open(test->job, rh_at(1 - test->rank, 1, 0), 8, &page));
    for (uint64_t round = 1; round <= 3000; round++) {
        if (test->rank == 0)
            CHECK_OK(rh_store(page, 0, round, 8));
        test_await(test, base, round, 1 - test->rank);
        if (test->rank == 1)
            CHECK_OK(rh_store(page, 0, round, 8));
    }
    CHECK_OK(rh_flush(test->job, 1 - test->rank));
    rh_page_close(page);
}

/* Whether the NIC may say that a peer's memory is out of reach: then push and pull must do. Shared
 * memory never is, unless faults are to hit stores. */
static bool may_be_out_of_reach(const struct test *test)
{
    return strcmp(rh_nic_name(test->job), "shm") != 0;
}

static void remote_pointer(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 4096);
    pattern_fill(base, 2048, (uint64_t)test->rank);
    test_barrier(test);
    unsigned char *near = test_buffer(test, 2048), *read = near;
    unsigned char *remote = rh_remote_ptr(test->job, rh_at(test_next(test), 1, 0), 4096);
    if (remote) {
        read = remote;
        pattern_fill(remote + 2048, 2048, 77);
    } else {
        CHECK(may_be_out_of_reach(test));
        pattern_fill(near, 2048, 77);
        CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, 2048), near, 2048));
        CHECK_OK(rh_pull(test->job, rh_at(test_next(test), 1, 0), near, 2048));
    }
    CHECK_PATTERN(read, 2048, (uint64_t)test_next(test));
    test_barrier(test);
    CHECK_PATTERN(base + 2048, 2048, 77);
    CHECK_PATTERN(base, 2048, (uint64_t)test->rank);
}

/* Plain stores and one rh_wake(): a sleeper sees them. */
static void remote_pointer_wake(struct test *test)
{
    uint64_t *base = test_alloc(test, 1, 64);
    test_barrier(test);
    uint64_t *remote = rh_remote_ptr(test->job, rh_at(1, 1, 0), 64);
    CHECK(remote || may_be_out_of_reach(test));
    if (test->rank == 1) {
        test_await(test, base, 5, 0);
    } else if (test->rank == 0) {
        struct rh_notice notice = {.word = rh_at(1, 1, 0), .value = 5};
        test_sleep_us(100000); /* most likely it sleeps by now; what is checked does not need it */
        if (remote)
            __atomic_store_n(remote, 5, __ATOMIC_SEQ_CST);
        CHECK_OK(remote ? rh_wake(test->job, 1)
                        : rh_push_notify(test->job, notice.word, NULL, 0, &notice));
    }
}

/* The pointer obeys the same rules as any access. */
static void remote_pointer_refused(struct test *test)
{
    int peer = test_next(test);
    test_alloc(test, 1, 4096);
    test_create(test, 2, 4096, RH_ATOMIC);
    test_queue(test, 3, 4, 64);
    test_barrier(test);
    CHECK(rh_remote_ptr(test->job, rh_at(peer, 1, 1), 4096) == NULL);
    CHECK(rh_remote_ptr(test->job, rh_at(peer, 1, 4097), 0) == NULL);
    CHECK(rh_remote_ptr(test->job, rh_at(peer, 2, 0), 8) == NULL);
    CHECK(rh_remote_ptr(test->job, rh_at(peer, 3, 0), 8) == NULL);
    CHECK(rh_remote_ptr(test->job, rh_at(peer, 99, 0), 8) == NULL);
    CHECK(rh_remote_ptr(test->job, rh_at(test->size, 1, 0), 8) == NULL);
    test_barrier(test);
    test_detach(test, 1);
    test_barrier(test);
    CHECK(rh_remote_ptr(test->job, rh_at(peer, 1, 0), 8) == NULL);
}

const struct test_case store_cases[] = {
    {.name = "store-widths", .run = widths},
    {.name = "store-widths-attached", .run = widths, .argument = 1},
    {.name = "store-invalid", .run = invalid},
    {.name = "store-windows", .run = windows},
    {.name = "store-windows-attached", .run = windows, .argument = 1},
    {.name = "store-whole", .run = whole},
    {.name = "store-wakes", .run = wakes},
    {.name = "store-wakes-attached", .run = wakes, .argument = 1},
    {.name = "store-ping-pong", .run = ping_pong},
    {.name = "store-remote-pointer", .run = remote_pointer},
    {.name = "store-remote-pointer-wake", .run = remote_pointer_wake},
    {.name = "store-remote-pointer-refused", .run = remote_pointer_refused},
    {.name = NULL},
};
