/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Round trips one by one. Each takes two looks at the clock, ours and the raw ones alike. Pairs are
 * ranks 0 and 1, 2 and 3, and so on; rank 0's trips count.
 */
#include "experiment/machine/tail/tail.h"

#include "base/clock.h"
#include "base/error.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIPS         8192
#define TRIPS_CROWDED 2048 /* each may take as long as a scheduler likes */
#define WARM          64
#define TAG           1

/* The first of a pair begins, the second one answers. */
typedef int round_trip(struct bench_run *run, bool leads);

static int compare_floats(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static double part_of(const float *sorted, unsigned count, double part)
{
    unsigned at = (unsigned)(part * count);
    return sorted[at < count ? at : count - 1];
}

static int time_trips(struct bench_run *run, round_trip *trip, double *figure)
{
    static float times[TRIPS];
    bool leads = run->rank % 2 == 0;
    unsigned count = run->bench_case->place == BENCH_CROWDED ? TRIPS_CROWDED : TRIPS;
    int result = 0;
    for (unsigned i = 0; i < WARM + count && result == 0; i++) {
        int64_t start_ns = clock_now_ns();
        result = trip(run, leads);
        times[i < WARM ? 0 : i - WARM] = (float)(clock_now_ns() - start_ns) / 2;
    }
    if (result < 0)
        return result;
    qsort(times, count, sizeof(times[0]), compare_floats);
    *figure = part_of(times, count, 0.5);
    run->tail[0] = part_of(times, count, 0.99);
    run->tail[1] = part_of(times, count, 0.999);
    return 0;
}

/* ---- Raw ------------------------------------------------------------------------------------ */

static inline void raw_send(struct bench_run *run)
{
    __atomic_store_n(bench_word(run->remote_memory, 0), run->sequence, __ATOMIC_RELEASE);
}

static int line_trip(struct bench_run *run, bool leads)
{
    run->sequence++;
    if (leads)
        raw_send(run);
    while (__atomic_load_n(bench_word(run->memory, 0), __ATOMIC_ACQUIRE) != run->sequence)
        ;
    if (!leads)
        raw_send(run);
    return 0;
}

/* A word of each rank in the sheet, on which it sleeps. */
static uint32_t *bell_of(struct bench_run *run, int rank)
{
    return (uint32_t *)(void *)&run->sheet->brought[rank].value;
}

static void ring(struct bench_run *run)
{
    uint32_t *bell = bell_of(run, run->rank ^ 1);
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int futex_trip(struct bench_run *run, bool leads)
{
    uint32_t *bell = bell_of(run, run->rank), rings;
    if (leads)
        ring(run);
    while ((rings = __atomic_load_n(bell, __ATOMIC_SEQ_CST)) == run->bell)
        syscall(SYS_futex, bell, FUTEX_WAIT, rings, NULL, NULL, 0);
    run->bell = rings;
    if (!leads)
        ring(run);
    return 0;
}

int tail_trip(struct bench_run *run, double *figure)
{
    return time_trips(run, line_trip, figure);
}

int tail_hand_on(struct bench_run *run, double *figure)
{
    return time_trips(run, futex_trip, figure);
}

/* ---- Ours ----------------------------------------------------------------------------------- */

static int push(struct bench_run *run)
{
    return rh_push(run->job, rh_at(run->peer, BENCH_SID, 0), &run->sequence, sizeof(run->sequence));
}

static int push_trip(struct bench_run *run, bool leads)
{
    struct rh_wait wait = {.word = bench_word(run->memory, 0),
                           .value = ++run->sequence,
                           .from = run->peer,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    int result = leads ? push(run) : 0;
    if (result == 0)
        result = rh_wait_word(run->job, &wait);
    return result == 0 && !leads ? push(run) : result;
}

static int message_trip(struct bench_run *run, bool leads)
{
    uint64_t number = ++run->message, came = 0;
    int partner = run->rank ^ 1;
    int result = leads ? rh_send(run->msg, partner, TAG, &number, sizeof(number)) : 0;
    if (result == 0)
        result = rh_recv(run->msg, partner, TAG, &came, sizeof(came), NULL);
    if (result == 0 && came != number)
        return error_set(RH_ECORRUPT, partner, "message %llu arrived instead of %llu",
                         (unsigned long long)came, (unsigned long long)number);
    return result == 0 && !leads ? rh_send(run->msg, partner, TAG, &number, sizeof(number))
                                 : result;
}

int tail_push(struct bench_run *run, double *figure)
{
    return time_trips(run, push_trip, figure);
}

int tail_messages(struct bench_run *run, double *figure)
{
    return time_trips(run, message_trip, figure);
}
