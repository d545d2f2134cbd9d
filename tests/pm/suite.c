/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The driver: runs the cases one after the other on all ranks and collects their verdicts.
 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERDICT_SID 0xC0FFEE01u
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define CASES_MAX   64

static const struct suite_case *const groups[] = {rule_cases, message_cases, full_cases,
                                                  memory_cases, death_cases};

static const struct suite_case *suite_case(size_t index)
{
    for (size_t group = 0; group < COUNT_OF(groups); group++) {
        for (const struct suite_case *at = groups[group]; at->name; at++) {
            if (index-- == 0)
                return at;
        }
    }
    return NULL;
}

void suite_list(void)
{
    const struct suite_case *at;
    for (size_t i = 0; (at = suite_case(i)) != NULL; i++)
        printf("%s%s\n", at->name, at->flags & CASE_DIES ? " (own launch)" : "");
}

/* ---- One case ------------------------------------------------------------------------------- */

struct one_run {
    struct suite *suite;
    const struct suite_case *suite_case;
};

static void body(void *argument)
{
    struct one_run *run = argument;
    struct suite *suite = run->suite;
    struct pm_options options = {.struct_size = sizeof(options)};
    if (run->suite_case->flags & CASE_SPLIT)
        options.flags = PM_SPLIT_PUSHES;
    suite_meet(suite);
    int result = pmOpenContext(&suite->pm, suite->job, &options);
    bool is_refused = options.flags && result == RH_EINVALID; /* as all but pm-ring must */
    if (is_refused) {
        options.flags = 0;
        result = pmOpenContext(&suite->pm, suite->job, &options);
    }
    CHECK_OK(result);
    suite->info.struct_size = sizeof(suite->info);
    CHECK_OK(pmGetInfo(suite->pm, &suite->info));
    if (options.flags || is_refused)
        CHECK(is_refused == !suite_is(suite, "pm-ring"));
    suite_meet(suite);
    run->suite_case->run(suite);
    suite_meet(suite);
}

/* Tell rank 0 how it went; it answers when all have: only then contexts may be closed. Words hold
 * (number of the case << 8 | outcome). Returns the worst outcome on rank 0. */
static enum check_outcome settle(struct suite *suite, uint64_t number, enum check_outcome outcome)
{
    enum check_outcome worst = outcome;
    for (int rank = 0; rank < suite->size; rank++) {
        bool is_peer = suite->rank == 0 ? rank != 0 : rank == 0;
        if (!is_peer || suite->meeting.is_gone[rank])
            continue;
        struct rh_remote word = rh_at(rank, VERDICT_SID, (uint64_t)suite->rank * 8);
        struct rh_notice notice = {.word = word, .value = number << 8 | (uint64_t)outcome};
        struct rh_wait wait = {.word = &suite->verdicts[rank],
                               .when = RH_AT_LEAST,
                               .value = number << 8,
                               .from = rank,
                               .timeout_ns = RH_MILLISECONDS(60000)};
        if (suite->rank != 0)
            rh_push_notify(suite->job, word, NULL, 0, &notice);
        if (rh_wait_word(suite->job, &wait) < 0)
            worst = CHECK_FAILED;
        uint64_t told = __atomic_load_n(&suite->verdicts[rank], __ATOMIC_ACQUIRE);
        if ((told & 0xff) == CHECK_FAILED)
            worst = CHECK_FAILED;
    }
    for (int rank = 1; suite->rank == 0 && rank < suite->size; rank++) {
        struct rh_notice notice = {.word = rh_at(rank, VERDICT_SID, 0), .value = number << 8};
        if (!suite->meeting.is_gone[rank])
            rh_push_notify(suite->job, notice.word, NULL, 0, &notice);
    }
    return worst;
}

static enum check_outcome run_case(struct suite *suite, const struct suite_case *suite_case,
                                   uint32_t number)
{
    static const char *const words[] = {"ok", "FAILED", "unsupported", "skipped"};
    struct one_run run = {.suite = suite, .suite_case = suite_case};
    struct check check;
    suite->pm = NULL;
    suite->prng.state = (uint64_t)number << 32 | (uint64_t)suite->rank;
    meeting_begin_series(&suite->meeting, number);
    if (!suite->is_thread)
        alarm(100);
    enum check_outcome outcome = check_run(&check, body, &run);
    if (outcome == CHECK_FAILED)
        meeting_call_off(&suite->meeting);
    if (outcome == CHECK_FAILED)
        printf("# rank %d: %s: %s (%s)\n", suite->rank, suite_case->name, check.text,
               pmErrorText());
    fflush(stdout);
    outcome = settle(suite, number, outcome);
    if (suite->pm)
        pmCloseContext(suite->pm);
    if (suite->rank == 0)
        printf("%-12s %s %s\n", words[outcome], suite_case->name, check.text);
    return outcome;
}

static bool is_chosen(const struct suite_case *suite_case, const struct suite_options *options)
{
    if (options->only)
        return strcmp(suite_case->name, options->only) == 0;
    const char *wanted = getenv("RHINET_PM");
    if (suite_case->flags & CASE_RING && (!wanted || strcmp(wanted, "pm-ring") != 0))
        return false;
    return !(suite_case->flags & CASE_DIES);
}

int suite_run(struct rh_job *job, const struct suite_options *options)
{
    struct suite suite = {
        .job = job, .rank = rh_rank(job), .size = rh_size(job), .is_thread = options->is_thread};
    const struct suite_case *at;
    unsigned count[4] = {0};
    void *base;
    if (rh_segment_alloc(job, VERDICT_SID, (uint64_t)suite.size * 8, &base) < 0)
        return 1;
    suite.verdicts = base;
    if (meeting_open(&suite.meeting, job) < 0)
        return 1;
    for (uint32_t i = 0; (at = suite_case(i)) != NULL; i++) {
        if (is_chosen(at, options))
            count[run_case(&suite, at, i + 1)]++;
    }
    if (suite.rank == 0)
        printf("conformance: PM, %d ranks, %u cases: %u ok, %u failed, %u unsupported, "
               "%u skipped\n",
               suite.size, count[0] + count[1] + count[2] + count[3], count[CHECK_PASSED],
               count[CHECK_FAILED], count[CHECK_UNSUPPORTED], count[CHECK_SKIPPED]);
    fflush(stdout);
    return count[CHECK_FAILED] > 0;
}

/* ---- For cases ------------------------------------------------------------------------------ */

void suite_meet(struct suite *suite)
{
    int missing = -1;
    int result = meeting_hold(&suite->meeting, 2 * SUITE_WAIT_NS, &missing);
    if (result == RH_ECANCELED)
        FAIL("rank %d gave up", missing);
    if (result < 0)
        FAIL("meeting without rank %d: %s", missing, rh_error_name(result));
}

bool suite_is(const struct suite *suite, const char *implementation)
{
    return strcmp(suite->info.implementation, implementation) == 0;
}

int suite_next(const struct suite *suite)
{
    return (suite->rank + 1) % suite->size;
}

void suite_send(struct suite *suite, int rank, size_t length, uint64_t seed)
{
    void *buffer = NULL;
    CHECK_OK(pmGetSendBuffer(suite->pm, rank, length, &buffer));
    CHECK((uintptr_t)buffer % 8 == 0);
    pattern_fill(buffer, length, seed);
    CHECK_OK(pmSendWait(suite->pm, SUITE_WAIT_NS));
}

void suite_check_message(const struct pm_message *message, int source, size_t length, uint64_t seed)
{
    CHECK_U64(message->source, source);
    CHECK_U64(message->length, length);
    CHECK((uintptr_t)message->data % 8 == 0);
    size_t at = pattern_find_difference(message->data, length, seed);
    if (at < length)
        FAIL("byte %zu of %zu from rank %d is wrong", at, length, source);
}

void suite_take(struct suite *suite, int source, size_t length, uint64_t seed)
{
    struct pm_message message = {0};
    CHECK_OK(pmReceiveWait(suite->pm, &message, SUITE_WAIT_NS));
    suite_check_message(&message, source, length, seed);
    CHECK_OK(pmReleaseReceiveBuffer(suite->pm));
}
