/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Death and queues: a dead receiver frees its senders, a dead sender does not stop the queue.
 */
#include "conformance.h"

#include <string.h>

#define SID 1

/* Senders sleep for space in the victim's queue when it dies. */
static void receiver_dies_full(struct test *test)
{
    int victim = test_victim(test);
    test_queue(test, SID, 2, 8);
    test_barrier(test);
    if (test->rank == victim) {
        test_sleep_us(300000);
        test_die();
    }
    test_mark_gone(test, victim);
    int result = 0;
    int64_t start_ns = test_now_ns();
    for (uint64_t i = 0; i < 3 && result == 0; i++)
        result = rh_append(test->job, victim, SID, &i, 8);
    CHECK_CODE(result, RH_EDEAD);
    CHECK_CODE(rh_error_rank(), victim);
    CHECK(test_now_ns() - start_ns < RH_MILLISECONDS(10000));
    CHECK_CODE(rh_append_try(test->job, victim, SID, "x", 1), RH_EDEAD);
}

/* Messages long enough that the kill most likely comes in the middle of one. */
static void sender_dies(struct test *test)
{
    size_t length = test->running->argument;
    struct rh_queue *queue = test->rank == 0 ? test_queue(test, SID, 8, (uint32_t)length) : NULL;
    unsigned char *local = test_buffer(test, length);
    int victim = test_victim(test);
    uint64_t each = 400, next[MEETING_RANKS_MAX] = {0};
    test_barrier(test);
    if (test->rank == victim)
        test_die_soon(5000 + (unsigned)(test_now_ns() / 1000 % 20000));
    if (test->rank != 0) {
        for (uint64_t i = 0; i < each || test->rank == victim; i++) {
            memcpy(local, &i, 8);
            pattern_fill(local + 8, length - 8, i + 1000 * (uint64_t)test->rank);
            CHECK_OK(rh_append(test->job, 0, SID, local, length));
        }
        test_mark_gone(test, victim);
        return;
    }
    test_mark_gone(test, victim);
    bool has_heard = false;
    uint64_t expected = each * (uint64_t)(test->size - 2), received = 0;
    while (received < expected || !has_heard) {
        struct rh_arrival arrival;
        uint64_t number;
        int result = rh_queue_next(queue, &arrival, TEST_WAIT_NS);
        if (result == RH_EDEAD) {
            CHECK(!has_heard);
            has_heard = true;
            CHECK_CODE(rh_deaths_acknowledge(test->job), 1);
            continue;
        }
        CHECK_OK(result);
        CHECK_U64(arrival.length, length);
        memcpy(&number, arrival.data, 8);
        CHECK_U64(number, next[arrival.source]);
        CHECK_PATTERN((const char *)arrival.data + 8, length - 8,
                      number + 1000 * (uint64_t)arrival.source);
        next[arrival.source]++;
        received += arrival.source != victim;
        rh_queue_release(queue);
    }
    for (int rank = 1; rank < victim; rank++)
        CHECK_U64(next[rank], each);
}

/* Its leavings cost no room: afterwards the queue still takes as many as it has slots. */
static void sender_dies_room(struct test *test)
{
    struct rh_queue *queue = test->rank == 0 ? test_queue(test, SID, 4, 1 << 20) : NULL;
    unsigned char *local = test_buffer(test, 1 << 20);
    int victim = test_victim(test);
    struct rh_arrival arrival;
    test_barrier(test);
    if (test->rank == victim) {
        test_die_soon(3000 + (unsigned)(test_now_ns() / 1000 % 10000));
        for (;;)
            rh_append(test->job, 0, SID, local, 1 << 20);
    }
    test_mark_gone(test, victim);
    if (test->rank == 0) {
        int result;
        do { /* take what it has sent, until the news comes */
            result = rh_queue_next(queue, &arrival, TEST_WAIT_NS);
            if (result == 0)
                rh_queue_release(queue);
        } while (result == 0);
        CHECK_CODE(result, RH_EDEAD);
        CHECK_CODE(rh_deaths_acknowledge(test->job), 1);
        while (rh_queue_next(queue, &arrival, RH_MILLISECONDS(50)) == 0)
            rh_queue_release(queue);
        for (int i = 0; i < 4; i++)
            CHECK_OK(rh_append_try(test->job, 0, SID, &i, sizeof(i)));
        CHECK_CODE(rh_append_try(test->job, 0, SID, "full", 4), RH_EAGAIN);
        for (int i = 0; i < 4; i++) {
            CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
            CHECK(arrival.length == sizeof(i) && memcmp(arrival.data, &i, sizeof(i)) == 0);
            rh_queue_release(queue);
        }
    }
}

/* A new queue after the death works among the survivors. */
static void queue_afterwards(struct test *test)
{
    int victim = test_victim(test);
    struct rh_queue *queue = test_queue(test, SID, 2, 8);
    struct rh_arrival arrival;
    test_barrier(test);
    if (test->rank == victim)
        test_die();
    test_mark_gone(test, victim);
    test_await_end(test, victim);
    rh_deaths_acknowledge(test->job);
    test_queue_destroy(test, queue);
    queue = test_queue(test, SID, 2, 8);
    test_barrier(test);
    int peer = (test->rank + 1) % (test->size - 1);
    for (uint64_t i = 0; i < 500; i++) {
        CHECK_OK(rh_append(test->job, peer, SID, &i, 8));
        CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
        CHECK(memcmp(arrival.data, &i, 8) == 0);
        rh_queue_release(queue);
    }
}

const struct test_case death_queue_cases[] = {
    {.name = "dead-receiver-full", .run = receiver_dies_full, .flags = CASE_DIES},
    {.name = "dead-sender-large", .run = sender_dies, .argument = 1 << 20, .flags = CASE_DIES},
    {.name = "dead-sender-small", .run = sender_dies, .argument = 16, .flags = CASE_DIES},
    {.name = "dead-sender-room", .run = sender_dies_room, .flags = CASE_DIES},
    {.name = "dead-queue-afterwards", .run = queue_afterwards, .flags = CASE_DIES},
    {.name = NULL},
};
