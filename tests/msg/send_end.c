/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last rank dies or leaves, and ranks that lose patience. Survivors get RH_EDEAD that names the
 * rank, soon, and go on with each other; who gives up in the middle of a message harms no other.
 *
 * Longer than most files: cases that share who dies, who survives and what is expected of them.
 */
#include "send_suite.h"

#include "moment.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOON_NS RH_MILLISECONDS(10000)

static int victim_of(const struct mail_test *test)
{
    return test->size - 1;
}

static bool is_victim(const struct mail_test *test)
{
    return test->rank == victim_of(test);
}

_Noreturn static void die(void)
{
    moment_die();
}

/* Of a message that is sent although nobody receives yet. */
static size_t unasked_length(void)
{
    const char *way = mail_way();
    return strcmp(way, "auto") == 0 || strcmp(way, "push") == 0 ? 2000 : 48;
}

static void expect_no_more(struct mail_test *test)
{
    test->meeting.is_gone[victim_of(test)] = true;
}

static void await_end(struct mail_test *test)
{
    int64_t limit_ns = mail_now_ns() + SOON_NS;
    while (rh_peer_state(test->job, victim_of(test)) < RH_PEER_LEFT) {
        CHECK(mail_now_ns() < limit_ns);
        mail_sleep_us(300);
    }
}

/* The survivors among each other, in all ways, also from anybody. */
static void check_survivors(struct mail_test *test)
{
    static const size_t lengths[] = {8, 3000, 50000, 400000};
    int count = test->size - 1;
    int next = (test->rank + 1) % count, previous = (test->rank + count - 1) % count;
    rh_deaths_acknowledge(test->job);
    mail_meet(test);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct rh_request *send = NULL;
        char *data = mail_alloc(lengths[i]);
        pattern_fill(data, lengths[i], i);
        CHECK_OK(rh_isend(test->msg, next, 50, data, lengths[i], &send));
        mail_receive(test, i % 2 ? RH_ANY_RANK : previous, 50, lengths[i], i);
        CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
        mail_free(data);
    }
    CHECK_CODE(rh_send(test->msg, victim_of(test), 1, "x", 1), RH_EDEAD);
    CHECK_CODE(rh_error_rank(), victim_of(test));
    mail_meet(test);
}

/* A result that says that the victim is gone, and soon. */
static void check_dead(const struct mail_test *test, int result, int64_t start_ns)
{
    CHECK_CODE(result, RH_EDEAD);
    CHECK_CODE(rh_error_rank(), victim_of(test));
    CHECK(mail_now_ns() - start_ns < SOON_NS);
}

/* Asleep in a receive from the victim; then from anybody, until the death is acknowledged. */
static void in_receive(struct mail_test *test)
{
    char got[8];
    if (is_victim(test)) {
        mail_sleep_us(100000);
        die();
    }
    expect_no_more(test);
    int64_t start_ns = mail_now_ns();
    int from = test->rank % 2 ? RH_ANY_RANK : victim_of(test);
    check_dead(test, rh_recv(test->msg, from, 1, got, 8, NULL), start_ns);
    await_end(test);
    check_dead(test, rh_recv(test->msg, RH_ANY_RANK, 1, got, 8, NULL), start_ns);
    check_dead(test, rh_probe(test->msg, RH_ANY_RANK, 1, NULL, LONG_NS), start_ns);
    CHECK_CODE(rh_deaths_acknowledge(test->job), 1);
    CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, 1, NULL, RH_MILLISECONDS(5)), RH_ETIMEOUT);
    check_dead(test, rh_probe(test->msg, victim_of(test), 1, NULL, LONG_NS), start_ns);
    check_survivors(test);
}

/* Blocked in sends of every kind to a victim that takes nothing. */
static void in_send(struct mail_test *test)
{
    static const size_t lengths[] = {8, 5000, 100000};
    size_t length = lengths[test->rank % 3];
    if (is_victim(test)) {
        mail_sleep_us(150000);
        die();
    }
    expect_no_more(test);
    char *data = mail_alloc(length);
    int64_t start_ns = mail_now_ns();
    int result = 0;
    while (result == 0)
        result = rh_send(test->msg, victim_of(test), 1, data, length);
    check_dead(test, result, start_ns);
    mail_free(data);
    check_survivors(test);
}

/* In the middle of large messages in both directions. */
static void in_stream(struct mail_test *test)
{
    size_t length = 4 << 20;
    char *data = mail_alloc(length), *buffer = mail_alloc(length);
    int victim = victim_of(test);
    if (is_victim(test)) {
        struct rh_request *requests[64];
        size_t count = 0, index;
        for (int rank = 0; rank < victim; rank++) {
            CHECK_OK(rh_isend(test->msg, rank, 1, data, length, &requests[count++]));
            CHECK_OK(rh_irecv(test->msg, rank, 1, buffer, length, &requests[count++]));
        }
        CHECK_OK(rh_wait_any(requests, count, &index, NULL, LONG_NS));
        die();
    }
    expect_no_more(test);
    int64_t start_ns = mail_now_ns();
    struct rh_request *requests[2] = {0};
    CHECK_OK(rh_isend(test->msg, victim, 1, data, length, &requests[0]));
    CHECK_OK(rh_irecv(test->msg, victim, 1, buffer, length, &requests[1]));
    for (int i = 0; i < 2; i++) {
        size_t index = 99;
        int result = rh_wait_any(requests, 2, &index, NULL, LONG_NS);
        CHECK(index < 2); /* named ranks only, so it is one of them that ended */
        CHECK(result == 0 || result == RH_EDEAD);
        if (result == RH_EDEAD)
            CHECK_CODE(rh_error_rank(), victim);
    }
    CHECK(mail_now_ns() - start_ns < SOON_NS);
    mail_free(data);
    mail_free(buffer);
    await_end(test);
    check_survivors(test);
}

/* What the victim sent before counts; what it only announced is gone, and harms nobody. */
static void last_words(struct mail_test *test)
{
    char *data = mail_alloc(200000);
    struct rh_status status;
    if (is_victim(test)) {
        struct rh_request *request;
        for (int rank = 0; rank < victim_of(test); rank++) {
            for (int i = 0; i < 20; i++) /* as much as goes while nobody receives */
                mail_send(test, rank, i, i < 4 ? unasked_length() : (size_t)(i * 2), (uint64_t)i);
            CHECK_OK(rh_isend(test->msg, rank, 20, data, 200000, &request));
        }
        die();
    }
    expect_no_more(test);
    await_end(test);
    for (int i = 0; i < 20; i++)
        mail_receive(test, i % 2 ? RH_ANY_RANK : victim_of(test), i,
                     i < 4 ? unasked_length() : (size_t)(i * 2), (uint64_t)i);
    int64_t start_ns = mail_now_ns();
    int result = rh_recv(test->msg, victim_of(test), RH_ANY_TAG, data, 200000, &status);
    check_dead(test, result, start_ns);
    mail_free(data);
    check_survivors(test);
    CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, RH_ANY_TAG, &status, RH_MILLISECONDS(20)),
               RH_ETIMEOUT);
}

/* Waits for several requests: those that hang on the victim end, the others do not. */
static void in_wait_any(struct mail_test *test)
{
    struct rh_request *requests[3] = {0};
    uint64_t got[3];
    size_t index = 99;
    int count = test->size - 1, other = (test->rank + 1) % count;
    if (is_victim(test)) {
        mail_sleep_us(100000);
        die();
    }
    expect_no_more(test);
    int64_t start_ns = mail_now_ns();
    CHECK_OK(rh_irecv(test->msg, other, 1, &got[0], 8, &requests[0]));
    CHECK_OK(rh_irecv(test->msg, victim_of(test), 1, &got[1], 8, &requests[1]));
    check_dead(test, rh_wait_any(requests, 3, &index, NULL, LONG_NS), start_ns);
    CHECK_U64(index, 1);
    CHECK(requests[1] == NULL);
    CHECK_OK(rh_irecv(test->msg, RH_ANY_RANK, 2, &got[2], 8, &requests[2]));
    index = 99;
    check_dead(test, rh_wait_any(requests, 3, &index, NULL, LONG_NS), start_ns);
    CHECK_U64(index, 99); /* nobody's own end: it only says that somebody died */
    rh_deaths_acknowledge(test->job);
    CHECK_CODE(rh_wait_any(requests, 3, &index, NULL, RH_MILLISECONDS(5)), RH_ETIMEOUT);
    mail_meet(test);
    CHECK_OK(rh_send(test->msg, other, 2, &(uint64_t){2}, 8));
    CHECK_OK(rh_wait_any(requests, 3, &index, NULL, LONG_NS));
    CHECK_U64(index, 2);
    mail_meet(test);
    CHECK_OK(rh_send(test->msg, (test->rank + count - 1) % count, 1, &(uint64_t){1}, 8));
    CHECK_OK(rh_wait_all(requests, 3, LONG_NS));
    check_survivors(test);
}

/* From anybody, and it is already coming from a living rank: another's death does not end it. */
static void not_ours(struct mail_test *test)
{
    size_t length = 3 << 20;
    int victim = victim_of(test);
    char *data = mail_alloc(length);
    struct rh_request *request = NULL;
    if (is_victim(test)) {
        mail_receive(test, 0, 2, 8, 2); /* when rank 0 has found rank 1's message */
        die();
    }
    expect_no_more(test);
    if (test->rank == 0) {
        CHECK_OK(rh_probe(test->msg, RH_ANY_RANK, 1, NULL, LONG_NS));
        CHECK_OK(rh_irecv(test->msg, RH_ANY_RANK, 1, data, length, &request));
        mail_send(test, victim, 2, 8, 2);
        CHECK_OK(rh_wait_request(request, NULL, LONG_NS));
        CHECK_MESSAGE(data, length, 8);
        CHECK(rh_peer_state(test->job, victim) == RH_PEER_DIED);
    } else if (test->rank == 1) {
        pattern_fill(data, length, 8);
        CHECK_OK(rh_isend(test->msg, 0, 1, data, length, &request));
        await_end(test); /* the message is announced, and goes on after that */
        mail_sleep_us(50000);
        CHECK_OK(rh_wait_request(request, NULL, LONG_NS));
    }
    mail_free(data);
    await_end(test);
    check_survivors(test);
}

/* Sends that never got away, and nobody waits for them but by testing. */
static void pending_sends(struct mail_test *test)
{
    enum { COUNT = 3000 };
    if (is_victim(test)) {
        mail_meet(test); /* takes nothing in, and lives until all is under way */
        die();
    }
    struct rh_request **sends = calloc(COUNT, sizeof(*sends));
    for (int i = 0; i < COUNT; i++)
        CHECK_OK(rh_isend(test->msg, victim_of(test), 1, "12345678", 8, &sends[i]));
    mail_meet(test);
    expect_no_more(test);
    await_end(test);
    int64_t start_ns = mail_now_ns();
    int ended = 0;
    for (int i = 0; i < COUNT; i++) {
        int result;
        while ((result = rh_test_request(sends[i], NULL)) == RH_EAGAIN)
            CHECK(mail_now_ns() - start_ns < SOON_NS);
        CHECK(result == 0 || result == RH_EDEAD);
        ended += result == RH_EDEAD;
    }
    CHECK(ended > 0);
    free(sends);
    check_survivors(test);
}

static void leaves(struct mail_test *test)
{
    char got[8];
    if (is_victim(test)) {
        for (int rank = 0; rank < victim_of(test); rank++)
            mail_send(test, rank, 1, unasked_length(), 4);
        CHECK_OK(rh_msg_close(test->msg));
        CHECK_OK(rh_leave(test->job));
        test->has_left = true;
        return;
    }
    expect_no_more(test);
    await_end(test);
    mail_receive(test, RH_ANY_RANK, 1, unasked_length(), 4);
    int64_t start_ns = mail_now_ns();
    check_dead(test, rh_recv(test->msg, victim_of(test), 1, got, 8, NULL), start_ns);
    CHECK(strstr(rh_error_text(), "left") != NULL);
    check_dead(test, rh_send(test->msg, victim_of(test), 1, got, 8), start_ns);
    struct rh_request *request;
    size_t index = 9;
    CHECK_OK(rh_irecv(test->msg, victim_of(test), 1, got, 8, &request));
    check_dead(test, rh_wait_any(&request, 1, &index, NULL, LONG_NS), start_ns);
    CHECK_U64(index, 0);
    check_survivors(test);
}

/* ---- Losing patience: these run with a timeout of a second and a half ------------------------ */

/* The sender gives up while nobody receives; the receiver then gets an error and not other
 * bytes. */
static void sender_gives_up(struct mail_test *test)
{
    size_t length = 100000;
    char *data = mail_alloc(length);
    if (test->rank == 1) {
        CHECK_CODE(rh_send(test->msg, 0, 1, data, length), RH_ETIMEOUT);
        mail_meet(test);
        mail_send(test, 0, 2, length, 9); /* another, with the number the first one had */
        mail_receive(test, 0, 3, length, 10);
    } else {
        mail_meet(test);
    }
    if (test->rank == 0) {
        struct rh_status status;
        CHECK_CODE(rh_recv(test->msg, 1, 1, data, length, &status), RH_ECANCELED);
        CHECK_CODE(rh_error_rank(), 1);
        mail_receive(test, 1, 2, length, 9);
        mail_send(test, 1, 3, length, 10);
    }
    mail_free(data);
    mail_meet(test);
}

/* The receiver gives up in the middle, the sender goes on later: nothing of it gets into the
 * next. */
static void receiver_gives_up(struct mail_test *test)
{
    size_t length = 2 << 20;
    char *data = mail_alloc(length);
    struct rh_request *send = NULL;
    for (int round = 0; round < 2; round++) {
        if (test->rank == 1) {
            pattern_fill(data, length, 1);
            CHECK_OK(rh_isend(test->msg, 0, 1, data, length, &send));
            mail_meet(test);
            mail_sleep_us(2500000); /* it is announced, and the receiver has a stream for it */
            mail_meet(test);
            CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
        } else {
            mail_meet(test);
            if (test->rank == 0)
                CHECK_CODE(rh_recv(test->msg, 1, 1, data, length, NULL), RH_ETIMEOUT);
            mail_meet(test);
        }
        if (test->rank == 0) {
            for (int i = 2; i < 9; i++) /* all streams, several times */
                mail_receive(test, test->size > 2 && i % 2 ? 2 : 1, i, length, (uint64_t)i);
        } else if (test->rank <= 2) {
            for (int i = 2; i < 9; i++) {
                if ((test->size > 2 && i % 2 ? 2 : 1) == test->rank)
                    mail_send(test, 0, i, length, (uint64_t)i);
            }
        }
        mail_meet(test);
    }
    mail_free(data);
}

/* More receives than streams, whose senders are slow: those that give up lose nothing. */
static void waiting_gives_up(struct mail_test *test)
{
    enum { COUNT = 6 };
    size_t length = 300000;
    char *data[COUNT];
    struct rh_request *requests[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = mail_alloc(length);
    if (test->rank == 1) {
        for (int i = 0; i < COUNT; i++) {
            pattern_fill(data[i], length, (uint64_t)i);
            CHECK_OK(rh_isend(test->msg, 0, i, data[i], length, &requests[i]));
        }
        mail_meet(test);
        mail_meet(test);
        CHECK_OK(rh_wait_all(requests, COUNT, LONG_NS));
    } else if (test->rank == 0) {
        mail_meet(test);
        for (int i = 0; i < COUNT - 1; i++)
            CHECK_OK(rh_irecv(test->msg, 1, i, data[i], length, &requests[i]));
        CHECK_CODE(rh_recv(test->msg, 1, COUNT - 1, data[COUNT - 1], length, NULL), RH_ETIMEOUT);
        mail_meet(test);
        mail_receive(test, 1, COUNT - 1, length, COUNT - 1); /* still there */
        CHECK_OK(rh_wait_all(requests, COUNT - 1, LONG_NS));
        for (int i = 0; i < COUNT - 1; i++)
            CHECK_MESSAGE(data[i], length, (uint64_t)i);
    } else {
        mail_meet(test);
        mail_meet(test);
    }
    for (int i = 0; i < COUNT; i++)
        mail_free(data[i]);
    mail_meet(test);
}

/* A message that is pulled is there at once: nobody gives up, or dies, in the middle of it. */
static void unless_pulled(struct mail_test *test, void (*run)(struct mail_test *test))
{
    if (!mail_pulls(test)) {
        run(test);
        return;
    }
    test->outside = "long messages are pulled here, at once";
    if (is_victim(test) && run == not_ours)
        die();
    if (run == not_ours)
        expect_no_more(test);
}

static void not_ours_streamed(struct mail_test *test)
{
    unless_pulled(test, not_ours);
}

static void receiver_streamed(struct mail_test *test)
{
    unless_pulled(test, receiver_gives_up);
}

static void waiting_streamed(struct mail_test *test)
{
    unless_pulled(test, waiting_gives_up);
}

const struct mail_case send_end_cases[] = {
    {.name = "dead-in-receive", .run = in_receive, .least_size = 2, .flags = CASE_ALONE},
    {.name = "dead-in-send", .run = in_send, .least_size = 2, .flags = CASE_ALONE},
    {.name = "dead-in-stream", .run = in_stream, .least_size = 2, .flags = CASE_ALONE},
    {.name = "dead-last-words", .run = last_words, .least_size = 2, .flags = CASE_ALONE},
    {.name = "dead-in-wait-any", .run = in_wait_any, .least_size = 3, .flags = CASE_ALONE},
    {.name = "dead-not-ours", .run = not_ours_streamed, .least_size = 3, .flags = CASE_ALONE},
    {.name = "dead-pending-sends", .run = pending_sends, .least_size = 2, .flags = CASE_ALONE},
    {.name = "left", .run = leaves, .least_size = 2, .flags = CASE_ALONE},
    {.name = "short-timeout-sender",
     .run = sender_gives_up,
     .least_size = 2,
     .flags = CASE_SHORT_TIMEOUT},
    {.name = "short-timeout-receiver",
     .run = receiver_streamed,
     .least_size = 2,
     .flags = CASE_SHORT_TIMEOUT},
    {.name = "short-timeout-waiting",
     .run = waiting_streamed,
     .least_size = 2,
     .flags = CASE_SHORT_TIMEOUT},
    {.name = NULL},
};
