/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting: conditions and deadlines. Sleepers that are woken are in cases_wake.c.
 */
#include "conformance.h"

#include "moment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int wait_for(struct test *test, const uint64_t *word, enum rh_when when, uint64_t value,
                    int64_t timeout_ns)
{
    struct rh_wait wait = {.word = word,
                           .when = when,
                           .value = value,
                           .from = test_previous(test),
                           .timeout_ns = timeout_ns};
    return rh_wait_word(test->job, &wait);
}

/* The condition holds already: every kind returns at once, with any timeout. */
static void holds_already(struct test *test)
{
    uint64_t *word = test_alloc(test, 1, 8);
    static const int64_t timeouts[] = {0, 1, RH_MILLISECONDS(100), RH_TIMEOUT_DEFAULT,
                                       RH_TIMEOUT_LONGEST};
    *word = 10;
    for (size_t i = 0; i < COUNT_OF(timeouts); i++) {
        CHECK_OK(wait_for(test, word, RH_EQUAL, 10, timeouts[i]));
        CHECK_OK(wait_for(test, word, RH_NOT_EQUAL, 11, timeouts[i]));
        CHECK_OK(wait_for(test, word, RH_AT_LEAST, 10, timeouts[i]));
        CHECK_OK(wait_for(test, word, RH_AT_LEAST, 0, timeouts[i]));
    }
    *word = UINT64_MAX; /* unsigned: this is more than 5 */
    CHECK_OK(wait_for(test, word, RH_AT_LEAST, 5, 0));
}

static void times_out(struct test *test)
{
    uint64_t *word = test_alloc(test, 1, 8);
    static const enum rh_when whens[] = {RH_EQUAL, RH_NOT_EQUAL, RH_AT_LEAST};
    static const uint64_t values[] = {8, 7, 8};
    *word = 7;
    for (size_t i = 0; i < COUNT_OF(whens); i++) {
        int64_t start_ns = test_now_ns();
        CHECK_CODE(wait_for(test, word, whens[i], values[i], RH_MILLISECONDS(30)), RH_ETIMEOUT);
        int64_t taken_ns = test_now_ns() - start_ns;
        CHECK(taken_ns >= RH_MILLISECONDS(30));
        CHECK(taken_ns < HANG_NS);
    }
}

/* What was waited for, and who should have done it; and that nobody could. */
static void late_text(struct test *test)
{
    uint64_t *word = test_alloc(test, 1, 8), outside = 7;
    struct rh_queue *queue = test_queue(test, 2, 4, 8);
    struct rh_arrival arrival;
    *word = 7;
    CHECK_CODE(wait_for(test, word, RH_AT_LEAST, 8, RH_MILLISECONDS(20)), RH_ETIMEOUT);
    CHECK(strstr(rh_error_text(), "word is 7 and should be at least 8"));
    CHECK(!strstr(rh_error_text(), "in no segment"));
    CHECK_CODE(rh_error_rank(), test_previous(test));
    CHECK_CODE(wait_for(test, &outside, RH_EQUAL, 8, RH_MILLISECONDS(20)), RH_ETIMEOUT);
    if (!strstr(rh_nic_name(test->job), "martini"))
        CHECK(strstr(rh_error_text(), "in no segment"));
    CHECK_CODE(rh_queue_next(queue, &arrival, RH_MILLISECONDS(20)), RH_ETIMEOUT);
    CHECK(strstr(rh_error_text(), "rh_queue_next"));
    CHECK_CODE(rh_segment_wait(test->job, test_next(test), 999, RH_MILLISECONDS(20)), RH_ETIMEOUT);
    CHECK(strstr(rh_error_text(), "segment 999"));
}

static void looks_once(struct test *test)
{
    uint64_t *word = test_alloc(test, 1, 8);
    int64_t start_ns = test_now_ns();
    for (int i = 0; i < 100; i++)
        CHECK_CODE(wait_for(test, word, RH_EQUAL, 1, RH_TIMEOUT_NONE), RH_EAGAIN);
    CHECK(test_now_ns() - start_ns < HANG_NS);
}

static void invalid(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, 64);
    struct rh_wait wait = {.word = NULL, .when = RH_EQUAL, .value = 0, .from = RH_ANY_RANK};
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EINVALID);
    wait.word = (uint64_t *)(void *)((char *)words + 4);
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EINVALID);
    wait.word = words;
    wait.from = test->size;
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EINVALID);
    wait.from = -7;
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EINVALID);
    wait.from = RH_ANY_RANK;
    wait.when = (enum rh_when)9;
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EINVALID);
    wait.when = RH_EQUAL;
    CHECK_OK(rh_wait_word(test->job, &wait));
}

/* The writer comes much later than any spin lasts, by each way of writing. */
static void wakes_sleeper(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, 64);
    test_barrier(test);
    int peer = test_next(test);
    for (uint64_t round = 1; round <= 3; round++) {
        struct rh_remote word = rh_at(peer, 1, 0);
        struct rh_done done;
        if (test->rank == 0) /* the others sleep already; rank 0 starts the ring */
            test_sleep_us(150000);
        else
            CHECK_OK(wait_for(test, words, RH_EQUAL, round, TEST_WAIT_NS));
        if (round == 1)
            CHECK_OK(rh_push(test->job, word, &round, 8));
        if (round == 2) {
            CHECK_OK(rh_push_start(test->job, word, &round, 8, &done));
            CHECK_OK(rh_wait_done(test->job, &done, TEST_WAIT_NS));
        }
        if (round == 3) {
            CHECK_OK(rh_push_inline(test->job, word, &round, 8));
            CHECK_OK(rh_flush(test->job, peer));
        }
        if (test->rank == 0)
            CHECK_OK(wait_for(test, words, RH_NOT_EQUAL, round - 1, TEST_WAIT_NS));
        test_barrier(test);
    }
}

/* Words in memory that the program brought. */
static void attached_word(struct test *test)
{
    uint64_t *words = test_buffer(test, 64);
    test_attach(test, 1, words, 64);
    test_barrier(test);
    if (test->rank == 0)
        test_sleep_us(100000);
    else
        test_await(test, words, 1, test_previous(test));
    test_signal(test, rh_at(test_next(test), 1, 0), 1);
    test_await(test, words, 1, test_previous(test));
}

/* A token round the ring of all ranks: more ranks than cores must still be quick. */
static void ring(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, 64);
    test_barrier(test);
    for (uint64_t round = 1; round <= 500; round++) {
        if (test->rank != 0)
            test_await(test, words, round, test_previous(test));
        test_signal(test, rh_at(test_next(test), 1, 0), round);
        if (test->rank == 0)
            test_await(test, words, round, test_previous(test));
    }
}

static int64_t own_work_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Who waits long leaves the core to others, also where it looks for itself in between, and each
 * single wait is short: they may be what it waits for. */
static void long_waits_leave_the_core(struct test *test)
{
    uint64_t *word = test_alloc(test, 1, 8);
    if (strcmp(rh_nic_name(test->job), "martini") == 0)
        return; /* its time is not that of the cores */
    for (int way = 0; way < 2; way++) {
        int64_t start_ns = test_now_ns(), work_ns = own_work_ns();
        if (way == 0)
            CHECK_CODE(rh_segment_wait(test->job, test_next(test), 77, RH_MILLISECONDS(300)),
                       RH_ETIMEOUT);
        while (way == 1 && test_now_ns() - start_ns < RH_MILLISECONDS(300))
            CHECK_CODE(wait_for(test, word, RH_EQUAL, 8, 200000), RH_ETIMEOUT);
        CHECK((own_work_ns() - work_ns) * 2 < test_now_ns() - start_ns);
    }
    test_barrier(test);
}

struct waiter {
    struct test *test;
    const uint64_t *word;
    int result;
};

static void *waiter_main(void *argument)
{
    struct waiter *self = argument;
    self->result = wait_for(self->test, self->word, RH_EQUAL, 3, TEST_WAIT_NS);
    return NULL;
}

#define WAITERS 4

/* Several threads of one rank sleep on words of their own. */
static void several_threads(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, WAITERS * 64);
    pthread_t threads[WAITERS];
    struct waiter waiters[WAITERS];
    test_barrier(test);
    for (size_t i = 0; i < WAITERS; i++) {
        waiters[i] = (struct waiter){.test = test, .word = words + i * 8, .result = 1};
        CHECK(pthread_create(&threads[i], NULL, waiter_main, &waiters[i]) == 0);
    }
    test_sleep_us(50000);
    int first_bad = 0;
    for (size_t i = WAITERS; i-- > 0;) {
        uint64_t value = 3;
        int result = rh_push(test->job, rh_at(test_next(test), 1, i * 64), &value, 8);
        first_bad = first_bad ? first_bad : result;
        test_sleep_us(5000);
    }
    for (size_t i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_OK(first_bad);
    for (size_t i = 0; i < WAITERS; i++)
        CHECK_CODE(waiters[i].result, 0);
}

struct worker {
    struct test *test;
    uint64_t index;
    int result;
};

static void *worker_main(void *argument)
{
    struct worker *self = argument;
    struct test *test = self->test;
    unsigned char local[512], seen[512];
    uint64_t offset = 1024 + ((uint64_t)test->rank * WAITERS + self->index) * 512;
    for (uint64_t i = 0; i < 300 && self->result == 0; i++) {
        pattern_fill(local, 512, i + offset);
        self->result = rh_push(test->job, rh_at(0, 1, offset), local, 512);
        if (self->result == 0)
            self->result = rh_pull(test->job, rh_at(0, 1, offset), seen, 512);
        if (self->result == 0 && memcmp(local, seen, 512) != 0)
            self->result = -1;
        if (self->result == 0)
            self->result = rh_fetch_add(test->job, rh_at(0, 1, 0), 1, NULL);
    }
    return NULL;
}

/* All threads of all ranks work at once. */
static void threads_at_work(struct test *test)
{
    uint64_t *base = test_alloc(test, 1, 1024 + MEETING_RANKS_MAX * WAITERS * 512);
    pthread_t threads[WAITERS];
    struct worker workers[WAITERS];
    test_barrier(test);
    for (size_t i = 0; i < WAITERS; i++) {
        workers[i] = (struct worker){.test = test, .index = i};
        CHECK(pthread_create(&threads[i], NULL, worker_main, &workers[i]) == 0);
    }
    for (size_t i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < WAITERS; i++)
        CHECK_CODE(workers[i].result, 0);
    test_barrier(test);
    if (test->rank == 0)
        CHECK_U64(base[0], 300ull * WAITERS * (uint64_t)test->size);
}

const struct test_case wait_cases[] = {
    {.name = "wait-holds-already", .run = holds_already},
    {.name = "wait-times-out", .run = times_out},
    {.name = "wait-late-text", .run = late_text},
    {.name = "wait-looks-once", .run = looks_once},
    {.name = "wait-invalid", .run = invalid},
    {.name = "wait-wakes-sleeper", .run = wakes_sleeper},
    {.name = "wait-attached-word", .run = attached_word},
    {.name = "wait-ring", .run = ring},
    {.name = "wait-leaves-the-core", .run = long_waits_leave_the_core},
    {.name = "wait-several-threads", .run = several_threads, .flags = CASE_THREADS},
    {.name = "wait-threads-at-work", .run = threads_at_work, .flags = CASE_THREADS},
    {.name = NULL},
};
