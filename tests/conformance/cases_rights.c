/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registration and rights: who may do what, and that a refusal changes nothing but one counter.
 */
#include "access.h"

#include <string.h>

#define LENGTH 256

/* A segment of canaries in SID 1, kept only with these rights; attached if argument is 1. */
static unsigned char *canaries(struct test *test, unsigned rights)
{
    struct rh_segment segment = {
        .struct_size = sizeof(segment), .sid = 1, .length = LENGTH, .rights = rights};
    if (test->running->argument == 1)
        segment.base = test_buffer(test, LENGTH);
    test_segment(test, &segment);
    memset(segment.base, CANARY, LENGTH);
    test_barrier(test);
    return segment.base;
}

static void read_only(struct test *test)
{
    unsigned char *base = canaries(test, RH_READ);
    struct rh_remote remote = rh_at(test_next(test), 1, 8);
    CHECK_ACCESSES(test, remote, RH_READ, 0); /* what is known from here on must not help others */
    CHECK_ACCESSES(test, remote, RH_WRITE | RH_ATOMIC, RH_ERIGHTS);
    CHECK_ACCESSES(test, remote, RH_READ, 0);
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
    base[0] = 1; /* the owner itself is not restricted */
}

static void write_only(struct test *test)
{
    canaries(test, RH_WRITE);
    struct rh_remote remote = rh_at(test_next(test), 1, 8);
    unsigned char target[16];
    memset(target, CANARY, sizeof(target));
    CHECK_ACCESSES(test, remote, RH_WRITE, 0);
    CHECK_CODE(rh_pull(test->job, remote, target, 16), RH_ERIGHTS);
    CHECK_FILLED(target, 16, CANARY);
    CHECK_ACCESSES(test, remote, RH_READ | RH_ATOMIC, RH_ERIGHTS);
    CHECK_ACCESSES(test, remote, RH_WRITE, 0);
}

static void no_atomic(struct test *test)
{
    unsigned char *base = canaries(test, RH_READ | RH_WRITE);
    struct rh_remote remote = rh_at(test_next(test), 1, 8);
    uint64_t old = 77;
    CHECK_ACCESSES(test, remote, RH_READ, 0);
    CHECK_CODE(rh_swap(test->job, remote, 1, &old), RH_ERIGHTS);
    CHECK_U64(old, 77);
    CHECK_ACCESSES(test, remote, RH_ATOMIC, RH_ERIGHTS);
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
    test_barrier(test);
    CHECK_ACCESSES(test, remote, RH_READ | RH_WRITE, 0);
}

static void atomic_only(struct test *test)
{
    unsigned char *base = canaries(test, RH_ATOMIC);
    struct rh_remote remote = rh_at(test_next(test), 1, 8);
    CHECK_ACCESSES(test, remote, RH_READ | RH_WRITE, RH_ERIGHTS);
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
    test_barrier(test);
    CHECK_ACCESSES(test, remote, RH_ATOMIC, 0);
}

/* The notice's word is checked before the data is written: all or nothing. */
static void notice_refused(struct test *test)
{
    unsigned char *base = canaries(test, RH_ALL);
    unsigned char *locked = test_create(test, 2, LENGTH, RH_READ);
    test_barrier(test);
    int peer = test_next(test);
    struct {
        struct rh_remote word;
        int expected;
    } bad[] = {
        {rh_at(peer, 2, 0), RH_ERIGHTS},
        {rh_at(peer, 99, 0), RH_ENOSEG},
        {rh_at(peer, 1, LENGTH), RH_EBOUNDS},
        {rh_at(peer, 1, 4), RH_EINVALID},
        {rh_at(peer, 1, UINT64_MAX - 7), RH_EBOUNDS},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct rh_notice notice = {.word = bad[i].word, .value = 5};
        CHECK_CODE(rh_push_notify(test->job, rh_at(peer, 1, 8), "datadata", 8, &notice),
                   bad[i].expected);
    }
    if (test->size > 2) { /* data here, word there: not one rank's business */
        struct rh_notice notice = {.word = rh_at(test_previous(test), 1, 0), .value = 5};
        CHECK_CODE(rh_push_notify(test->job, rh_at(peer, 1, 8), "datadata", 8, &notice),
                   RH_EINVALID);
    }
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
    CHECK_FILLED(locked, LENGTH, 0);
}

static void exists(struct test *test)
{
    unsigned char *base = canaries(test, RH_ALL);
    void *other = NULL;
    char *memory = test_buffer(test, 64);
    CHECK_CODE(rh_segment_alloc(test->job, 1, 64, &other), RH_EEXIST);
    CHECK(other == NULL);
    CHECK_CODE(rh_segment_attach(test->job, 1, memory, 64), RH_EEXIST);
    test_barrier(test);
    CHECK_OK(rh_push(test->job, rh_at(test_next(test), 1, LENGTH - 1), "k", 1));
    test_barrier(test);
    CHECK(base[LENGTH - 1] == 'k');
    CHECK_FILLED(base, LENGTH - 1, CANARY);
    CHECK_FILLED(memory, 64, 0);
}

static void unknown_sid(struct test *test)
{
    static const rh_sid sids[] = {0, 77, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < COUNT_OF(sids); i++)
        CHECK_ACCESSES(test, rh_at(test_next(test), sids[i], 0), RH_ALL, RH_ENOSEG);
    CHECK_CODE(rh_append(test->job, test_next(test), 77, "x", 1), RH_ENOSEG);
    CHECK_CODE(rh_append_try(test->job, test_next(test), 77, "x", 1), RH_ENOSEG);
}

static void unusual_sids(struct test *test)
{
    static const rh_sid sids[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    uint64_t *base[COUNT_OF(sids)];
    for (size_t i = 0; i < COUNT_OF(sids); i++)
        base[i] = test_alloc(test, sids[i], 8);
    test_barrier(test);
    for (uint64_t i = 0; i < COUNT_OF(sids); i++)
        CHECK_OK(rh_push(test->job, rh_at(test_next(test), sids[i], 0), &i, 8));
    test_barrier(test);
    for (uint64_t i = 0; i < COUNT_OF(sids); i++)
        CHECK_U64(*base[i], i);
}

static void stale(struct test *test)
{
    unsigned char *base = canaries(test, RH_ALL);
    struct rh_remote remote = rh_at(test_next(test), 1, 8);
    CHECK_ACCESSES(test, remote, RH_ALL, 0); /* has used it, so holds whatever it may hold */
    test_barrier(test);
    test_detach(test, 1);
    test_barrier(test);
    if (test->running->argument == 1)
        memset(base, CANARY, LENGTH);
    CHECK_ACCESSES(test, remote, RH_ALL, RH_ESTALE);
    test_barrier(test);
    if (test->running->argument == 1)
        CHECK_FILLED(base, LENGTH, CANARY);
}

/* A handle does not outlive the segment, not even when the SID comes back. */
static void stale_page(struct test *test)
{
    struct rh_page *page = NULL;
    canaries(test, RH_ALL);
    CHECK_OK(rh_page_open(test->job, rh_at(test_next(test), 1, 0), LENGTH, &page));
    CHECK_OK(rh_store(page, 0, 7, 8));
    test_barrier(test);
    test_detach(test, 1);
    test_barrier(test);
    CHECK_CODE(rh_store(page, 0, 7, 8), RH_ESTALE);
    test_barrier(test);
    unsigned char *base = canaries(test, RH_ALL);
    CHECK_CODE(rh_store(page, 0, 7, 8), RH_ESTALE);
    rh_page_close(page);
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, CANARY);
}

static const char *const denial_counters[] = {"denied_segment", "denied_stale", "denied_bounds",
                                              "denied_rights", "denied_dead"};

static void denials_read(struct test *test, uint64_t *values)
{
    for (size_t i = 0; i < COUNT_OF(denial_counters); i++)
        values[i] = test_counter(test, denial_counters[i]);
}

/* Every access of the kind moves counter `which` by one and no other. */
static void check_denials(struct test *test, struct rh_remote remote, unsigned needs, size_t which)
{
    for (const struct access *access = accesses; access->name; access++) {
        if (!(access->needs & needs))
            continue;
        uint64_t before[COUNT_OF(denial_counters)], after[COUNT_OF(denial_counters)];
        denials_read(test, before);
        int result = access->run(test, remote);
        denials_read(test, after);
        CHECK(result < 0);
        for (size_t i = 0; i < COUNT_OF(denial_counters); i++) {
            if (after[i] - before[i] != (i == which ? 1 : 0))
                FAIL("%s (%s) moved %s by %llu", access->name, rh_error_name(result),
                     denial_counters[i], (unsigned long long)(after[i] - before[i]));
        }
    }
}

static void denials(struct test *test)
{
    int peer = test_next(test);
    canaries(test, RH_READ);
    test_create(test, 2, LENGTH, RH_WRITE);
    test_alloc(test, 3, LENGTH);
    test_barrier(test);
    check_denials(test, rh_at(peer, 77, 0), RH_ALL, 0);
    check_denials(test, rh_at(peer, 3, LENGTH), RH_ALL, 2);
    check_denials(test, rh_at(peer, 1, 0), RH_WRITE | RH_ATOMIC, 3);
    check_denials(test, rh_at(peer, 2, 0), RH_READ | RH_ATOMIC, 3);
    test_barrier(test);
    test_detach(test, 3);
    test_barrier(test);
    check_denials(test, rh_at(peer, 3, 0), RH_ALL, 1);
}

static void bad_rank(struct test *test)
{
    static const int others[] = {-2, -100, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        CHECK_ACCESSES(test, rh_at(others[i], 1, 0), RH_ALL, RH_EINVALID);
    CHECK_ACCESSES(test, rh_at(test->size, 1, 0), RH_ALL, RH_EINVALID);
    CHECK_ACCESSES(test, rh_at(RH_ANY_RANK, 1, 0), RH_ALL, RH_EINVALID);
    CHECK_CODE(rh_append(test->job, test->size, 1, "x", 1), RH_EINVALID);
    CHECK_CODE(rh_flush(test->job, test->size), RH_EINVALID);
    CHECK_CODE(rh_wake(test->job, test->size), RH_EINVALID);
}

/* A queue is not a place to push to, and a segment is not one to append to. */
static void wrong_kind(struct test *test)
{
    struct rh_queue *queue = test_queue(test, 1, 4, 64);
    unsigned char *base = test_alloc(test, 2, LENGTH);
    struct rh_arrival arrival;
    test_barrier(test);
    CHECK_CODE(rh_append(test->job, test_next(test), 2, "x", 1), RH_EINVALID);
    for (const struct access *access = accesses; access->name; access++) {
        int result = access->run(test, rh_at(test_next(test), 1, 0));
        if (result != RH_ERIGHTS && result != RH_EINVALID)
            FAIL("%s on a queue: expected a refusal, got %d (%s)", access->name, result,
                 rh_error_name(result));
    }
    test_barrier(test);
    CHECK_FILLED(base, LENGTH, 0);
    CHECK_CODE(rh_queue_next(queue, &arrival, 0), RH_EAGAIN);
}

/* One's own segments are no exception. */
static void own_rights(struct test *test)
{
    unsigned char *base = canaries(test, RH_READ);
    struct rh_remote remote = rh_at(test->rank, 1, 8);
    CHECK_ACCESSES(test, remote, RH_WRITE | RH_ATOMIC, RH_ERIGHTS);
    CHECK_ACCESSES(test, remote, RH_READ, 0);
    CHECK_FILLED(base, LENGTH, CANARY);
}

const struct test_case rights_cases[] = {
    {.name = "rights-read-only", .run = read_only},
    {.name = "rights-read-only-attached", .run = read_only, .argument = 1},
    {.name = "rights-write-only", .run = write_only},
    {.name = "rights-write-only-attached", .run = write_only, .argument = 1},
    {.name = "rights-no-atomic", .run = no_atomic},
    {.name = "rights-no-atomic-attached", .run = no_atomic, .argument = 1},
    {.name = "rights-atomic-only", .run = atomic_only},
    {.name = "rights-notice-refused", .run = notice_refused},
    {.name = "rights-exists", .run = exists},
    {.name = "rights-unknown-sid", .run = unknown_sid},
    {.name = "rights-unusual-sids", .run = unusual_sids},
    {.name = "rights-stale", .run = stale},
    {.name = "rights-stale-attached", .run = stale, .argument = 1},
    {.name = "rights-stale-page", .run = stale_page},
    {.name = "rights-stale-page-attached", .run = stale_page, .argument = 1},
    {.name = "rights-denials-counted", .run = denials},
    {.name = "rights-bad-rank", .run = bad_rank},
    {.name = "rights-wrong-kind", .run = wrong_kind},
    {.name = "rights-own", .run = own_rights},
    {.name = NULL},
};
