/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last rank dies, or leaves. Each case needs a launch of its own (`rhinet run --survive`): the
 * survivors must get RH_EDEAD that names the rank, quickly, and must be able to go on.
 */
#include "access.h"

#include <string.h>

/* A wait that a death should end must end well before its own timeout. */
#define SOON_NS RH_MILLISECONDS(10000)

/* Let the victim die now, or leave if argument is 1. Returns on the survivors when it is known. */
static void lose_victim(struct test *test)
{
    int victim = test_victim(test);
    test_barrier(test);
    if (test->rank == victim && test->running->flags & CASE_LEAVES) {
        CHECK_OK(rh_leave(test->job));
        test->has_left = true;
    } else if (test->rank == victim) {
        test_die();
    } else {
        test_mark_gone(test, victim);
        test_await_end(test, victim);
    }
}

static bool is_lost(const struct test *test)
{
    return test->rank == test_victim(test);
}

/* The survivors still do everything with each other. */
static void check_survivors(struct test *test)
{
    if (test->size < 3)
        return;
    int peer = (test->rank + 1) % (test->size - 1);
    uint64_t *base = test_alloc(test, 50, 4096);
    struct rh_queue *queue = test_queue(test, 51, 4, 64);
    struct rh_arrival arrival;
    test_barrier(test);
    CHECK_ACCESSES(test, rh_at(peer, 50, 1024), RH_ALL, 0);
    CHECK_OK(rh_append(test->job, peer, 51, "still here", 10));
    CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
    CHECK(arrival.length == 10 && memcmp(arrival.data, "still here", 10) == 0);
    rh_queue_release(queue);
    test_signal(test, rh_at(peer, 50, 0), 1);
    test_await(test, base, 1, (test->rank + test->size - 2) % (test->size - 1));
    test_barrier(test);
}

/* Every kind of access to memory that was used before: refused, and the error names the rank. */
static void every_access(struct test *test)
{
    test_alloc(test, 1, 4096);
    test_barrier(test);
    struct rh_remote remote = rh_at(test_victim(test), 1, 64);
    CHECK_ACCESSES(test, remote, RH_ALL, 0);
    lose_victim(test);
    if (is_lost(test))
        return;
    CHECK_ACCESSES(test, remote, RH_ALL, RH_EDEAD);
    CHECK_CODE(rh_error_rank(), test_victim(test));
    CHECK(strstr(rh_error_text(), test->running->flags & CASE_LEAVES ? "left" : "died") != NULL);
    rh_deaths_acknowledge(test->job);
    check_survivors(test);
}

static void attached(struct test *test)
{
    unsigned char *memory = test_buffer(test, 4096);
    test_attach(test, 1, memory, 4096);
    test_barrier(test);
    struct rh_remote remote = rh_at(test_victim(test), 1, 64);
    CHECK_ACCESSES(test, remote, RH_ALL, 0);
    lose_victim(test);
    if (is_lost(test))
        return;
    CHECK_ACCESSES(test, remote, RH_ALL, RH_EDEAD);
    rh_deaths_acknowledge(test->job);
    check_survivors(test);
}

/* No contact before the death, so nothing is looked up yet. */
static void first_contact(struct test *test)
{
    test_alloc(test, 1, 4096);
    lose_victim(test);
    if (is_lost(test))
        return;
    uint64_t length;
    CHECK_ACCESSES(test, rh_at(test_victim(test), 1, 0), RH_ALL, RH_EDEAD);
    CHECK_CODE(rh_segment_length(test->job, test_victim(test), 1, &length), RH_EDEAD);
    CHECK_CODE(rh_segment_wait(test->job, test_victim(test), 99, TEST_WAIT_NS), RH_EDEAD);
    CHECK_CODE(rh_append(test->job, test_victim(test), 99, "x", 1), RH_EDEAD);
    CHECK(rh_remote_ptr(test->job, rh_at(test_victim(test), 1, 0), 8) == NULL);
    rh_deaths_acknowledge(test->job);
    check_survivors(test);
}

static void page(struct test *test)
{
    struct rh_page *handle = NULL;
    test_alloc(test, 1, 4096);
    test_barrier(test);
    CHECK_OK(rh_page_open(test->job, rh_at(test_victim(test), 1, 0), 4096, &handle));
    CHECK_OK(rh_store(handle, 0, 1, 8));
    CHECK_OK(rh_flush(test->job, test_victim(test)));
    if (is_lost(test))
        rh_page_close(handle);
    lose_victim(test);
    if (is_lost(test))
        return;
    CHECK_CODE(rh_store(handle, 0, 2, 8), RH_EDEAD);
    rh_page_close(handle);
    rh_deaths_acknowledge(test->job);
    check_survivors(test);
}

/* Asleep in a wait for the victim when it dies. */
static void wait_from(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, 64);
    int victim = test_victim(test);
    test_barrier(test);
    if (is_lost(test)) {
        test_sleep_us(300000);
        test_die();
    }
    test_mark_gone(test, victim);
    int64_t start_ns = test_now_ns();
    struct rh_wait wait = {
        .word = words, .when = RH_EQUAL, .value = 1, .from = victim, .timeout_ns = TEST_WAIT_NS};
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EDEAD);
    CHECK_CODE(rh_error_rank(), victim);
    CHECK(test_now_ns() - start_ns < SOON_NS);
    rh_deaths_acknowledge(test->job);
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EDEAD); /* acknowledging does not bring it back */
    wait.value = 0;
    CHECK_OK(rh_wait_word(test->job, &wait)); /* never if the condition holds */
    check_survivors(test);
}

/* A wait for anyone ends with every death until the program says that it knows. */
static void wait_any(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, 64);
    struct rh_queue *queue = test_queue(test, 2, 4, 8);
    struct rh_arrival arrival;
    int victim = test_victim(test);
    test_barrier(test);
    if (is_lost(test)) {
        test_sleep_us(300000);
        test_die();
    }
    test_mark_gone(test, victim);
    struct rh_wait wait = {.word = words,
                           .when = RH_EQUAL,
                           .value = 1,
                           .from = RH_ANY_RANK,
                           .timeout_ns = TEST_WAIT_NS};
    int64_t start_ns = test_now_ns();
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EDEAD);
    CHECK_CODE(rh_error_rank(), victim);
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_EDEAD);
    CHECK_CODE(rh_queue_next(queue, &arrival, TEST_WAIT_NS), RH_EDEAD);
    CHECK(test_now_ns() - start_ns < SOON_NS);
    CHECK_CODE(rh_deaths_acknowledge(test->job), 1);
    wait.timeout_ns = RH_MILLISECONDS(20);
    CHECK_CODE(rh_wait_word(test->job, &wait), RH_ETIMEOUT);
    CHECK_CODE(rh_queue_next(queue, &arrival, RH_MILLISECONDS(20)), RH_ETIMEOUT);
    CHECK_CODE(rh_deaths_acknowledge(test->job), 1);
    check_survivors(test);
}

/* What the victim wrote before it died counts: data first, then the bad news. */
static void last_words(struct test *test)
{
    uint64_t *words = test_alloc(test, 1, 64);
    struct rh_queue *queue = test_queue(test, 2, 4, 8);
    struct rh_arrival arrival;
    int victim = test_victim(test);
    test_barrier(test);
    if (is_lost(test)) {
        for (int rank = 0; rank < victim; rank++) {
            CHECK_OK(rh_append(test->job, rank, 2, "farewell", 8));
            test_signal(test, rh_at(rank, 1, 0), 1);
        }
        test_die();
    }
    test_mark_gone(test, victim);
    test_await_end(test, victim);
    struct rh_wait wait = {
        .word = words, .when = RH_EQUAL, .value = 1, .from = victim, .timeout_ns = TEST_WAIT_NS};
    CHECK_OK(rh_wait_word(test->job, &wait));
    CHECK_OK(rh_queue_next(queue, &arrival, TEST_WAIT_NS));
    CHECK_U64(arrival.source, victim);
    CHECK(arrival.length == 8 && memcmp(arrival.data, "farewell", 8) == 0);
    rh_queue_release(queue);
    CHECK_CODE(rh_queue_next(queue, &arrival, TEST_WAIT_NS), RH_EDEAD);
    rh_deaths_acknowledge(test->job);
    check_survivors(test);
}

/* Killed in the middle of large transfers in both directions. */
static void during_transfers(struct test *test)
{
    size_t length = 4 << 20;
    unsigned char *base = test_alloc(test, 1, length), *memory = test_buffer(test, length);
    unsigned char *local = test_buffer(test, length);
    int victim = test_victim(test);
    test_attach(test, 2, memory, length);
    test_barrier(test);
    if (is_lost(test)) {
        test_die_soon(30000 + (unsigned)(test_now_ns() / 1000 % 20000));
        for (;;) {
            rh_push(test->job, rh_at(0, 1, 0), local, length);
            rh_push(test->job, rh_at(0, 2, 0), local, length);
            rh_pull(test->job, rh_at(0, 2, 0), local, length);
        }
    }
    test_mark_gone(test, victim);
    int result = 0;
    int64_t limit_ns = test_now_ns() + SOON_NS;
    while (result == 0 && test_now_ns() < limit_ns) {
        result = rh_push(test->job, rh_at(victim, 2, 0), local, length);
        if (result == 0)
            result = rh_pull(test->job, rh_at(victim, 1, 0), local, length);
    }
    CHECK_CODE(result, RH_EDEAD);
    rh_deaths_acknowledge(test->job);
    CHECK_FILLED(base, length, 0);
    test_detach(test, 2); /* must not wait for a transfer of the dead */
    check_survivors(test);
}

static void flush_dead(struct test *test)
{
    test_alloc(test, 1, 64);
    test_barrier(test);
    CHECK_OK(rh_push_inline(test->job, rh_at(test_victim(test), 1, 0), "x", 1));
    lose_victim(test);
    if (is_lost(test))
        return;
    int result = rh_flush(test->job, test_victim(test));
    if (result != 0 && result != RH_EDEAD)
        FAIL("flush of a dead rank: expected success or RH_EDEAD, got %s", rh_error_name(result));
    result = rh_wake(test->job, test_victim(test));
    CHECK(result == 0 || result == RH_EDEAD);
    rh_deaths_acknowledge(test->job);
    CHECK_OK(rh_flush(test->job, 0));
    check_survivors(test);
}

/* Multicast to all: the living get it. */
static void multicast(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 64);
    int ranks[MEETING_RANKS_MAX];
    lose_victim(test);
    if (is_lost(test))
        return;
    for (int i = 0; i < test->size; i++)
        ranks[i] = test->size - 1 - i;
    if (test->rank == 0) {
        struct rh_multicast targets = {
            .ranks = ranks, .rank_count = (size_t)test->size, .sid = 1, .offset = 0};
        CHECK_CODE(rh_push_multicast(test->job, &targets, "the living", 10), RH_EDEAD);
        CHECK_CODE(rh_error_rank(), test_victim(test));
    }
    test_barrier(test);
    CHECK(memcmp(base, "the living", 10) == 0);
    rh_deaths_acknowledge(test->job);
    check_survivors(test);
}

const struct test_case death_cases[] = {
    {.name = "dead-every-access", .run = every_access, .flags = CASE_DIES},
    {.name = "dead-attached", .run = attached, .flags = CASE_DIES},
    {.name = "dead-first-contact", .run = first_contact, .flags = CASE_DIES},
    {.name = "dead-page", .run = page, .flags = CASE_DIES},
    {.name = "dead-wait-from", .run = wait_from, .flags = CASE_DIES},
    {.name = "dead-wait-any", .run = wait_any, .flags = CASE_DIES},
    {.name = "dead-last-words", .run = last_words, .flags = CASE_DIES},
    {.name = "dead-during-transfers", .run = during_transfers, .flags = CASE_DIES},
    {.name = "dead-flush", .run = flush_dead, .flags = CASE_DIES},
    {.name = "dead-multicast", .run = multicast, .flags = CASE_DIES},
    {.name = "left-every-access", .run = every_access, .flags = CASE_LEAVES},
    {.name = "left-first-contact", .run = first_contact, .flags = CASE_LEAVES},
    {.name = "left-page", .run = page, .flags = CASE_LEAVES},
    {.name = NULL},
};
