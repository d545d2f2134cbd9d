/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way a message takes, as RHINET_MSG_WAY says, proven by the counters; and the longest ones.
 */
#include "send_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ways[] = {"msg_inline", "msg_push", "msg_ring", "msg_pull",
                                   "msg_both_ends"};
enum { INLINE, PUSH, RING, PULL, BOTH_ENDS, WAY_COUNT };

/* The way a message of this length must take to a receiver that has given us a lane. */
static size_t expected_way(const struct mail_test *test, size_t length)
{
    const char *way = mail_way();
    if (length <= 48)
        return INLINE;
    if (strcmp(way, "ring") == 0)
        return RING;
    if (strcmp(way, "both") == 0)
        return BOTH_ENDS;
    if (strcmp(way, "pull") == 0)
        return PULL;
    if (length <= 8192)
        return PUSH;
    if (!mail_is_direct(test))
        return PULL;
    return length >= 32 << 10 && mail_pulls(test) ? BOTH_ENDS : RING;
}

static void exchange(struct mail_test *test, size_t length)
{
    struct rh_request *send = NULL;
    char *data = mail_alloc(length);
    pattern_fill(data, length, length);
    CHECK_OK(rh_isend(test->msg, test->next, 1, data, length, &send));
    mail_receive(test, test->previous, 1, length, length);
    CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
    mail_free(data);
}

static void by_counters(struct mail_test *test)
{
    static const size_t lengths[] = {0,    48,   49,    1000,  2048,   2049,
                                     8192, 8193, 32767, 32768, 100000, 1 << 20};
    if (getenv("RHINET_FAULT")) {
        test->outside = "faults may cost us the lane";
        return;
    }
    for (int i = 0; i < 10; i++) { /* until we have a lane; who meets has answered others */
        exchange(test, 8);
        mail_meet(test);
    }
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        uint64_t before[WAY_COUNT], bytes = mail_counter(test, "msg_bytes");
        for (size_t way = 0; way < WAY_COUNT; way++)
            before[way] = mail_counter(test, ways[way]);
        exchange(test, lengths[i]);
        CHECK_U64(mail_counter(test, "msg_bytes") - bytes, lengths[i]);
        for (size_t way = 0; way < WAY_COUNT; way++) {
            uint64_t wanted = way == expected_way(test, lengths[i]);
            if (mail_counter(test, ways[way]) - before[way] != wanted)
                FAIL("%zu bytes: %s moved by %llu, expected %llu", lengths[i], ways[way],
                     (unsigned long long)(mail_counter(test, ways[way]) - before[way]),
                     (unsigned long long)wanted);
        }
    }
}

/* Every message sent is received once, by the counters of all ranks together. */
static void sum_of_counters(struct mail_test *test)
{
    const uint64_t count = 500;
    uint64_t sent = 0, received = mail_counter(test, "msg_received");
    for (size_t way = 0; way < WAY_COUNT; way++)
        sent -= mail_counter(test, ways[way]);
    for (uint64_t i = 0; i < count; i++)
        exchange(test, (size_t)prng_below(&test->prng, i % 5 == 0 ? 60000 : i % 2 ? 40 : 5000));
    for (size_t way = 0; way < WAY_COUNT; way++)
        sent += mail_counter(test, ways[way]);
    CHECK_U64(sent, count);
    CHECK_U64(mail_counter(test, "msg_received") - received, count);
}

static uint64_t memory_available(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof(line), file) &&
           sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
        continue;
    if (file)
        fclose(file);
    return (uint64_t)kib * 1024;
}

static void huge(struct mail_test *test)
{
    size_t length = (1ull << 30) + 12345;
    if (test->rank > 1)
        return;
    if (test->rank == 0 && memory_available() < 4ull << 30)
        length = 12345; /* rank 1 learns it from the first message */
    if (test->rank == 0) {
        CHECK_OK(rh_send(test->msg, 1, 1, &length, sizeof(length)));
        if (length < 1 << 30) {
            test->skipped = "less than 4 GiB of memory are free";
            return;
        }
        char *data = malloc(length);
        CHECK(data != NULL);
        pattern_fill(data, length, 77);
        CHECK_OK(rh_send(test->msg, 1, 2, data, length));
        free(data);
        return;
    }
    CHECK_OK(rh_recv(test->msg, 0, 1, &length, sizeof(length), NULL));
    if (length < 1 << 30)
        return;
    char *data = malloc(length);
    struct rh_status status;
    CHECK(data != NULL);
    CHECK_OK(rh_recv(test->msg, 0, 2, data, length, &status));
    CHECK_U64(status.length, length);
    CHECK_MESSAGE(data, length, 77);
    free(data);
}

const struct mail_case send_way_cases[] = {
    {.name = "way-by-counters", .run = by_counters, .least_size = 2},
    {.name = "way-sum-of-counters", .run = sum_of_counters},
    {.name = "way-huge", .run = huge, .least_size = 2, .flags = CASE_HEAVY},
    {.name = NULL},
};
