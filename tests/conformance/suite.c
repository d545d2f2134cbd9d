/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the cases in lockstep: each rank runs the case, reports to rank 0, and goes on when rank 0
 * says so. Rank 0 prints one line per case.
 */
#include "harness.h"
#include "moment.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_SID       0xC0FFEE01u
#define WATCHDOG_S       90
#define REPORT_WAIT_NS   RH_MILLISECONDS(70000) /* a rank may first run into TEST_WAIT_NS, twice */
#define SERIES_OF(index) ((uint32_t)(index) + 1)

/* In rank 0's segment one per rank; in the others' the first one's `go` is used. */
struct report {
    uint64_t arrived; /* series of the case reported */
    uint64_t go;      /* series of the case that all may leave; bit 63: end the run */
    uint64_t outcome;
    int64_t time_ns; /* when it was known */
    char text[CHECK_TEXT_MAX];
};
#define GO_END (1ull << 63)

static const struct test_case *const groups[] = {
    life_cases,  rights_cases,     bounds_cases,      size_cases,     align_cases, store_cases,
    order_cases, atomic_cases,     parts_cases,       append_cases,   wait_cases,  wake_cases,
    death_cases, queue_full_cases, death_queue_cases, exchange_cases,
};

struct tally {
    int passed, failed, unsupported, skipped;
};

const struct test_case *suite_case(size_t index)
{
    for (size_t group = 0; group < COUNT_OF(groups); group++) {
        for (const struct test_case *one = groups[group]; one->name; one++) {
            if (index-- == 0)
                return one;
        }
    }
    return NULL;
}

void suite_list(FILE *out)
{
    for (size_t i = 0; suite_case(i); i++) {
        const struct test_case *one = suite_case(i);
        bool is_alone = one->flags & (CASE_DIES | CASE_LEAVES);
        fprintf(out, "%s%s\n", one->name, is_alone ? " (own launch)" : "");
    }
}

/* Whether a case has a meaning in this run. */
static bool is_offered(const struct test_case *one, const struct suite_options *options)
{
    if (one->flags & (CASE_DIES | CASE_PROCESS) && options->is_thread)
        return false; /* a thread cannot be killed alone, nor has it memory of its own */
    if (one->flags & CASE_LATE && options->is_thread && CHECK_SEES_RACES)
        return false; /* late accesses to removed memory are harmless, but a race in one process */
    if (one->flags & CASE_THREADS && moment_is_simulated())
        return false; /* ranks are fibers and have no threads */
    return !(one->flags & CASE_HEAVY && options->is_quick);
}

static bool is_wanted(const struct test_case *one, const struct suite_options *options)
{
    if (!is_offered(one, options))
        return false;
    if (!options->only) /* cases after which a rank is missing run by name only */
        return !(one->flags & (CASE_DIES | CASE_LEAVES));
    size_t length = strlen(options->only);
    if (length > 0 && options->only[length - 1] == '*')
        return strncmp(one->name, options->only, length - 1) == 0;
    return strcmp(one->name, options->only) == 0;
}

/* ---- One case on one rank -------------------------------------------------------------------- */

static void case_body(void *argument)
{
    struct test *test = argument;
    /* An error of what an earlier case left under way comes with the next flush: it is not ours. */
    rh_flush(test->job, RH_ANY_RANK);
    test_barrier(test);
    test->running->run(test);
    if (!test->has_left)
        test_barrier(test);
}

/* Returns when the case itself was over: who failed first counts, and cleaning up takes time. */
static int64_t run_case(struct test *test, size_t index, struct check *check)
{
    test->prng.state = 0x5eed0000u + index;
    meeting_begin_series(&test->meeting, SERIES_OF(index));
    check_run(check, case_body, test);
    int64_t over_ns = test_now_ns();
    if (check->outcome != CHECK_PASSED && !test->has_left)
        meeting_call_off(&test->meeting);
    if (test_release_all(test) < 0 && check->outcome == CHECK_PASSED) {
        check->outcome = CHECK_FAILED;
        snprintf(check->text, sizeof(check->text),
                 "a guard next to a local buffer was overwritten");
    }
    return over_ns;
}

/* ---- Reports --------------------------------------------------------------------------------- */

static struct report make_report(const struct check *check, int64_t time_ns)
{
    struct report report = {.outcome = check->outcome, .time_ns = time_ns};
    memcpy(report.text, check->text, sizeof(report.text));
    return report;
}

static int send_report(struct test *test, size_t index, const struct report *report)
{
    uint64_t base = (uint64_t)test->rank * sizeof(*report);
    uint64_t skipped = offsetof(struct report, outcome);
    struct rh_notice notice = {.word = rh_at(0, REPORT_SID, base), .value = SERIES_OF(index)};
    return rh_push_notify(test->job, rh_at(0, REPORT_SID, base + skipped), &report->outcome,
                          sizeof(*report) - skipped, &notice);
}

/* How much a report has to say. A rank that only saw another give up knows least. */
static int weight(const struct report *report)
{
    switch (report->outcome) {
    case CHECK_PASSED:
        return 0;
    case CHECK_SKIPPED:
        return 2;
    case CHECK_UNSUPPORTED:
        return 3;
    default:
        return strstr(report->text, "gave up") ? 1 : 4;
    }
}

/* Of all ranks' reports the weightiest counts, and of equal ones the first: the rest follows. */
static void merge(struct report *verdict, const struct report *report, int rank)
{
    int difference = weight(report) - weight(verdict);
    if (difference < 0 || (difference == 0 && report->time_ns >= verdict->time_ns))
        return;
    struct report named = *report;
    snprintf(named.text, sizeof(named.text), "rank %d: %.380s", rank, report->text);
    *verdict = named;
}

static bool may_be_missing(const struct test *test, int rank)
{
    return test->running->flags & (CASE_DIES | CASE_LEAVES) && rank == test_victim(test);
}

/* False if a rank did not report: then nobody can go on. */
static bool collect(struct test *test, size_t index, struct report *verdict)
{
    for (int rank = 1; rank < test->size; rank++) {
        struct report *report = &test->reports[rank];
        struct rh_wait wait = {.word = &report->arrived,
                               .when = RH_AT_LEAST,
                               .value = SERIES_OF(index),
                               .from = rank,
                               .timeout_ns = REPORT_WAIT_NS};
        int result = rh_wait_word(test->job, &wait);
        if (result == RH_EDEAD && may_be_missing(test, rank))
            continue;
        if (result < 0) {
            struct report missing = {.outcome = CHECK_FAILED, .time_ns = test_now_ns()};
            snprintf(missing.text, sizeof(missing.text), "does not report: %.300s",
                     rh_error_text());
            merge(verdict, &missing, rank);
            return false;
        }
        merge(verdict, report, rank);
    }
    return true;
}

static void let_go(struct test *test, uint64_t value)
{
    for (int rank = 1; rank < test->size; rank++) {
        struct rh_remote word = rh_at(rank, REPORT_SID, offsetof(struct report, go));
        struct rh_notice notice = {.word = word, .value = value};
        rh_push_notify(test->job, word, NULL, 0, &notice); /* a dead one needs no answer */
    }
}

/* True when the run goes on. */
static bool await_go(struct test *test, size_t index)
{
    struct rh_wait wait = {.word = &test->reports[0].go,
                           .when = RH_AT_LEAST,
                           .value = SERIES_OF(index),
                           .from = 0,
                           .timeout_ns = REPORT_WAIT_NS};
    return rh_wait_word(test->job, &wait) == 0 && !(test->reports[0].go & GO_END);
}

/* ---- The whole run --------------------------------------------------------------------------- */

static const char *volatile watched_name = "start-up";

static void watchdog_bites(int number)
{
    static const char text[] = "conformance: hung, watchdog ends it in case ";
    const char *name = watched_name;
    (void)number;
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    written = write(STDERR_FILENO, name, strlen(name));
    written = write(STDERR_FILENO, "\n", 1);
    (void)written;
    _exit(1);
}

static void watchdog_set(const struct suite_options *options, const char *name)
{
    if (!options->is_watched)
        return;
    watched_name = name;
    signal(SIGALRM, watchdog_bites);
    alarm(WATCHDOG_S);
}

static void print(const char *name, struct report *verdict, const struct suite_options *options,
                  struct tally *tally)
{
    if (verdict->outcome == CHECK_UNSUPPORTED && options->all_supported)
        verdict->outcome = CHECK_FAILED;
    switch ((enum check_outcome)verdict->outcome) {
    case CHECK_PASSED:
        tally->passed++;
        printf("ok %s\n", name);
        break;
    case CHECK_SKIPPED:
        tally->skipped++;
        printf("skip %s: %s\n", name, verdict->text);
        break;
    case CHECK_UNSUPPORTED:
        tally->unsupported++;
        printf("unsupported %s: %s\n", name, verdict->text);
        break;
    case CHECK_FAILED:
        tally->failed++;
        printf("FAIL %s: %s\n", name, verdict->text);
        break;
    }
    fflush(stdout);
}

/* One case, seen from rank 0: run, collect, print, let the others go. True: go on. */
static bool lead_case(struct test *test, size_t index, const struct suite_options *options,
                      struct tally *tally)
{
    int64_t start_ns = test_now_ns();
    struct check check;
    char name[96];
    int64_t over_ns = run_case(test, index, &check);
    struct report own = make_report(&check, over_ns), verdict = {.outcome = CHECK_PASSED};
    merge(&verdict, &own, 0);
    bool all_reported = collect(test, index, &verdict);
    snprintf(name, sizeof(name), "%s", test->running->name);
    if (test_now_ns() - start_ns > RH_MILLISECONDS(1000))
        snprintf(name, sizeof(name), "%s (%.1f s)", test->running->name,
                 (double)(test_now_ns() - start_ns) / 1e9);
    print(name, &verdict, options, tally);
    let_go(test, SERIES_OF(index) | (all_reported ? 0 : GO_END));
    return all_reported;
}

static bool follow_case(struct test *test, size_t index)
{
    struct check check;
    int64_t over_ns = run_case(test, index, &check);
    if (test->has_left)
        return false;
    struct report report = make_report(&check, over_ns);
    return send_report(test, index, &report) == 0 && await_go(test, index);
}

static int suite_open(struct test *test, struct rh_job *job, bool is_thread)
{
    void *base;
    memset(test, 0, sizeof(*test));
    test->job = job;
    test->rank = rh_rank(job);
    test->size = rh_size(job);
    test->is_thread = is_thread;
    if (test->size < 2)
        return RH_EINVALID;
    int result = rh_segment_alloc(job, REPORT_SID, sizeof(struct report) * (size_t)test->size,
                                  &base);
    if (result < 0)
        return result;
    test->reports = base;
    result = meeting_open(&test->meeting, job);
    int missing = -1;
    return result < 0 ? result : meeting_hold(&test->meeting, TEST_WAIT_NS, &missing);
}

static int summarise(const struct test *test, const struct tally *tally)
{
    int total = tally->passed + tally->failed + tally->unsupported + tally->skipped;
    printf(
        "conformance: NIC %s, %d ranks: %d cases: %d ok, %d failed, %d unsupported, %d skipped\n",
        rh_nic_name(test->job), test->size, total, tally->passed, tally->failed, tally->unsupported,
        tally->skipped);
    fflush(stdout);
    return tally->failed > 0 || total == 0;
}

int suite_run(struct rh_job *job, const struct suite_options *options)
{
    struct test test;
    struct tally tally = {0};
    watchdog_set(options, "start-up");
    int result = suite_open(&test, job, options->is_thread);
    if (result < 0) {
        fprintf(stderr, "conformance: cannot start (needs 2 ranks or more): %s: %s\n",
                rh_error_name(result), rh_error_text());
        return 1;
    }
    bool goes_on = true;
    for (size_t i = 0; goes_on && suite_case(i); i++) {
        test.running = suite_case(i);
        if (!is_wanted(test.running, options))
            continue;
        watchdog_set(options, test.running->name);
        goes_on = test.rank == 0 ? lead_case(&test, i, options, &tally) : follow_case(&test, i);
    }
    result = test.rank == 0 ? summarise(&test, &tally) : 0;
    if (!test.has_left && rh_leave(job) < 0)
        result = 1;
    if (options->is_watched)
        alarm(0);
    return result;
}
