/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pmtest: measure PM, as SCore's program of this name did.
 *
 * All ranks follow the same script, so nobody has to tell anybody what comes next. Machines are
 * noisy: every figure is the median of several rounds, and a round measures all implementations and
 * the raw trip of a cache line one after the other, so that their ratios can be trusted.
 *
 *   main.c      options, and the script         burst.c   how much goes through
 *   meet.c      memory and meetings of ranks    cost.c    what a message costs a receiver of many
 *   pingpong.c  there and back, and raw         report.c  table and JSON
 */
#pragma once

#include <jansson.h>
#include <rhinet/pm.h>
#include <stdbool.h>

#define PMTEST_PM_MAX     3
#define PMTEST_SIZES_MAX  32
#define PMTEST_ROUNDS_MAX 999

struct pmtest_options {
    bool does_pingpong, does_burst, does_cost;
    const char *pm[PMTEST_PM_MAX];
    unsigned pm_count;
    size_t size[PMTEST_SIZES_MAX];
    unsigned size_count;
    unsigned rounds;
    unsigned count; /* messages of a round */
    bool splits;
    const char *json_path; /* NULL: a table; "-": stdout */
};

struct pmtest {
    struct rh_job *job;
    int rank, size;
    const struct pmtest_options *options;
    struct pmtest_words *words; /* own */
    uint64_t meetings;
    uint64_t trips; /* pingpong.c: raw ones so far; cost.c: last round */
    struct pm_context *pm[PMTEST_PM_MAX];
    json_t *results; /* rank 0 */
};

/* ---- meet.c --------------------------------------------------------------------------------- */

struct pmtest_words {
    _Alignas(64) uint64_t arrived; /* rank 0's: counts all arrivals ever */
    _Alignas(64) uint64_t released;
    _Alignas(64) uint64_t trip; /* raw ping-pong */
    _Alignas(64) uint64_t round;
    _Alignas(64) uint64_t sent;
};

int pmtest_open(struct pmtest *test);
/* Nobody goes on before all are here. */
int pmtest_meet(struct pmtest *test);
/* Add to a word of rank 0's, write one of a rank's, wait for an own one. Offsets are of words. */
int pmtest_add(struct pmtest *test, size_t offset);
int pmtest_tell(struct pmtest *test, int rank, size_t offset, uint64_t value);
int pmtest_await(struct pmtest *test, const uint64_t *word, uint64_t value);
/* The words of a rank where they can be reached directly, else NULL. */
struct pmtest_words *pmtest_words_of(struct pmtest *test, int rank);

int64_t pmtest_now_ns(const struct pmtest *test);
double pmtest_median(double *values, unsigned count);

/* Send a message, having waited for room; look at one and release it. */
int pmtest_send(struct pm_context *pm, int rank, size_t length);
int pmtest_take(struct pm_context *pm, size_t length);

/* ---- Tests: called by all ranks ------------------------------------------------------------- */

int pmtest_pingpong(struct pmtest *test);
int pmtest_burst(struct pmtest *test);
int pmtest_cost(struct pmtest *test);

/* ---- report.c ------------------------------------------------------------------------------- */

struct pmtest_figure {
    const char *test;
    const char *pm;
    const char *unit;
    const char *amount_name; /* "bytes" or "senders" */
    uint64_t amount;
    double value;
    double raw;      /* what it is compared with; 0: nothing */
    double messages; /* per second; 0: does not matter */
};

void pmtest_note(struct pmtest *test, const struct pmtest_figure *figure);
int pmtest_report(const struct pmtest *test);
