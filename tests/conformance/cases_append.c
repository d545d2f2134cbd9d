/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append: many senders, one receiver-owned queue. No loss, no duplicate, no invention, order kept
 * per sender.
 */
#include "conformance.h"

#include <string.h>

#define SID 1

/* What the tests send: who, which one, and bytes that only this message can have. */
struct message {
    uint32_t source;
    uint32_t number;
    unsigned char body[240];
};
#define HEAD offsetof(struct message, body)

static uint64_t seed_of(uint32_t source, uint32_t number)
{
    return (uint64_t)source << 32 | number;
}

static size_t body_length(uint32_t source, uint32_t number)
{
    return (source * 7 + number * 13) % 241;
}

static void send(struct test *test, int target, uint32_t number)
{
    struct message message = {.source = (uint32_t)test->rank, .number = number};
    size_t length = body_length(message.source, number);
    pattern_fill(message.body, length, seed_of(message.source, number));
    CHECK_OK(rh_append(test->job, target, SID, &message, HEAD + length));
}

/* Receive one message, check it in full, return its sender; *number is the message's. */
static int receive(struct rh_queue *queue, uint32_t *number)
{
    struct rh_arrival arrival;
    struct message message;
    CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
    CHECK(arrival.length >= HEAD);
    CHECK(arrival.length <= sizeof(message));
    memcpy(&message, arrival.data, arrival.length);
    CHECK_U64(message.source, arrival.source);
    CHECK_U64(arrival.length - HEAD, body_length(message.source, message.number));
    CHECK_PATTERN(message.body, arrival.length - HEAD, seed_of(message.source, message.number));
    rh_queue_release(queue);
    *number = message.number;
    return arrival.source;
}

/* Receive `each` messages from each of the other ranks, in order per sender, and no more. */
static void receive_all(struct test *test, struct rh_queue *queue, uint32_t each, int sender_count)
{
    uint32_t next[MEETING_RANKS_MAX] = {0};
    struct rh_arrival arrival;
    for (uint64_t i = 0; i < (uint64_t)each * (uint64_t)sender_count; i++) {
        uint32_t number = 0;
        int source = receive(queue, &number);
        CHECK(source >= 0 && source < test->size);
        CHECK_U64(number, next[source]);
        next[source]++;
    }
    CHECK_CODE(rh_queue_next(queue, &arrival, RH_TIMEOUT_NONE), RH_EAGAIN);
}

static void one_sender(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 16, sizeof(struct message));
    test_barrier(test);
    if (test->rank == 0) {
        for (uint32_t i = 0; i < 3000; i++)
            send(test, 1, i);
    } else if (test->rank == 1) {
        receive_all(test, queue, 3000, 1);
    }
}

static void many_senders(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 64, sizeof(struct message));
    test_barrier(test);
    if (test->rank == 0)
        receive_all(test, queue, 2000, test->size - 1);
    for (uint32_t i = 0; test->rank != 0 && i < 2000; i++)
        send(test, 0, i);
}

/* Two slots: every message wraps around and nearly every append finds the queue full. */
static void small_queue(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, (uint32_t)test->running->argument,
                                        sizeof(struct message));
    test_barrier(test);
    if (test->rank == 0)
        receive_all(test, queue, 700, test->size - 1);
    for (uint32_t i = 0; test->rank != 0 && i < 700; i++)
        send(test, 0, i);
}

static void every_length(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 8, 300);
    unsigned char local[300];
    struct rh_arrival arrival;
    test_barrier(test);
    for (size_t length = 0; length <= 300; length++) {
        pattern_fill(local, length, length);
        CHECK_OK(rh_append(test->job, test_next(test), SID, local, length));
        CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
        CHECK_U64(arrival.length, length);
        CHECK_U64(arrival.source, test_previous(test));
        CHECK_PATTERN(arrival.data, length, length);
        rh_queue_release(queue);
    }
}

static void long_messages(struct test *test)
{
    size_t length = 1 << 20;
    struct rh_queue *queue = test_queue(test, SID, 4, (uint32_t)length);
    unsigned char *local = test_buffer(test, length);
    struct rh_arrival arrival;
    test_barrier(test);
    for (uint64_t round = 0; round < 20; round++) {
        pattern_fill(local, length - round, round + (uint64_t)test->rank);
        CHECK_OK(rh_append(test->job, test_next(test), SID, local, length - round));
        CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
        CHECK_U64(arrival.length, length - round);
        CHECK_PATTERN(arrival.data, length - round, round + (uint64_t)test_previous(test));
        rh_queue_release(queue);
    }
}

static void too_long(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 100);
    char local[128] = {0};
    struct rh_arrival arrival;
    test_barrier(test);
    CHECK_CODE(rh_append(test->job, test_next(test), SID, local, 101), RH_ETOOBIG);
    CHECK_CODE(rh_append_try(test->job, test_next(test), SID, local, 128), RH_ETOOBIG);
    CHECK_CODE(rh_append(test->job, test_next(test), SID, local, SIZE_MAX), RH_ETOOBIG);
    test_barrier(test);
    CHECK_CODE(rh_queue_next(queue, &arrival, 0), RH_EAGAIN);
    test_barrier(test);
    CHECK_OK(rh_append(test->job, test_next(test), SID, local, 100));
    CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
    CHECK_U64(arrival.length, 100);
    rh_queue_release(queue);
}

static void empty_messages(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 1);
    struct rh_arrival arrival;
    test_barrier(test);
    for (int i = 0; i < 100; i++) {
        CHECK_OK(rh_append(test->job, test_next(test), SID, NULL, 0));
        CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
        CHECK_U64(arrival.length, 0);
        CHECK_U64(arrival.source, test_previous(test));
        rh_queue_release(queue);
    }
    CHECK_CODE(rh_queue_next(queue, &arrival, 0), RH_EAGAIN);
}

static void to_self(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 64);
    struct rh_arrival arrival;
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK_OK(rh_append(test->job, test->rank, SID, &i, sizeof(i)));
        CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
        CHECK_U64(arrival.source, test->rank);
        CHECK(memcmp(arrival.data, &i, sizeof(i)) == 0);
        rh_queue_release(queue);
    }
}

static void next_times_out(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 64);
    struct rh_arrival arrival = {.length = 77};
    int64_t start_ns = test_now_ns();
    CHECK_CODE(rh_queue_next(queue, &arrival, RH_TIMEOUT_NONE), RH_EAGAIN);
    CHECK_CODE(rh_queue_next(queue, &arrival, RH_MILLISECONDS(50)), RH_ETIMEOUT);
    CHECK(test_now_ns() - start_ns >= RH_MILLISECONDS(50));
    CHECK(test_now_ns() - start_ns < HANG_NS);
    CHECK_U64(arrival.length, 77);
}

/* The receiver is asleep, much longer than any spin, when the message comes. */
static void wakes_sleeper(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 64);
    struct rh_arrival arrival;
    test_barrier(test);
    for (int round = 0; round < 5; round++) {
        if (test->rank == 0) {
            for (int rank = 1; rank < test->size; rank++) {
                CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
                rh_queue_release(queue);
            }
        } else {
            test_sleep_us(60000 * (unsigned)test->rank % 200000);
            CHECK_OK(rh_append(test->job, 0, SID, "wake up", 7));
        }
        test_barrier(test);
    }
}

/* What the receiver looks at does not change under it, however much comes meanwhile. */
static void stays_in_place(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, 64);
    struct rh_arrival arrival, again;
    unsigned char local[64];
    test_barrier(test);
    if (test->rank == 1) {
        for (uint64_t i = 0; i < 40; i++) {
            pattern_fill(local, 64, i);
            CHECK_OK(rh_append(test->job, 0, SID, local, 64));
        }
    } else if (test->rank == 0) {
        for (uint64_t i = 0; i < 40; i++) {
            CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
            test_sleep_us(2000);
            CHECK_PATTERN(arrival.data, 64, i);
            CHECK_OK(rh_queue_next(queue, &again, RH_TIMEOUT_NONE)); /* still the same one */
            CHECK(again.data == arrival.data);
            rh_queue_release(queue);
        }
    }
}

static void two_queues(struct test *test)
{
    struct rh_queue *first = test_queue(test, 1, 8, 64), *second = test_queue(test, 2, 2, 8);
    struct rh_arrival arrival;
    test_barrier(test);
    for (uint64_t i = 0; i < 500; i++) {
        uint64_t tagged = i | 1ull << 40;
        CHECK_OK(rh_append(test->job, test_next(test), 1, &i, 8));
        CHECK_OK(rh_append(test->job, test_next(test), 2, &tagged, 8));
        CHECK_OK(rh_queue_next(second, &arrival, TEST_WAIT_NS));
        CHECK(memcmp(arrival.data, &tagged, 8) == 0);
        rh_queue_release(second);
        CHECK_OK(rh_queue_next(first, &arrival, TEST_WAIT_NS));
        CHECK(memcmp(arrival.data, &i, 8) == 0);
        rh_queue_release(first);
    }
}

/* Everyone floods everyone with small queues: receiving while sending must be enough to go on. */
static void flood(struct test *test)
{
    struct rh_queue *queue = test_queue(test, SID, 4, sizeof(uint64_t));
    struct rh_arrival arrival;
    uint64_t sent[MEETING_RANKS_MAX] = {0}, got[MEETING_RANKS_MAX] = {0};
    uint64_t each = 500, total = each * (uint64_t)test->size, received = 0, done = 0;
    int64_t limit_ns = test_now_ns() + TEST_WAIT_NS;
    test_barrier(test);
    while (received < total || done < total) {
        for (int rank = 0; rank < test->size; rank++) {
            if (sent[rank] == each)
                continue;
            int result = rh_append_try(test->job, rank, SID, &sent[rank], 8);
            if (result == RH_EAGAIN)
                continue;
            CHECK_OK(result);
            sent[rank]++;
            done++;
        }
        int result = rh_queue_next(queue, &arrival, done < total ? 0 : RH_MILLISECONDS(100));
        if (result == RH_EAGAIN || result == RH_ETIMEOUT) {
            CHECK(test_now_ns() < limit_ns);
            continue;
        }
        CHECK_OK(result);
        uint64_t value;
        memcpy(&value, arrival.data, 8);
        CHECK_U64(value, got[arrival.source]);
        got[arrival.source]++;
        received++;
        rh_queue_release(queue);
    }
}

const struct test_case append_cases[] = {
    {.name = "append-one-sender", .run = one_sender},
    {.name = "append-many-senders", .run = many_senders},
    {.name = "append-two-slots", .run = small_queue, .argument = 2},
    {.name = "append-one-slot", .run = small_queue, .argument = 1},
    {.name = "append-every-length", .run = every_length},
    {.name = "append-long-messages", .run = long_messages},
    {.name = "append-too-long", .run = too_long},
    {.name = "append-empty-messages", .run = empty_messages},
    {.name = "append-to-self", .run = to_self},
    {.name = "append-next-times-out", .run = next_times_out},
    {.name = "append-wakes-sleeper", .run = wakes_sleeper},
    {.name = "append-stays-in-place", .run = stays_in_place},
    {.name = "append-two-queues", .run = two_queues},
    {.name = "append-flood", .run = flood},
    {.name = NULL},
};
