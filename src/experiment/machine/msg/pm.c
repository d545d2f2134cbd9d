/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pm-auto: what a message costs its receiver when there are many senders, and how much memory.
 *
 * This must not measure how two cores share hundreds of processes. So a figure is taken of bursts:
 * the senders, on another core, each send their share, for which there is room; when all have, the
 * receiver takes everything with the clock running. What it pays for is finding the messages,
 * moving their lines here and giving the places back. Between bursts nobody calls the kernel on the
 * receiver's core, which would leave it with cold caches and small bursts at a disadvantage.
 */
#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/msg/msg.h"

#include <sched.h>

#define LENGTH      8
#define SHARE_MAX   32  /* messages of one sender in a burst: below what a ring holds */
#define TOTAL_MAX   256 /* of all: what a queue holds */
#define BURSTS      11  /* and one to warm up */
#define PATIENCE_NS (10 * NS_PER_S)

int msg_pm_open(struct bench_run *run)
{
    struct pm_options options = {.struct_size = sizeof(options),
                                 .implementation = "pm-auto",
                                 .flags = run->rank == 0 ? 0 : PM_SEND_ONLY};
    struct pm_info info = {.struct_size = sizeof(info)};
    int result = pmOpenContext(&run->pm, run->job, &options);
    if (result == 0)
        result = pmGetInfo(run->pm, &info);
    if (result < 0)
        return error_fail(result, "%s", pmErrorText());
    if (run->rank == 0) {
        struct bench_figure *figure = &run->sheet->figure[run->sheet->step_case];
        figure->memory = info.memory;
        figure->memory_per_sender = info.memory_per_rank;
    }
    return 0;
}

void msg_pm_close(struct bench_run *run)
{
    if (run->pm)
        pmCloseContext(run->pm);
    run->pm = NULL;
}

static int send_share(struct bench_run *run, unsigned share)
{
    for (unsigned i = 0; i < share; i++) {
        void *buffer;
        int result = pmGetSendBuffer(run->pm, 0, LENGTH, &buffer);
        if (result == 0) {
            *(uint64_t *)buffer = (uint64_t)run->rank;
            result = pmSendWait(run->pm, RH_TIMEOUT_DEFAULT);
        }
        if (result < 0)
            return error_set(result, 0, "%s", pmErrorText());
    }
    atomic_fetch_add_explicit(&run->sheet->sent_count, share, memory_order_release);
    return 0;
}

static int await_sent(struct bench_run *run, uint64_t count)
{
    int64_t deadline_ns = clock_deadline_ns(PATIENCE_NS);
    while (atomic_load_explicit(&run->sheet->sent_count, memory_order_acquire) < count) {
        if (clock_now_ns() > deadline_ns)
            return error_fail(RH_ETIMEOUT, "the senders did not send in time");
        for (unsigned i = 0; i < 100; i++)
            cpu_relax(); /* or our looking would slow them down */
    }
    atomic_store(&run->sheet->sent_count, 0);
    return 0;
}

static int take(struct bench_run *run, unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        struct pm_message message;
        int result = pmReceive(run->pm, &message);
        if (result == 0) {
            sum += *(const uint64_t *)message.data;
            result = pmReleaseReceiveBuffer(run->pm);
        }
        if (result < 0)
            return error_fail(result, "message %u of %u: %s", i + 1, count,
                              result == RH_EAGAIN ? "is not there" : pmErrorText());
    }
    __asm__ volatile("" ::"r"(sum)); /* each message is looked at */
    return 0;
}

static int send_bursts(struct bench_run *run, unsigned share)
{
    int64_t deadline_ns = clock_deadline_ns(PATIENCE_NS);
    int result = 0;
    for (uint32_t burst = 1; burst <= BURSTS + 1 && result == 0; burst++) {
        while (atomic_load_explicit(&run->sheet->burst, memory_order_acquire) < burst) {
            if (clock_now_ns() > deadline_ns)
                return error_set(RH_ETIMEOUT, 0, "the receiver did not ask for messages in time");
            sched_yield(); /* the others are on this core */
        }
        result = send_share(run, share);
    }
    return result;
}

static int receive_bursts(struct bench_run *run, unsigned total, double *ns)
{
    double times[BURSTS + 1];
    int result = 0;
    for (uint32_t burst = 0; burst <= BURSTS && result == 0; burst++) {
        atomic_store_explicit(&run->sheet->burst, burst + 1, memory_order_release);
        result = await_sent(run, total);
        int64_t start_ns = clock_now_ns();
        if (result == 0)
            result = take(run, total);
        times[burst] = (double)(clock_now_ns() - start_ns) / total;
    }
    atomic_store(&run->sheet->burst, 0); /* for the next step; all have sent all */
    *ns = bench_median(times + 1, BURSTS);
    return result;
}

static int drain(struct bench_run *run, unsigned sender_count, double *ns)
{
    unsigned share = TOTAL_MAX / sender_count;
    share = share < SHARE_MAX ? share : SHARE_MAX;
    if (run->rank == 0)
        return receive_bursts(run, share * sender_count, ns);
    return (unsigned)run->rank <= sender_count ? send_bursts(run, share) : 0;
}

int msg_pm_take_two(struct bench_run *run, double *figure)
{
    return drain(run, 2, figure);
}

int msg_pm_take_all(struct bench_run *run, double *figure)
{
    return drain(run, (unsigned)run->bench_case->amount, figure);
}
