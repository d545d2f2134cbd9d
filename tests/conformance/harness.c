/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The helpers that cases are written with.
 */
#include "harness.h"

#include "moment.h"

#include <stdlib.h>
#include <string.h>

/* Something a case must give back; exactly one of the three. */
struct test_resource {
    struct test_resource *next;
    struct rh_queue *queue;
    void *buffer;
    rh_sid sid; /* if neither of the others */
};

int test_next(const struct test *test)
{
    return (test->rank + 1) % test->size;
}

int test_previous(const struct test *test)
{
    return (test->rank + test->size - 1) % test->size;
}

int test_victim(const struct test *test)
{
    return test->size - 1;
}

void test_barrier(struct test *test)
{
    int missing = -1;
    int result = meeting_hold(&test->meeting, TEST_WAIT_NS, &missing);
    if (result == RH_ECANCELED)
        FAIL("rank %d gave up", missing);
    if (result < 0)
        FAIL("barrier without rank %d: %s: %s", missing, rh_error_name(result), rh_error_text());
}

void test_mark_gone(struct test *test, int rank)
{
    test->meeting.is_gone[rank] = true;
}

void test_die(void)
{
    moment_die();
}

void test_die_soon(unsigned after_us)
{
    moment_die_soon(after_us);
}

void test_await_end(struct test *test, int rank)
{
    int64_t limit_ns = test_now_ns() + RH_MILLISECONDS(10000);
    while (rh_peer_state(test->job, rank) < RH_PEER_LEFT) {
        if (test_now_ns() > limit_ns)
            FAIL("rank %d is gone, and 10 s later its state is still %d", rank,
                 rh_peer_state(test->job, rank));
        test_sleep_us(500);
    }
}

/* ---- Resources ------------------------------------------------------------------------------ */

static struct test_resource *keep(struct test *test)
{
    struct test_resource *resource = calloc(1, sizeof(*resource));
    if (!resource)
        FAIL("no memory");
    resource->next = test->resources;
    test->resources = resource;
    return resource;
}

static void forget(struct test *test, const struct rh_queue *queue, rh_sid sid)
{
    for (struct test_resource **at = &test->resources; *at; at = &(*at)->next) {
        struct test_resource *found = *at;
        if (found->buffer || found->queue != queue || (!queue && found->sid != sid))
            continue;
        *at = found->next;
        free(found);
        return;
    }
}

void test_segment(struct test *test, struct rh_segment *segment)
{
    CHECK_OK(rh_segment_create(test->job, segment));
    CHECK(segment->base != NULL);
    keep(test)->sid = segment->sid;
}

void *test_create(struct test *test, rh_sid sid, uint64_t length, unsigned rights)
{
    struct rh_segment segment = {
        .struct_size = sizeof(segment), .sid = sid, .length = length, .rights = rights};
    test_segment(test, &segment);
    return segment.base;
}

void *test_alloc(struct test *test, rh_sid sid, uint64_t length)
{
    void *base = NULL;
    CHECK_OK(rh_segment_alloc(test->job, sid, length, &base));
    CHECK(base != NULL);
    keep(test)->sid = sid;
    return base;
}

void test_attach(struct test *test, rh_sid sid, void *base, uint64_t length)
{
    CHECK_OK(rh_segment_attach(test->job, sid, base, length));
    keep(test)->sid = sid;
}

void test_detach(struct test *test, rh_sid sid)
{
    forget(test, NULL, sid);
    CHECK_OK(rh_segment_detach(test->job, sid));
}

struct rh_queue *test_queue(struct test *test, rh_sid sid, uint32_t slot_count,
                            uint32_t slot_length)
{
    struct rh_queue *queue = NULL;
    struct rh_queue_shape shape = {.slot_count = slot_count, .slot_length = slot_length};
    CHECK_OK(rh_queue_create(test->job, sid, shape, &queue));
    CHECK(queue != NULL);
    keep(test)->queue = queue;
    return queue;
}

void test_queue_destroy(struct test *test, struct rh_queue *queue)
{
    forget(test, queue, 0);
    CHECK_OK(rh_queue_destroy(queue));
}

void *test_buffer(struct test *test, size_t length)
{
    void *buffer = guarded_create(length);
    if (!buffer)
        FAIL("no memory for %zu bytes", length);
    keep(test)->buffer = buffer;
    return buffer;
}

int test_release_all(struct test *test)
{
    int problem = 0;
    while (test->resources) {
        struct test_resource *resource = test->resources;
        test->resources = resource->next;
        if (resource->buffer) {
            if (guarded_check(resource->buffer) < 0)
                problem = -1;
            guarded_destroy(resource->buffer);
        } else if (test->has_left) {
            /* rh_leave() has taken the segments */
        } else if (resource->queue) {
            rh_queue_destroy(resource->queue);
        } else {
            rh_segment_detach(test->job, resource->sid);
        }
        free(resource);
    }
    return problem;
}

/* ---- Small steps ----------------------------------------------------------------------------- */

void test_signal(struct test *test, struct rh_remote word, uint64_t value)
{
    struct rh_notice notice = {.word = word, .value = value};
    CHECK_OK(rh_push_notify(test->job, word, NULL, 0, &notice));
}

void test_await(struct test *test, const uint64_t *word, uint64_t value, int from)
{
    struct rh_wait wait = {.word = word,
                           .when = RH_AT_LEAST,
                           .value = value,
                           .from = from,
                           .timeout_ns = TEST_WAIT_NS};
    CHECK_OK(rh_wait_word(test->job, &wait));
}

void test_sleep_us(unsigned duration_us)
{
    moment_sleep_us(duration_us);
}

int64_t test_now_ns(void)
{
    return moment_now_ns();
}

uint64_t test_counter(struct test *test, const char *name)
{
    uint64_t value = 0;
    CHECK_OK(rh_counter(test->job, name, &value));
    return value;
}

void check_pattern(const void *base, size_t length, uint64_t seed, const char *file, int line)
{
    size_t at = pattern_find_difference(base, length, seed);
    if (at < length)
        check_leave(CHECK_FAILED, file, line, "byte %zu of %zu: expected 0x%02x, got 0x%02x", at,
                    length, pattern_byte(seed, at), ((const unsigned char *)base)[at]);
}

void check_filled(const void *base, size_t length, unsigned char value, const char *file, int line)
{
    size_t at = pattern_find_other(base, length, value);
    if (at < length)
        check_leave(CHECK_FAILED, file, line,
                    "byte %zu of %zu was written: expected 0x%02x, got 0x%02x", at, length, value,
                    ((const unsigned char *)base)[at]);
}
