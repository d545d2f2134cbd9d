/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests: test, wait, wait for any and for all, cancel, probe; several threads on one mailbox.
 */
#include "send_suite.h"

#include "moment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void test_and_wait(struct mail_test *test)
{
    struct rh_request *receive = NULL;
    struct rh_status status = {.tag = 77};
    uint64_t got = 0, sent = 42;
    CHECK_OK(rh_irecv(test->msg, test->previous, 1, &got, 8, &receive));
    CHECK_CODE(rh_test_request(receive, &status), RH_EAGAIN);
    CHECK_CODE(rh_wait_request(receive, &status, RH_TIMEOUT_NONE), RH_EAGAIN);
    CHECK_CODE(rh_wait_request(receive, &status, RH_MILLISECONDS(3)), RH_ETIMEOUT);
    CHECK_U64(status.tag, 77); /* untouched */
    CHECK_U64(got, 0);
    mail_meet(test);
    CHECK_OK(rh_send(test->msg, test->next, 1, &sent, 8));
    int result;
    while ((result = rh_test_request(receive, &status)) == RH_EAGAIN)
        continue;
    CHECK_OK(result);
    CHECK_U64(got, 42);
    CHECK_U64(status.tag, 1);
    CHECK_U64(status.length, 8);
}

/* Large messages both ways at once, in the order that would block if sends did. */
static void cross(struct mail_test *test)
{
    static const size_t sizes[] = {8, 8192, 40000, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct rh_request *send = NULL;
        char *data = mail_alloc(sizes[i]);
        pattern_fill(data, sizes[i], (uint64_t)test->rank);
        CHECK_OK(rh_isend(test->msg, test->next, 1, data, sizes[i], &send));
        mail_receive(test, test->previous, 1, sizes[i], (uint64_t)test->previous);
        CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
        mail_free(data);
    }
}

static void wait_any(struct mail_test *test)
{
    struct rh_request *receives[6] = {0};
    uint64_t got[6] = {0};
    size_t index = 99;
    struct rh_status status;
    CHECK_CODE(rh_wait_any(receives, 6, &index, &status, LONG_NS), RH_EINVALID);
    CHECK_CODE(rh_wait_any(receives, 0, &index, &status, LONG_NS), RH_EINVALID);
    for (int i = 0; i < 6; i += 2)
        CHECK_OK(rh_irecv(test->msg, test->previous, i, &got[i], 8, &receives[i]));
    CHECK_CODE(rh_wait_any(receives, 6, &index, &status, RH_TIMEOUT_NONE), RH_EAGAIN);
    CHECK_CODE(rh_wait_any(receives, 6, &index, &status, RH_MILLISECONDS(2)), RH_ETIMEOUT);
    CHECK_U64(index, 99);
    mail_meet(test);
    for (int i = 4; i >= 0; i -= 2) {
        uint64_t value = (uint64_t)i + 1;
        CHECK_OK(rh_send(test->msg, test->next, i, &value, 8));
        CHECK_OK(rh_wait_any(receives, 6, &index, &status, LONG_NS));
        CHECK_U64(index, i);
        CHECK_U64(status.tag, i);
        CHECK_U64(got[i], value);
        CHECK(receives[i] == NULL);
        mail_meet(test);
    }
    CHECK_CODE(rh_wait_any(receives, 6, &index, NULL, LONG_NS), RH_EINVALID);
}

/* The first error, after having waited for all. */
static void wait_all(struct mail_test *test)
{
    struct rh_request *requests[5] = {0};
    char got[4][16];
    memset(got, 0, sizeof(got));
    for (int i = 0; i < 4; i++) /* the second is too short */
        CHECK_OK(rh_irecv(test->msg, test->previous, i, got[i], i == 1 ? 4 : 16, &requests[i]));
    CHECK_CODE(rh_wait_all(requests, 5, RH_TIMEOUT_NONE), RH_EAGAIN);
    CHECK_CODE(rh_wait_all(requests, 5, RH_MILLISECONDS(2)), RH_ETIMEOUT);
    for (int i = 0; i < 4; i++)
        CHECK(requests[i] != NULL);
    mail_meet(test);
    for (int i = 3; i >= 0; i--)
        mail_send(test, test->next, i, 16, (uint64_t)i);
    CHECK_CODE(rh_wait_all(requests, 5, LONG_NS), RH_ETOOBIG);
    for (int i = 0; i < 4; i++) {
        CHECK(requests[i] == NULL);
        CHECK_MESSAGE(got[i], i == 1 ? 4 : 16, (uint64_t)i);
    }
    CHECK_OK(rh_wait_all(requests, 5, LONG_NS));
}

/* A receive taken back leaves the message to others. */
static void cancel_receive(struct mail_test *test)
{
    struct rh_request *first = NULL, *second = NULL;
    uint64_t got[2] = {0};
    CHECK_OK(rh_irecv(test->msg, RH_ANY_RANK, RH_ANY_TAG, &got[0], 8, &first));
    CHECK_OK(rh_irecv(test->msg, RH_ANY_RANK, 1, &got[1], 8, &second));
    CHECK_OK(rh_cancel(first));
    mail_meet(test);
    CHECK_OK(rh_send(test->msg, test->next, 1, &(uint64_t){5}, 8));
    CHECK_OK(rh_wait_request(second, NULL, LONG_NS));
    CHECK_U64(got[0], 0);
    CHECK_U64(got[1], 5);
    CHECK_OK(rh_irecv(test->msg, RH_ANY_RANK, 2, &got[0], 8, &first));
    mail_meet(test);
    CHECK_OK(rh_send(test->msg, test->next, 2, &(uint64_t){6}, 8));
    mail_meet(test);
    struct rh_status status;
    CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, 99, &status, RH_MILLISECONDS(1)), RH_ETIMEOUT);
    CHECK_CODE(rh_cancel(first), RH_EAGAIN); /* too late: still ours */
    CHECK_OK(rh_wait_request(first, &status, LONG_NS));
    CHECK_U64(got[0], 6);
}

/* Rank 1 fills rank 0's room; what then waits can be taken back, and never arrives. */
static void cancel_send(struct mail_test *test)
{
    const int count = 3000;
    if (test->rank == 1) {
        struct rh_request **sends = calloc((size_t)count, sizeof(*sends));
        char block[20000];
        int cancelled = 0;
        memset(block, 1, sizeof(block));
        for (int i = 0; i < count; i++)
            CHECK_OK(rh_isend(test->msg, 0, i, block, i % 2 ? 8192 : sizeof(block), &sends[i]));
        for (int i = count - 1; i >= 0; i--) {
            int result = rh_cancel(sends[i]);
            CHECK(result == 0 || result == RH_EAGAIN);
            if (result == 0) {
                CHECK_U64(i, count - 1 - cancelled); /* only what has not left, from the end */
                sends[i] = NULL;
                cancelled++;
            }
        }
        CHECK(cancelled > 1000);
        mail_meet(test);
        int kept = count - cancelled;
        CHECK_OK(rh_send(test->msg, 0, count, &kept, sizeof(kept)));
        CHECK_OK(rh_wait_all(sends, (size_t)count, LONG_NS));
        free(sends);
    } else if (test->rank == 0) {
        char *block = mail_alloc(20000);
        struct rh_status status = {0};
        mail_meet(test); /* until then nothing is taken in here */
        for (int i = 0; status.tag != count; i++) {
            CHECK_OK(rh_recv(test->msg, 1, RH_ANY_TAG, block, 20000, &status));
            CHECK(status.tag == i || status.tag == count);
            if (status.tag == count)
                CHECK_U64(*(int *)(void *)block, i);
        }
        mail_free(block);
    } else {
        mail_meet(test);
    }
}

static void probe(struct mail_test *test)
{
    static const size_t sizes[] = {0, 30, 3000, 9000, 100000};
    struct rh_status status = {.tag = 5};
    CHECK_CODE(rh_probe(test->msg, RH_ANY_RANK, RH_ANY_TAG, &status, RH_TIMEOUT_NONE), RH_EAGAIN);
    CHECK_CODE(rh_probe(test->msg, test->previous, 3, &status, RH_MILLISECONDS(2)), RH_ETIMEOUT);
    CHECK_U64(status.tag, 5);
    mail_meet(test);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct rh_request *send = NULL;
        char *data = mail_alloc(sizes[i]);
        pattern_fill(data, sizes[i], i);
        CHECK_OK(rh_isend(test->msg, test->next, 3, data, sizes[i], &send));
        for (int again = 0; again < 2; again++) {
            CHECK_OK(rh_probe(test->msg, again ? RH_ANY_RANK : test->previous,
                              again ? RH_ANY_TAG : 3, &status, LONG_NS));
            CHECK_U64(status.length, sizes[i]);
            CHECK_U64(status.source, test->previous);
            CHECK_U64(status.tag, 3);
        }
        CHECK_CODE(rh_probe(test->msg, test->previous, 4, NULL, RH_TIMEOUT_NONE), RH_EAGAIN);
        mail_receive(test, test->previous, 3, sizes[i], i);
        CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
        mail_free(data);
    }
}

/* ---- Several threads ------------------------------------------------------------------------ */

#define THREADS 4

struct worker {
    pthread_t thread;
    struct mail_test *test;
    int number;
    struct check check;
};

/* Ping-pong with the same thread of the neighbours, on a tag of its own. */
static void worker_body(void *argument)
{
    struct worker *worker = argument;
    struct mail_test *test = worker->test;
    int rounds = test->is_quick ? 60 : 200;
    struct prng prng = {.state = (uint64_t)worker->number};
    for (int i = 0; i < rounds; i++) {
        size_t length = (size_t)prng_below(&prng, i % 10 == 0 ? 150000 : i % 3 == 0 ? 9000 : 40);
        struct rh_request *send = NULL;
        char *data = mail_alloc(length);
        pattern_fill(data, length, (uint64_t)(test->rank * 1000 + i));
        CHECK_OK(rh_isend(test->msg, test->next, worker->number, data, length, &send));
        mail_receive(test, test->previous, worker->number, length,
                     (uint64_t)(test->previous * 1000 + i));
        CHECK_OK(rh_wait_request(send, NULL, LONG_NS));
        mail_free(data);
    }
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    check_run(&worker->check, worker_body, worker);
    return NULL;
}

static void threads(struct mail_test *test)
{
    if (moment_is_simulated()) {
        test->outside = "ranks are fibers and have no threads";
        return;
    }
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.test = test, .number = i};
        CHECK(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].check.outcome != CHECK_PASSED)
            FAIL("thread %d: %s", i, workers[i].check.text);
    }
}

/* One thread sleeps in a receive while another takes in its message: it must be woken. */
static void *sleeper_main(void *argument)
{
    struct worker *worker = argument;
    uint64_t got;
    for (int i = 0; i < 20; i++)
        rh_recv(worker->test->msg, RH_ANY_RANK, 1, &got, 8, NULL);
    return NULL;
}

static void sleeper(struct mail_test *test)
{
    if (moment_is_simulated()) {
        test->outside = "ranks are fibers and have no threads";
        return;
    }
    struct worker worker = {.test = test};
    CHECK(pthread_create(&worker.thread, NULL, sleeper_main, &worker) == 0);
    for (uint64_t i = 0; i < 20; i++) {
        mail_sleep_us(2000); /* asleep by now */
        CHECK_OK(rh_send(test->msg, test->next, 1, &i, 8));
        mail_sleep_us(500);
        rh_probe(test->msg, RH_ANY_RANK, 99, NULL, RH_TIMEOUT_NONE);
    }
    pthread_join(worker.thread, NULL);
}

const struct mail_case send_request_cases[] = {
    {.name = "request-test-wait", .run = test_and_wait},
    {.name = "request-cross", .run = cross},
    {.name = "request-wait-any", .run = wait_any},
    {.name = "request-wait-all", .run = wait_all},
    {.name = "request-cancel-receive", .run = cancel_receive},
    {.name = "request-cancel-send", .run = cancel_send, .least_size = 2},
    {.name = "request-probe", .run = probe},
    {.name = "request-threads", .run = threads},
    {.name = "request-sleeping-thread", .run = sleeper},
    {.name = NULL},
};
