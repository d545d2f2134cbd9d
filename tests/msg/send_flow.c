/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flow control: a receiver that does not receive stops its senders, needs bounded memory and loses
 * nothing; and patterns that would lock up if anything waited for the wrong thing.
 */
#include "send_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Resident memory of this process in bytes. */
static uint64_t resident(void)
{
    unsigned long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    CHECK(fscanf(file, "%lu %lu", &total, &pages) == 2);
    fclose(file);
    return (uint64_t)pages * 4096;
}

/* All others want to send far more than may lie at rank 0, which first only looks for something
 * else. */
static void flood(struct mail_test *test, size_t length, int count)
{
    const uint64_t most = 48u << 20; /* four lanes of 1024 blocks, and the inbox */
    char *data = mail_alloc(length);
    if (test->rank != 0) {
        for (int i = 0; i < count; i++) {
            memset(data, i, length);
            CHECK_OK(rh_send(test->msg, 0, i, data, length));
        }
        mail_free(data);
        return;
    }
    uint64_t before = resident(), held = mail_counter(test, "msg_unexpected");
    mail_sleep_us(30000);
    CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, 1 << 30, NULL, RH_MILLISECONDS(150)), RH_ETIMEOUT);
    held = mail_counter(test, "msg_unexpected") - held;
    if (held > 4 * 1024 + 32 * (uint64_t)test->size)
        FAIL("%llu messages are kept that nobody has asked for", (unsigned long long)held);
    if (!test->is_thread && !test->is_quick && resident() - before > most)
        FAIL("%llu bytes more after %llu unexpected messages",
             (unsigned long long)(resident() - before), (unsigned long long)held);
    for (int rank = 1; rank < test->size; rank++) {
        for (int i = 0; i < count; i++) {
            struct rh_status status;
            CHECK_OK(rh_recv(test->msg, rank, RH_ANY_TAG, data, length, &status));
            CHECK_U64(status.tag, i);
            CHECK_U64(status.length, length);
            CHECK(pattern_find_other(data, length, (unsigned char)i) == length);
        }
    }
    CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, RH_ANY_TAG, NULL, RH_TIMEOUT_NONE), RH_EAGAIN);
    mail_free(data);
}

static void flood_small(struct mail_test *test)
{
    flood(test, 8, test->size > 4 ? 1500 : 5000);
}

static void flood_middle(struct mail_test *test)
{
    flood(test, 8000, test->size > 4 ? 1200 : 4000);
}

static void flood_appended(struct mail_test *test)
{
    flood(test, 2000, test->size > 4 ? 1200 : 4000);
}

static void flood_large(struct mail_test *test)
{
    const int count = 1200; /* more than may be announced at a time */
    size_t length = 12000;
    if (test->rank == 0) {
        CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, 1 << 30, NULL, RH_MILLISECONDS(50)),
                   RH_ETIMEOUT);
        for (int i = 0; i < count; i++)
            mail_receive(test, 1, i, length, (uint64_t)i);
    } else if (test->rank == 1) {
        struct rh_request **sends = calloc((size_t)count, sizeof(*sends));
        char **data = calloc((size_t)count, sizeof(*data));
        for (int i = 0; i < count; i++) {
            data[i] = mail_alloc(length);
            pattern_fill(data[i], length, (uint64_t)i);
            CHECK_OK(rh_isend(test->msg, 0, i, data[i], length, &sends[i]));
        }
        CHECK_OK(rh_wait_all(sends, (size_t)count, LONG_NS));
        for (int i = 0; i < count; i++)
            mail_free(data[i]);
        free(data);
        free(sends);
    }
}

#define TOLD      8  /* messages that can be announced at a time, */
#define WAITING   40 /* and such that fill the sender's inbox, together with */
#define RECEIVERS 7  /* what these have to tell */

static int receiver(int which)
{
    return which == 0 ? 0 : which + 1;
}

static void send_to_all(struct mail_test *test, char *data, size_t length)
{
    struct rh_request *sends[RECEIVERS * TOLD];
    for (int i = 0; i < RECEIVERS * TOLD; i++)
        CHECK_OK(
            rh_isend(test->msg, receiver(i % RECEIVERS), i / RECEIVERS, data, length, &sends[i]));
    mail_meet(test); /* all are received, and the sender did not look at its mailbox meanwhile */
    CHECK_OK(rh_wait_all(sends, RECEIVERS * TOLD, LONG_NS));
    mail_meet(test); /* nor did they at theirs */
    for (int i = 0; i < RECEIVERS * WAITING; i++)
        mail_receive(test, receiver(i % RECEIVERS), i / RECEIVERS, 8, 0);
}

static void receive_beside(struct mail_test *test, const char *data, size_t length)
{
    struct rh_request *sends[WAITING];
    for (int i = 0; i < WAITING; i++)
        CHECK_OK(rh_isend(test->msg, 1, i, data, 8, &sends[i]));
    for (int i = 0; i < TOLD; i++)
        mail_receive(test, 1, i, length, 0);
    mail_meet(test);
    mail_meet(test);
    CHECK_OK(rh_wait_all(sends, WAITING, LONG_NS));
}

/* Who has received a message does not have to be there for its sender to learn it. */
static void told_at_once(struct mail_test *test)
{
    size_t length = 12000;
    const char *way = getenv("RHINET_MSG_WAY"), *nic = rh_nic_name(test->job);
    if ((way && strcmp(way, "pull") != 0) || (!strstr(nic, "ofi") && !strstr(nic, "martini"))) {
        test->outside = "a receiver does not get it without the sender's help";
        return;
    }
    char *data = mail_alloc(length);
    pattern_fill(data, length, 0);
    if (test->rank == 1) {
        send_to_all(test, data, length);
    } else if (test->rank <= RECEIVERS) {
        receive_beside(test, data, length);
    } else {
        mail_meet(test);
        mail_meet(test);
    }
    mail_free(data);
}

/* Credit is given back to the last one: after each round the same number goes without blocking. */
static void credit(struct mail_test *test)
{
    for (int round = 0; round < 200; round++) {
        uint64_t blocked = mail_counter(test, "msg_blocked");
        for (int i = 0; i < 8; i++)
            CHECK_OK(rh_send(test->msg, test->next, i, &i, sizeof(i)));
        if (!getenv("RHINET_FAULT") && mail_counter(test, "msg_blocked") != blocked)
            FAIL("round %d: 8 messages do not go without waiting", round);
        mail_meet(test);
        for (int i = 0; i < 8; i++) {
            int got = -1;
            CHECK_OK(rh_recv(test->msg, test->previous, i, &got, sizeof(got), NULL));
            CHECK_U64(got, i);
        }
        mail_meet(test);
    }
}

/* Room is given back for many messages at a time, also where that takes longer than a message. */
static void room_is_given_back_rarely(struct mail_test *test)
{
    const int count = 2000;
    uint64_t pushes = mail_counter(test, "push");
    for (int i = 0; i < count; i++) {
        int got = -1;
        if (test->rank % 2 == 0 && test->rank + 1 < test->size)
            CHECK_OK(rh_send(test->msg, test->rank + 1, i, &i, sizeof(i)));
        if (test->rank % 2 == 0 && test->rank + 1 < test->size)
            CHECK_OK(rh_recv(test->msg, test->rank + 1, i, &got, sizeof(got), NULL));
        if (test->rank % 2 == 1) {
            CHECK_OK(rh_recv(test->msg, test->rank - 1, i, &got, sizeof(got), NULL));
            CHECK_OK(rh_send(test->msg, test->rank - 1, i, &i, sizeof(i)));
        }
    }
    if (!getenv("RHINET_FAULT"))
        CHECK(mail_counter(test, "push") - pushes <
              (uint64_t)count * 5 / 4); /* its own, one each */
    mail_meet(test);
}

/* Rank 1 has sent more than rank 0 will keep; rank 0 meanwhile sends it something large. The word
 * that the large one may come must not stand behind all that. */
static void control_passes(struct mail_test *test)
{
    const int count = 2000;
    size_t length = 300000;
    if (test->rank == 1) {
        struct rh_request **sends = calloc((size_t)count, sizeof(*sends));
        for (int i = 0; i < count; i++)
            CHECK_OK(rh_isend(test->msg, 0, 1, "12345678", 8, &sends[i]));
        mail_receive(test, 0, 2, length, 3);
        CHECK_OK(rh_wait_all(sends, (size_t)count, LONG_NS));
        free(sends);
    } else if (test->rank == 0) {
        CHECK_CODE(rh_probe(test->msg, 1, 3, NULL, RH_MILLISECONDS(50)), RH_ETIMEOUT);
        mail_send(test, 1, 2, length, 3);
        for (int i = 0; i < count; i++) {
            char got[8];
            CHECK_OK(rh_recv(test->msg, 1, 1, got, 8, NULL));
        }
    }
}

/* Everybody to everybody, all posted at once. */
static void storm(struct mail_test *test, size_t length_max, int rounds)
{
    size_t count = (size_t)(test->size * rounds);
    struct rh_request **requests = calloc(2 * count, sizeof(*requests));
    char **buffer = calloc(2 * count, sizeof(*buffer));
    size_t *length = calloc(count, sizeof(*length));
    for (size_t i = 0; i < count; i++)
        length[i] = (size_t)prng_below(&test->prng, length_max);
    for (size_t i = 0; i < count; i++) {
        int rank = (int)(i % (size_t)test->size);
        buffer[i] = mail_alloc(length[i]);
        CHECK_OK(
            rh_irecv(test->msg, rank, (int)i / test->size, buffer[i], length[i], &requests[i]));
    }
    for (size_t i = 0; i < count; i++) {
        int rank = (int)(i % (size_t)test->size);
        size_t index = i - (size_t)rank + (size_t)test->rank; /* its entry for us */
        buffer[count + i] = mail_alloc(length[index]);
        pattern_fill(buffer[count + i], length[index],
                     index * 1000 + (uint64_t)(test->rank * 100 + rank));
        CHECK_OK(rh_isend(test->msg, rank, (int)i / test->size, buffer[count + i], length[index],
                          &requests[count + i]));
    }
    CHECK_OK(rh_wait_all(requests, 2 * count, LONG_NS));
    for (size_t i = 0; i < count; i++) {
        uint64_t source = i % (size_t)test->size;
        CHECK_MESSAGE(buffer[i], length[i], i * 1000 + source * 100 + (uint64_t)test->rank);
        mail_free(buffer[i]);
        mail_free(buffer[count + i]);
    }
    free(requests);
    free(buffer);
    free(length);
}

static void storm_small(struct mail_test *test)
{
    storm(test, 60, 100);
}

static void storm_mixed(struct mail_test *test)
{
    storm(test, 30000, 25);
}

static void storm_large(struct mail_test *test)
{
    storm(test, 400000, 6);
}

/* Many large ones to one receiver, which takes them in the worst order. */
static void many_to_one(struct mail_test *test)
{
    enum { COUNT = 7 };
    size_t length = 500000;
    if (test->rank != 0) {
        struct rh_request *sends[COUNT];
        char *data[COUNT];
        for (int i = 0; i < COUNT; i++) {
            data[i] = mail_alloc(length);
            pattern_fill(data[i], length, (uint64_t)(test->rank * 10 + i));
            CHECK_OK(rh_isend(test->msg, 0, i, data[i], length, &sends[i]));
        }
        CHECK_OK(rh_wait_all(sends, COUNT, LONG_NS));
        for (int i = 0; i < COUNT; i++)
            mail_free(data[i]);
        return;
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        for (int rank = test->size - 1; rank > 0; rank--)
            mail_receive(test, rank, i, length, (uint64_t)(rank * 10 + i));
    }
}

/* Each rank waits for its predecessor before it sends: a chain through all ranks. */
static void chain(struct mail_test *test)
{
    for (int round = 0; round < 20; round++) {
        size_t length = (size_t)(round * 4001);
        if (test->rank > 0)
            mail_receive(test, test->rank - 1, round, length, (uint64_t)round);
        if (test->rank < test->size - 1)
            mail_send(test, test->rank + 1, round, length, (uint64_t)round);
    }
}

/* The receiver closes its mailbox under the senders: an error, and no harm. Then it opens
 * another. */
static void closed(struct mail_test *test)
{
    for (int round = 0; round < 3; round++) {
        if (test->rank == 0) {
            for (int i = 0; i < 12 * (test->size - 1); i++)
                CHECK_OK(rh_recv(test->msg, RH_ANY_RANK, 1, NULL, 0, NULL));
            CHECK_OK(rh_msg_close(test->msg));
            mail_meet(test);
            mail_meet(test); /* the others have closed theirs, too: they know the old one */
            CHECK_OK(rh_msg_open(&test->msg, test->job));
            mail_meet(test);
            continue;
        }
        for (int i = 0; i < 12; i++)
            CHECK_OK(rh_send(test->msg, 0, 1, NULL, 0));
        mail_meet(test);
        for (int i = 0; i < 3; i++) {
            size_t length = (size_t[]){0, 5000, 100000}[i];
            char *data = mail_alloc(length);
            int result = rh_send(test->msg, 0, 1, data, length);
            CHECK(result == RH_ESTALE || result == RH_ENOSEG);
            mail_free(data);
        }
        CHECK_OK(rh_msg_close(test->msg));
        mail_meet(test);
        CHECK_OK(rh_msg_open(&test->msg, test->job));
        mail_meet(test);
    }
}

/* Messages under way go on while their ranks wait at a barrier or for a lock. */
static void beside_barrier(struct mail_test *test)
{
    size_t length = 1 << 20;
    struct rh_set *all = NULL;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 7};
    struct rh_request *request = NULL;
    if (test->is_thread && CHECK_SEES_RACES) {
        test->outside = "making a set pulls words while others write them, which is no race";
        return;
    }
    char *data = mail_alloc(length);
    CHECK_OK(rh_set_create(test->msg, &spec, &all));
    pattern_fill(data, length, 5);
    if (test->rank == 0) { /* a send, then a receive, that nobody looks after until all have met */
        CHECK_OK(rh_isend(test->msg, 1, 1, data, length, &request));
        CHECK_OK(rh_barrier(all, LONG_NS));
        CHECK_OK(rh_wait_request(request, NULL, LONG_NS));
        CHECK_OK(rh_irecv(test->msg, 1, 2, data, length, &request));
        CHECK_OK(rh_barrier(all, LONG_NS));
        CHECK_OK(rh_wait_request(request, NULL, LONG_NS));
        CHECK_MESSAGE(data, length, 6);
    } else {
        if (test->rank == 1)
            mail_receive(test, 0, 1, length, 5);
        CHECK_OK(rh_barrier(all, LONG_NS));
        if (test->rank == 1)
            mail_send(test, 0, 2, length, 6);
        CHECK_OK(rh_barrier(all, LONG_NS));
    }
    CHECK_OK(rh_set_destroy(all));
    mail_free(data);
}

const struct mail_case send_flow_cases[] = {
    {.name = "flow-flood-small", .run = flood_small, .least_size = 2},
    {.name = "flow-flood-appended", .run = flood_appended, .least_size = 2},
    {.name = "flow-flood-middle", .run = flood_middle, .least_size = 2},
    {.name = "flow-flood-large", .run = flood_large, .least_size = 2},
    {.name = "flow-told-at-once", .run = told_at_once, .least_size = RECEIVERS + 1},
    {.name = "flow-credit", .run = credit},
    {.name = "flow-room-is-given-back-rarely", .run = room_is_given_back_rarely, .least_size = 2},
    {.name = "flow-control-passes", .run = control_passes, .least_size = 2},
    {.name = "flow-storm-small", .run = storm_small},
    {.name = "flow-storm-mixed", .run = storm_mixed},
    {.name = "flow-storm-large", .run = storm_large},
    {.name = "flow-many-to-one", .run = many_to_one, .least_size = 2},
    {.name = "flow-chain", .run = chain},
    {.name = "flow-closed-receiver", .run = closed, .least_size = 2},
    {.name = "flow-beside-barrier", .run = beside_barrier, .least_size = 2},
    {.name = NULL},
};
