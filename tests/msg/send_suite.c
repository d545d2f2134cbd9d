/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See send_suite.h.
 */
#include "send_suite.h"

#include "moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WATCHDOG_S 60

static const struct mail_case *const groups[] = {
    send_basic_cases, send_request_cases, send_flow_cases, send_way_cases, send_end_cases,
};

const struct mail_case *mail_suite_case(size_t index)
{
    for (size_t group = 0; group < COUNT_OF(groups); group++) {
        for (const struct mail_case *one = groups[group]; one->name; one++) {
            if (index-- == 0)
                return one;
        }
    }
    return NULL;
}

void mail_suite_list(void)
{
    for (size_t i = 0; mail_suite_case(i); i++) {
        unsigned flags = mail_suite_case(i)->flags;
        printf("%s %d%s%s\n", mail_suite_case(i)->name, mail_suite_case(i)->least_size,
               flags & CASE_ALONE ? " alone" : "",
               flags & CASE_SHORT_TIMEOUT ? " short-timeout" : "");
    }
}

/* ---- Steps of a case ------------------------------------------------------------------------ */

void mail_meet(struct mail_test *test)
{
    int missing;
    if (meeting_hold(&test->meeting, LONG_NS, &missing) < 0)
        FAIL("meeting rank %d: %s", missing, rh_error_text());
}

void mail_sleep_us(unsigned duration_us)
{
    moment_sleep_us(duration_us);
}

int64_t mail_now_ns(void)
{
    return moment_now_ns();
}

uint64_t mail_counter(const struct mail_test *test, const char *name)
{
    uint64_t value = 0;
    CHECK_OK(rh_counter(test->job, name, &value));
    return value;
}

const char *mail_way(void)
{
    const char *way = getenv("RHINET_MSG_WAY");
    return way ? way : "auto";
}

bool mail_is_direct(const struct mail_test *test)
{
    return rh_remote_ptr(test->job, rh_at(test->next, MEETING_SID, 0), 8) != NULL;
}

bool mail_pulls(const struct mail_test *test)
{
    const char *way = mail_way(), *cma = getenv("RHINET_CMA");
    if (strcmp(way, "ring") == 0)
        return false;
    if (strcmp(way, "pull") == 0 || strcmp(way, "both") == 0 || !mail_is_direct(test))
        return true;
    return strcmp(way, "auto") == 0 && !(cma && strcmp(cma, "off") == 0);
}

void *mail_alloc(size_t length)
{
    void *buffer = guarded_create(length);
    if (!buffer)
        FAIL("no memory for %zu bytes", length);
    return buffer;
}

void mail_free(void *buffer)
{
    if (guarded_check(buffer) < 0)
        FAIL("a guard next to a buffer was overwritten");
    guarded_destroy(buffer);
}

void mail_send(struct mail_test *test, int rank, int tag, size_t length, uint64_t seed)
{
    char *data = mail_alloc(length);
    pattern_fill(data, length, seed);
    CHECK_OK(rh_send(test->msg, rank, tag, data, length));
    memset(data, 0xee, length); /* it may be overwritten now */
    mail_free(data);
}

void mail_receive(struct mail_test *test, int rank, int tag, size_t length, uint64_t seed)
{
    char *data = mail_alloc(length);
    struct rh_status status = {0};
    CHECK_OK(rh_recv(test->msg, rank, tag, data, length, &status));
    if (rank != RH_ANY_RANK)
        CHECK_U64(status.source, rank);
    if (tag != RH_ANY_TAG)
        CHECK_U64(status.tag, tag);
    CHECK_U64(status.length, length);
    CHECK_MESSAGE(data, length, seed);
    mail_free(data);
}

void mail_check(const void *data, size_t length, uint64_t seed, const char *file, int line)
{
    size_t at = pattern_find_difference(data, length, seed);
    if (at < length)
        check_leave(CHECK_FAILED, file, line, "byte %zu of %zu: expected 0x%02x, got 0x%02x", at,
                    length, pattern_byte(seed, at), ((const unsigned char *)data)[at]);
}

/* ---- Running -------------------------------------------------------------------------------- */

struct running {
    struct mail_test *test;
    const struct mail_case *one;
};

static void case_body(void *argument)
{
    struct running *running = argument;
    struct mail_test *test = running->test;
    bool is_alone = running->one->flags & CASE_ALONE;
    if (!(running->one->flags & CASE_LATE))
        CHECK_OK(rh_msg_open(&test->msg, test->job));
    mail_meet(test);
    running->one->run(test);
    if (test->has_left)
        return;
    if (!is_alone)
        mail_meet(test); /* nobody closes while another still needs it */
    CHECK_OK(rh_msg_close(test->msg));
    mail_meet(test);
}

static void fail(const struct mail_test *test, const char *name, const char *text)
{
    printf("FAIL %s: rank %d of %d: %s\n", name, test->rank, test->size, text);
    fflush(stdout);
    _exit(1);
}

static void run_case(struct mail_test *test, size_t index)
{
    struct running running = {.test = test, .one = mail_suite_case(index)};
    struct check check;
    test->prng.state = 0x5e4d0000u + index;
    test->skipped = test->outside = NULL;
    alarm(WATCHDOG_S);
    int64_t start_ns = mail_now_ns();
    enum check_outcome outcome = check_run(&check, case_body, &running);
    double seconds = (double)(mail_now_ns() - start_ns) / 1e9;
    if (outcome == CHECK_FAILED || outcome == CHECK_UNSUPPORTED)
        fail(test, running.one->name, check.text);
    if (test->rank != 0)
        return;
    if (seconds > 1)
        printf("# %s took %.1f s\n", running.one->name, seconds);
    if (test->skipped)
        printf("skip %s: %s\n", running.one->name, test->skipped);
    else if (test->outside)
        printf("outside %s: %s\n", running.one->name, test->outside);
    else
        printf("ok %s\n", running.one->name);
    fflush(stdout);
}

/* Whether a case has a meaning in this run. */
static bool is_offered(const struct mail_test *test, const struct mail_case *one)
{
    if (test->is_thread && one->flags & CASE_ALONE)
        return false; /* a thread cannot be killed alone */
    if (test->is_quick && one->flags & CASE_HEAVY)
        return false; /* gigabytes have runs of their own */
    return test->size >= one->least_size;
}

static bool is_wanted(const struct mail_case *one, const struct mail_options *options)
{
    if (options->only)
        return strcmp(one->name, options->only) == 0;
    return !(one->flags & (CASE_ALONE | CASE_SHORT_TIMEOUT));
}

int mail_suite_run(struct rh_job *job, const struct mail_options *options)
{
    struct mail_test test = {.job = job, .rank = rh_rank(job), .size = rh_size(job)};
    test.next = (test.rank + 1) % test.size;
    test.previous = (test.rank + test.size - 1) % test.size;
    test.is_quick = options->is_quick;
    test.is_thread = options->is_thread;
    if (meeting_open(&test.meeting, test.job) < 0)
        fail(&test, "start", rh_error_text());
    for (size_t i = 0; mail_suite_case(i) && !test.has_left; i++) {
        const struct mail_case *one = mail_suite_case(i);
        if (is_wanted(one, options) && is_offered(&test, one))
            run_case(&test, i);
    }
    if (!test.has_left && rh_leave(job) < 0)
        fail(&test, "leave", rh_error_text());
    return 0;
}
