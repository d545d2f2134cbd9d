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

const struct test_case queue_full_cases[] = {
    {.name = "full-exact-room", .run = exact_room},
    {.name = "full-one-by-one", .run = one_by_one},
    {.name = "full-blocks-and-resumes", .run = blocks_and_resumes},
    {.name = "full-destroy-pending", .run = destroy_pending},
    {.name = "full-destroy-while-full", .run = destroy_while_full},
    {.name = NULL},
};
