/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Full queues: space is checked, senders wait for it, and nothing is lost.
 */
#include "conformance.h"

#include <string.h>

#define SID 1

/* Exactly as many messages fit as the shape says, rounded up to a power of two. */
static void exact_room(struct test *test)
{
    static const struct {
        uint32_t asked, room;
    } shapes[] = {{1, 1}, {2, 2}, {3, 4}, {5, 8}, {64, 64}, {100, 128}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct rh_queue *queue = test_queue(test, SID, shapes[i].asked, 8);
        struct rh_arrival arrival;
        test_barrier(test);
        for (uint32_t n = 0; n < shapes[i].room; n++)
            CHECK_OK(rh_append_try(test->job, test_next(test), SID, &n, sizeof(n)));
        CHECK_CODE(rh_append_try(test->job, test_next(test), SID, "full", 4), RH_EAGAIN);
        test_barrier(test);
        for (uint32_t n = 0; n < shapes[i].room; n++) {
            CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
            CHECK(memcmp(arrival.data, &n, sizeof(n)) == 0);
            rh_queue_release(queue);
        }
        CHECK_CODE(rh_queue_next(queue, &arrival, 0), RH_EAGAIN);
        test_barrier(test);
        test_queue_destroy(test, queue);
        test_barrier(test);
    }
}

/* One place given back is one place to fill. */
static void one_by_one(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 8);
    struct rh_arrival arrival;
    uint64_t sent = 0;
    test_barrier(test);
    while (sent < 4)
        CHECK_OK(rh_append_try(test->job, test_next(test), SID, &sent, 8)), sent++;
    test_barrier(test);
    for (uint64_t i = 0; i < 100; i++) {
        CHECK_CODE(rh_append_try(test->job, test_next(test), SID, &sent, 8), RH_EAGAIN);
        test_barrier(test);
        CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
        CHECK(memcmp(arrival.data, &i, 8) == 0);
        rh_queue_release(queue);
        test_barrier(test);
        CHECK_OK(rh_append_try(test->job, test_next(test), SID, &sent, 8));
        sent++;
        test_barrier(test);
    }
}

/* Senders block, asleep, while the receiver does something else; then all goes on. */
static void blocks_and_resumes(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 8);
    struct rh_arrival arrival;
    uint64_t each = 50, next[MEETING_RANKS_MAX] = {0};
    test_barrier(test);
    if (test->rank == 0) {
        for (uint64_t i = 0; i < each * (uint64_t)(test->size - 1); i++) {
            if (i % 16 == 0)
                test_sleep_us(30000);
            CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
            CHECK(memcmp(arrival.data, &next[arrival.source], 8) == 0);
            next[arrival.source]++;
            rh_queue_release(queue);
        }
    } else {
        uint64_t full = test_counter(test, "append_full");
        for (uint64_t i = 0; i < each; i++)
            CHECK_OK(rh_append(test->job, 0, SID, &i, 8));
        CHECK(test_counter(test, "append_full") > full);
    }
}

/* Destroying a queue drops what it holds; a new one under the same SID is empty. */
static void destroy_pending(struct test *test)
{
    struct rh_arrival arrival;
    for (int round = 0; round < 10; round++) {
        struct rh_queue *queue = test_queue(test, SID, 8, 8);
        test_barrier(test);
        CHECK_CODE(rh_queue_next(queue, &arrival, 0), RH_EAGAIN);
        test_barrier(test);
        for (uint64_t i = 0; i < 5; i++)
            CHECK_OK(rh_append(test->job, test_next(test), SID, &i, 8));
        test_barrier(test);
        test_queue_destroy(test, queue);
        test_barrier(test);
    }
}

/* A sender that waits for space must learn that the queue has gone. */
static void destroy_while_full(struct test *test)
{
    struct rh_queue *queue = test->rank == 0 ? test_queue(test, SID, 2, 8) : NULL;
    test_barrier(test);
    if (test->rank == 0) {
        test_sleep_us(200000);
        test_queue_destroy(test, queue);
    } else {
        int result = 0;
        int64_t start_ns = test_now_ns();
        for (uint64_t i = 0; i < 3 && result == 0; i++)
            result = rh_append(test->job, 0, SID, &i, 8);
        CHECK_CODE(result, RH_ESTALE);
        CHECK(test_now_ns() - start_ns < RH_MILLISECONDS(10000));
    }
}

/* Destroyed and made again while all others append: each append arrives or is told RH_ESTALE. */
static void destroy_in_use(struct test *test)
{
    uint64_t *flag = test_alloc(test, 9, 8);
    uint32_t slot_length = (uint32_t)test->running->argument;
    struct rh_queue *queue = test->rank == 0 ? test_queue(test, SID, 64, slot_length) : NULL;
    unsigned char *local = test_buffer(test, slot_length);
    struct rh_arrival arrival;
    test_barrier(test);
    if (test->rank == 0) {
        for (int round = 0; round < 300; round++) {
            for (int i = 0; i < 50 && rh_queue_next(queue, &arrival, RH_MILLISECONDS(1)) == 0; i++)
                rh_queue_release(queue);
            test_queue_destroy(test, queue);
            queue = test_queue(test, SID, 64, slot_length);
        }
        for (int rank = 1; rank < test->size; rank++)
            test_signal(test, rh_at(rank, 9, 0), 1);
    }
    int64_t limit_ns = test_now_ns() + TEST_WAIT_NS;
    while (test->rank != 0 && __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {
        CHECK(test_now_ns() < limit_ns);
        int result = rh_append_try(test->job, 0, SID, local, slot_length);
        if (result != 0 && result != RH_ESTALE && result != RH_EAGAIN)
            FAIL("expected success, RH_ESTALE or RH_EAGAIN, got %s: %s", rh_error_name(result),
                 rh_error_text());
    }
}

const struct test_case queue_full_cases[] = {
    {.name = "full-exact-room", .run = exact_room},
    {.name = "full-one-by-one", .run = one_by_one},
    {.name = "full-blocks-and-resumes", .run = blocks_and_resumes},
    {.name = "full-destroy-pending", .run = destroy_pending},
    {.name = "full-destroy-while-full", .run = destroy_while_full, .flags = CASE_LATE},
    {.name = "full-destroy-in-use", .run = destroy_in_use, .argument = 8, .flags = CASE_LATE},
    {.name = "full-destroy-in-use-long",
     .run = destroy_in_use,
     .argument = 5000,
     .flags = CASE_LATE},
    {.name = NULL},
};
