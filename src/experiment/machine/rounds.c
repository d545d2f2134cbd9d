/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds: line trip, raw, ours, the peers, raw, line trip. If either of the raw figures moved from
 * before to after, the machine was not the same meanwhile and the round says nothing; nor does it
 * if the two cores turn out to be one.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "experiment/machine/bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPEATS_MAX 9
#define NAP_US      2000 /* between rounds: with real-time priority nobody else runs during one */

static int take_figure(struct bench_run *run, enum bench_step step, double *figure)
{
    double figures[REPEATS_MAX];
    unsigned count = run->bench_case->repeat_count > 0 ? (unsigned)run->bench_case->repeat_count
                                                       : 1;
    ASSERT(count <= REPEATS_MAX);
    for (unsigned i = 0; i < count; i++) {
        int result = bench_lead(run, step, &figures[i]);
        if (result < 0)
            return result;
    }
    *figure = bench_median(figures, count);
    return 0;
}

struct bracket {
    double trip;
    double raw;
};

static int take_bracket(struct bench_run *run, struct bracket *bracket, bool trip_first)
{
    const struct bench_case *which = run->bench_case;
    bool has_trip = run->size > 1 && run->remote_memory;
    int result = 0;
    bracket->trip = 0;
    if (has_trip && trip_first)
        result = bench_lead(run, BENCH_STEP_TRIP, &bracket->trip);
    if (result == 0 && which->raw == raw_trip)
        bracket->raw = bracket->trip;
    else if (result == 0)
        result = take_figure(run, BENCH_STEP_RAW, &bracket->raw);
    if (result == 0 && has_trip && !trip_first)
        result = bench_lead(run, BENCH_STEP_TRIP, &bracket->trip);
    return result;
}

static bool has_moved(double before, double after, double most)
{
    double low = before < after ? before : after;
    double high = before < after ? after : before;
    return high - low > most * low;
}

enum quality { QUALITY_GOOD, QUALITY_MOVED, QUALITY_ONE_CORE };

static int measure_round(struct bench_run *run, struct bench_round *round, enum quality *quality)
{
    struct bracket before, after;
    double most = run->bench_case->drift_max;
    int result = bench_lead(run, BENCH_STEP_ROUND, NULL);
    /* The raw program stands next to ours on both sides; when it is the trip, that does. */
    if (result == 0)
        result = take_bracket(run, &before, true);
    if (result == 0)
        result = take_figure(run, BENCH_STEP_MEASURE, &round->value);
    memcpy(round->tail, run->tail, sizeof(round->tail));
    if (result == 0 && run->sheet->wishes.with_peers)
        bench_peers_measure(run, round);
    if (result == 0)
        result = take_bracket(run, &after, run->bench_case->raw == raw_trip);
    double slowdown = 1;
    if (result == 0 && run->size > 1)
        result = bench_lead(run, BENCH_STEP_CORES, &slowdown);
    if (result < 0)
        return result;
    round->raw = (before.raw + after.raw) / 2;
    memcpy(round->raw_tail, run->tail, sizeof(round->raw_tail)); /* of the last raw one */
    round->trip = (before.trip + after.trip) / 2;
    *quality = QUALITY_GOOD;
    if (has_moved(before.raw, after.raw, most) || has_moved(before.trip, after.trip, most))
        *quality = QUALITY_MOVED;
    if (bench_cores_are_shared(slowdown))
        *quality = QUALITY_ONE_CORE;
    return bench_lead(run, BENCH_STEP_REST, NULL);
}

static int measure_rounds(struct bench_run *run, struct bench_figure *figure)
{
    const struct bench_wishes *wishes = &run->sheet->wishes;
    int64_t deadline_ns = clock_deadline_ns(wishes->case_time_ns);
    while (figure->round_count < wishes->round_count && clock_now_ns() < deadline_ns) {
        struct bench_round round = {0};
        enum quality quality;
        int result = measure_round(run, &round, &quality);
        if (result < 0)
            return result;
        if (quality == QUALITY_GOOD) {
            figure->round[figure->round_count] = round;
            atomic_fetch_add(&figure->round_count, 1);
        } else {
            atomic_fetch_add(&figure->discarded_count, 1);
            atomic_fetch_add(&figure->one_core_count, quality == QUALITY_ONE_CORE);
        }
        usleep(NAP_US);
    }
    return 0;
}

int bench_rounds_measure(struct bench_run *run, int case_index)
{
    struct bench_sheet *sheet = run->sheet;
    sheet->step_case = case_index;
    run->bench_case = &bench_layer_of(sheet)->cases[case_index];
    atomic_store(&sheet->case_now, case_index);
    int result = bench_lead(run, BENCH_STEP_CASE, NULL);
    if (result == 0)
        result = measure_rounds(run, &sheet->figure[case_index]);
    return result < 0 ? result : bench_lead(run, BENCH_STEP_CASE_END, NULL);
}

/* ---- Medians -------------------------------------------------------------------------------- */

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(double *values, unsigned count)
{
    qsort(values, count, sizeof(values[0]), compare_doubles);
    return values[count / 2];
}

static int compare_rounds(const void *left, const void *right)
{
    const struct bench_round *a = left, *b = right;
    double x = a->value / a->raw, y = b->value / b->raw;
    return (x > y) - (x < y);
}

/* Medians of value and raw taken apart could stem from different states of the machine. */
bool bench_figure_median(const struct bench_figure *figure, struct bench_round *round)
{
    struct bench_round sorted[BENCH_ROUNDS_MAX];
    unsigned count = figure->round_count;
    if (count == 0)
        return false;
    memcpy(sorted, figure->round, count * sizeof(sorted[0]));
    qsort(sorted, count, sizeof(sorted[0]), compare_rounds);
    *round = sorted[count / 2];
    return true;
}

unsigned bench_figure_versus(const struct bench_figure *figure, enum bench_peer peer,
                             struct bench_round *round)
{
    struct bench_round sorted[BENCH_ROUNDS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < figure->round_count; i++) {
        if (figure->round[i].peer[peer] <= 0)
            continue;
        sorted[count] = figure->round[i];
        sorted[count++].raw = figure->round[i].peer[peer]; /* in its place */
    }
    if (count == 0)
        return 0;
    qsort(sorted, count, sizeof(sorted[0]), compare_rounds);
    *round = sorted[count / 2];
    return count;
}
