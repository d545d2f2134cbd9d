/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Order and completion: notices come after their data, flushes and done flags mean what they say.
 */
#include "conformance.h"

#include <string.h>

#define WORDS_SID 9

/* Rank 0 pushes `length` bytes to rank 1 with a notice, `rounds` times; each round's data is its
 * own and is checked in full before the next may come. */
static void notify_rounds(struct test *test, size_t length, uint64_t rounds, bool is_attached)
{
    uint64_t *words = test_alloc(test, WORDS_SID, 16);
    unsigned char *base = NULL;
    if (test->rank == 1 && is_attached) {
        base = test_buffer(test, length);
        test_attach(test, 1, base, length);
    } else if (test->rank == 1) {
        base = test_alloc(test, 1, length);
    }
    unsigned char *local = test->rank == 0 ? test_buffer(test, length) : NULL;
    test_barrier(test);
    for (uint64_t round = 1; round <= rounds && test->rank < 2; round++) {
        if (test->rank == 0) {
            struct rh_notice notice = {.word = rh_at(1, WORDS_SID, 0), .value = round};
            pattern_fill(local, length, round);
            CHECK_OK(rh_push_notify(test->job, rh_at(1, 1, 0), local, length, &notice));
            test_await(test, &words[1], round, 1);
        } else {
            test_await(test, &words[0], round, 0);
            CHECK_PATTERN(base, length, round);
            test_signal(test, rh_at(0, WORDS_SID, 8), round);
        }
    }
}

static void notify_small(struct test *test)
{
    notify_rounds(test, 64, 5000, false);
}

static void notify_odd(struct test *test)
{
    notify_rounds(test, 4097, 2000, false);
}

static void notify_large(struct test *test)
{
    notify_rounds(test, 1 << 20, 60, false);
}

static void notify_attached(struct test *test)
{
    notify_rounds(test, 20001, 1000, true);
}

static void notify_large_attached(struct test *test)
{
    notify_rounds(test, 1 << 20, 60, true);
}

/* The last word of each block says which round it is; all before it is there then. */
static void push_ordered(struct test *test)
{
    static const size_t lengths[] = {8, 16, 64, 1000, 4096, 20000};
    const size_t most = 20000, count = sizeof(lengths) / sizeof(lengths[0]);
    unsigned char *base = test_alloc(test, 1, most);
    unsigned char *local = test_buffer(test, most);
    uint64_t *words = test_alloc(test, WORDS_SID, 8);
    test_barrier(test);
    for (uint64_t round = 1; round <= 600 && test->rank < 2; round++) {
        size_t data = lengths[round % count] - 8,
               from = most - 8 - data; /* ends at the same place */
        if (test->rank == 0) {
            pattern_fill(local, data, round);
            memcpy(local + data, &round, 8);
            CHECK_OK(rh_push_ordered(test->job, rh_at(1, 1, from), local, data + 8));
            test_await(test, &words[0], round, 1);
        } else {
            test_await(test, (const uint64_t *)(base + most - 8), round, 0);
            CHECK_PATTERN(base + from, data, round);
            test_signal(test, rh_at(0, WORDS_SID, 0), round);
        }
    }
    struct rh_remote target = rh_at(test_next(test), 1, 0);
    test_barrier(test);
    CHECK_CODE(rh_push_ordered(test->job, target, local, 7), RH_EINVALID);
    CHECK_CODE(rh_push_ordered(test->job, target, local, 0), RH_EINVALID);
    CHECK_CODE(rh_push_ordered(test->job, target, local, 12), RH_EINVALID);
    target.offset = 4;
    CHECK_CODE(rh_push_ordered(test->job, target, local, 16), RH_EINVALID);
    CHECK_OK(rh_push_ordered(test->job, target, local, 12)); /* only the end is aligned */
    target.offset = most - 8;
    CHECK_CODE(rh_push_ordered(test->job, target, local, 16), RH_EBOUNDS);
    test_barrier(test);
}

/* The word may lie right behind the data, and without data it is still written. */
static void notify_same_segment(struct test *test)
{
    uint64_t *base = test_alloc(test, 1, 16);
    test_barrier(test);
    uint64_t data = 100 + (uint64_t)test->rank;
    struct rh_notice notice = {.word = rh_at(test_next(test), 1, 8), .value = 1};
    CHECK_OK(rh_push_notify(test->job, rh_at(test_next(test), 1, 0), &data, 8, &notice));
    test_await(test, &base[1], 1, test_previous(test));
    CHECK_U64(base[0], 100 + (uint64_t)test_previous(test));
    test_barrier(test);
    notice.value = 2;
    CHECK_OK(rh_push_notify(test->job, rh_at(test_next(test), 1, 0), NULL, 0, &notice));
    test_await(test, &base[1], 2, test_previous(test));
    CHECK_U64(base[0], 100 + (uint64_t)test_previous(test));
}

/* Begin a push, first waiting for an earlier one if the NIC has too many under way. */
static void start_push(struct test *test, struct rh_remote target, const void *source,
                       size_t length, struct rh_done *done)
{
    int result = rh_push_start(test->job, target, source, length, done);
    if (result == RH_EAGAIN) {
        CHECK_OK(rh_flush(test->job, target.rank));
        result = rh_push_start(test->job, target, source, length, done);
    }
    CHECK_OK(result);
}

#define PIECES       100
#define PIECE_LENGTH 3000

/* Everything before a flush is complete after it, and its done flags say so. */
static void flush_completes(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, PIECES * PIECE_LENGTH);
    unsigned char *local = test_buffer(test, PIECES * PIECE_LENGTH);
    struct rh_done done[PIECES];
    test_barrier(test);
    pattern_fill(local, PIECES * PIECE_LENGTH, 7);
    for (size_t i = 0; i < PIECES; i++)
        start_push(test, rh_at(test_next(test), 1, i * PIECE_LENGTH), local + i * PIECE_LENGTH,
                   PIECE_LENGTH, &done[i]);
    CHECK_OK(rh_flush(test->job, test->running->argument ? RH_ANY_RANK : test_next(test)));
    for (size_t i = 0; i < PIECES; i++)
        CHECK_OK(rh_test_done(test->job, &done[i]));
    memset(local, 0, PIECES * PIECE_LENGTH); /* the source is ours again */
    test_barrier(test);
    CHECK_PATTERN(base, PIECES * PIECE_LENGTH, 7);
}

/* Done flags, waited for in the wrong order. */
static void done_flags(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, PIECES * PIECE_LENGTH);
    unsigned char *local = test_buffer(test, PIECES * PIECE_LENGTH);
    struct rh_done done[PIECES];
    test_barrier(test);
    pattern_fill(local, PIECES * PIECE_LENGTH, 8);
    for (size_t i = 0; i < PIECES; i++)
        start_push(test, rh_at(test_next(test), 1, i * PIECE_LENGTH), local + i * PIECE_LENGTH,
                   PIECE_LENGTH, &done[i]);
    for (size_t i = PIECES; i-- > 0;) {
        CHECK_OK(rh_wait_done(test->job, &done[i], TEST_WAIT_NS));
        CHECK_U64(done[i].state, 1);
        CHECK_OK(rh_wait_done(test->job, &done[i], RH_TIMEOUT_NONE)); /* and again */
    }
    test_barrier(test);
    CHECK_PATTERN(base, PIECES * PIECE_LENGTH, 8);
}

static void pull_start(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, PIECES * PIECE_LENGTH);
    unsigned char *local = test_buffer(test, PIECES * PIECE_LENGTH);
    struct rh_done done[PIECES];
    pattern_fill(base, PIECES * PIECE_LENGTH, 9);
    test_barrier(test);
    for (size_t i = 0; i < PIECES; i++) {
        struct rh_remote source = rh_at(test_next(test), 1, i * PIECE_LENGTH);
        int result = rh_pull_start(test->job, source, local + i * PIECE_LENGTH, PIECE_LENGTH,
                                   &done[i]);
        if (result == RH_EAGAIN) {
            CHECK_OK(rh_flush(test->job, source.rank));
            result = rh_pull_start(test->job, source, local + i * PIECE_LENGTH, PIECE_LENGTH,
                                   &done[i]);
        }
        CHECK_OK(result);
    }
    for (size_t i = 0; i < PIECES; i++)
        CHECK_OK(rh_wait_done(test->job, &done[i], TEST_WAIT_NS));
    CHECK_PATTERN(local, PIECES * PIECE_LENGTH, 9);
}

/* test_done() alone, without any other call, must get there in the end. */
static void done_by_testing(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 1 << 20), *local = test_buffer(test, 1 << 20);
    struct rh_done done;
    test_barrier(test);
    pattern_fill(local, 1 << 20, 10);
    start_push(test, rh_at(test_next(test), 1, 0), local, 1 << 20, &done);
    int64_t limit_ns = test_now_ns() + TEST_WAIT_NS;
    int result;
    while ((result = rh_test_done(test->job, &done)) == RH_EAGAIN)
        CHECK(test_now_ns() < limit_ns);
    CHECK_OK(result);
    test_barrier(test);
    CHECK_PATTERN(base, 1 << 20, 10);
}

/* Inline: the source may be overwritten at once. */
static void inline_flush(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 512 * 512);
    unsigned char local[RH_INLINE_MAX];
    test_barrier(test);
    for (size_t length = 0; length <= RH_INLINE_MAX; length++) {
        pattern_fill(local, length, length);
        CHECK_OK(rh_push_inline(test->job, rh_at(test_next(test), 1, length * 512), local, length));
        memset(local, 0, sizeof(local));
    }
    CHECK_OK(rh_flush(test->job, test_next(test)));
    test_barrier(test);
    for (size_t length = 0; length <= RH_INLINE_MAX; length++) {
        CHECK_PATTERN(base + length * 512, length, length);
        CHECK_FILLED(base + length * 512 + length, 512 - length, 0);
    }
}

static void inline_attached(struct test *test)
{
    unsigned char *base = test_buffer(test, RH_INLINE_MAX), local[RH_INLINE_MAX];
    test_attach(test, 1, base, RH_INLINE_MAX);
    test_barrier(test);
    pattern_fill(local, RH_INLINE_MAX, 11);
    CHECK_OK(rh_push_inline(test->job, rh_at(test_next(test), 1, 0), local, RH_INLINE_MAX));
    memset(local, 0, sizeof(local));
    CHECK_OK(rh_flush(test->job, RH_ANY_RANK));
    test_barrier(test);
    CHECK_PATTERN(base, RH_INLINE_MAX, 11);
}

static void inline_too_long(struct test *test)
{
    unsigned char *base = test_alloc(test, 1, 1024);
    unsigned char local[1024] = {1};
    test_barrier(test);
    CHECK_CODE(rh_push_inline(test->job, rh_at(test_next(test), 1, 0), local, RH_INLINE_MAX + 1),
               RH_ETOOBIG);
    CHECK_CODE(rh_push_inline(test->job, rh_at(test_next(test), 1, 0), local, SIZE_MAX),
               RH_ETOOBIG);
    CHECK_OK(rh_flush(test->job, test_next(test)));
    test_barrier(test);
    CHECK_FILLED(base, 1024, 0);
}

/* A call that has returned is not overtaken: many blocking writes to one word, then a look. */
static void returned_is_visible(struct test *test)
{
    test_alloc(test, 1, 64);
    test_barrier(test);
    for (uint64_t i = 1; i <= 2000; i++) {
        uint64_t seen = 0, offset = 8 * (uint64_t)test->rank;
        CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, offset), &i, 8));
        CHECK_OK(rh_pull(test->job, rh_at(test_next(test), 1, offset), &seen, 8));
        CHECK_U64(seen, i);
    }
}

/* Inline push and flush before a signal through a third rank: what was flushed is there. */
static void flush_then_third(struct test *test)
{
    uint64_t *words = test_alloc(test, WORDS_SID, 128);
    test_barrier(test);
    int messenger = test->size -
                    1; /* rank 0 writes rank 1, tells the messenger, who tells rank 1 */
    for (uint64_t round = 1; round <= 500; round++) {
        if (test->rank == 0) {
            CHECK_OK(rh_push_inline(test->job, rh_at(1, WORDS_SID, 64), &round, 8));
            CHECK_OK(rh_flush(test->job, 1));
            test_signal(test, rh_at(messenger, WORDS_SID, 0), round);
            test_await(test, &words[2], round, 1);
        }
        if (test->rank == messenger) {
            test_await(test, &words[0], round, 0);
            test_signal(test, rh_at(1, WORDS_SID, 8), round);
        }
        if (test->rank == 1) {
            test_await(test, &words[1], round, messenger);
            CHECK_U64(words[8], round);
            test_signal(test, rh_at(0, WORDS_SID, 16), round);
        }
    }
}

const struct test_case order_cases[] = {
    {.name = "order-notify-small", .run = notify_small},
    {.name = "order-notify-odd", .run = notify_odd},
    {.name = "order-notify-large", .run = notify_large},
    {.name = "order-notify-attached", .run = notify_attached},
    {.name = "order-notify-large-attached", .run = notify_large_attached},
    {.name = "order-notify-same-segment", .run = notify_same_segment},
    {.name = "order-push-ordered", .run = push_ordered},
    {.name = "order-flush", .run = flush_completes},
    {.name = "order-flush-any", .run = flush_completes, .argument = 1},
    {.name = "order-flush-then-third", .run = flush_then_third},
    {.name = "order-done-flags", .run = done_flags},
    {.name = "order-done-by-testing", .run = done_by_testing},
    {.name = "order-pull-start", .run = pull_start},
    {.name = "order-inline-flush", .run = inline_flush},
    {.name = "order-inline-attached", .run = inline_attached},
    {.name = "order-inline-too-long", .run = inline_too_long},
    {.name = "order-returned-is-visible", .run = returned_is_visible},
    {.name = NULL},
};
