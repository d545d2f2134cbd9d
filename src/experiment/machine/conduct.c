/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps: rank 0 says what comes next, everybody does it, and it is over when all are done.
 * Followers spin for a moment and then sleep, so that thirty idle ones cost the measured ones
 * nothing.
 */
#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/bench.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_NS (30 * NS_PER_US)

#define NICE_BEST (-20)
#define BIG       (64u << 20) /* bytes */

static void set_nice(int nice_level)
{
    setpriority(PRIO_PROCESS, 0, nice_level);
    /* Where the kernel groups processes by session, levels count within a session only. */
    FILE *group = fopen("/proc/self/autogroup", "we");
    if (group) {
        fprintf(group, "%d", nice_level);
        fclose(group);
    }
}

/* Where we may: keeps others away while we measure. Rounds are short and rest in between; those
 * that are not, of much memory, would keep others away too long. Ranks that share a core must share
 * it as programs do: not real-time, only before all others. */
static void set_priority(const struct bench_run *run, bool on)
{
    struct sched_param parameters = {.sched_priority = on ? 1 : 0};
    if (!run->job || bench_is_far(run->sheet))
        return;
    if (run->bench_case->place == BENCH_CROWDED || run->bench_case->memory > BIG)
        set_nice(on ? NICE_BEST : 0);
    else
        sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

static int begin_case(struct bench_run *run)
{
    const struct bench_case *which = run->bench_case;
    int result = run->job ? bench_cores_take(run->rank, which->place) : 0;
    return result == 0 && which->set_up ? which->set_up(run) : result;
}

static int take_step(struct bench_run *run, enum bench_step step, double *figure)
{
    const struct bench_case *which = run->bench_case;
    switch (step) {
    case BENCH_STEP_CASE:
        return begin_case(run);
    case BENCH_STEP_ROUND:
        set_priority(run, true);
        return 0;
    case BENCH_STEP_TRIP:
        return raw_trip(run, figure);
    case BENCH_STEP_RAW:
        return which->raw(run, figure);
    case BENCH_STEP_MEASURE:
        return which->measure(run, figure);
    case BENCH_STEP_CORES:
        return bench_cores(run, figure);
    case BENCH_STEP_REST:
        set_priority(run, false);
        return 0;
    case BENCH_STEP_CASE_END:
        if (which->tear_down)
            which->tear_down(run);
        return 0;
    case BENCH_STEP_QUIT:
        return 0;
    }
    return RH_EINVALID;
}

/* Real time or not, the awaited may need this core: after a moment, give it away. */
static void await_followers(struct bench_run *run)
{
    uint32_t follower_count = (uint32_t)run->size - 1;
    int64_t start_ns = clock_now_ns();
    while (atomic_load_explicit(&run->sheet->done_count, memory_order_acquire) < follower_count) {
        if (clock_now_ns() - start_ns > SPIN_NS)
            usleep(20);
    }
}

int bench_lead(struct bench_run *run, enum bench_step step, double *figure)
{
    struct bench_sheet *sheet = run->sheet;
    double ignored;
    if (run->size > 1) {
        atomic_store_explicit(&sheet->done_count, 0, memory_order_relaxed);
        sheet->step_kind = step;
        atomic_fetch_add(&sheet->step, 1); /* the kind is visible with it */
        syscall(SYS_futex, &sheet->step, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    int result = take_step(run, step, figure ? figure : &ignored);
    if (result == 0 && run->size > 1)
        await_followers(run);
    return result;
}

static void await_step(struct bench_sheet *sheet, uint32_t seen)
{
    int64_t start_ns = clock_now_ns();
    while (atomic_load_explicit(&sheet->step, memory_order_acquire) == seen) {
        if (clock_now_ns() - start_ns > SPIN_NS)
            syscall(SYS_futex, &sheet->step, FUTEX_WAIT, seen, NULL, NULL, 0);
    }
}

/* No deadline: if rank 0 ends, the launcher ends us. */
int bench_follow(struct bench_run *run)
{
    struct bench_sheet *sheet = run->sheet;
    uint32_t seen = 0;
    for (;;) {
        double ignored;
        await_step(sheet, seen);
        seen++;
        enum bench_step step = (enum bench_step)sheet->step_kind;
        run->bench_case = &bench_layer_of(sheet)->cases[sheet->step_case];
        int result = take_step(run, step, &ignored);
        if (result < 0)
            return result;
        atomic_fetch_add_explicit(&sheet->done_count, 1, memory_order_release);
        if (step == BENCH_STEP_QUIT)
            return 0;
    }
}
