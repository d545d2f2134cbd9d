/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Append: a ping-pong of two queues, and what a message costs its receiver when there are many
 * senders.
 *
 * The latter must not measure how two cores share forty processes. So the receiver has one core,
 * all senders have the other, and only the receiver is timed, while the queue is neither empty nor
 * full: of each burst the first half is awaited, then taken with the clock running while the
 * second half is being sent.
 */
#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/rma/rma.h"

#include <rhinet/rma.h>
#include <sched.h>

#define BURST        8192 /* messages, of all senders together */
#define TIMED        (BURST / 2)
#define CHUNK        256 /* messages timed together */
#define CHUNKS       (TIMED / CHUNK)
#define QUEUE_LENGTH (2 * BURST)
#define PIECE        8 /* messages that a sender sends before it lets another have the core */
#define PATIENCE_NS  (10 * NS_PER_S)

/* ---- One way -------------------------------------------------------------------------------- */

static int open_queue(struct bench_run *run, uint32_t slot_count)
{
    struct rh_queue_shape shape = {.slot_count = slot_count, .slot_length = 8};
    return rh_queue_create(run->job, BENCH_SID_QUEUE, shape, &run->queue);
}

/* As many slots as raw_trip_lines() uses lines. */
int rma_append_open(struct bench_run *run)
{
    int result = open_queue(run, BENCH_LINE_COUNT);
    if (result < 0)
        return result;
    return rh_segment_wait(run->job, run->peer, BENCH_SID_QUEUE, RH_TIMEOUT_DEFAULT);
}

void rma_append_close(struct bench_run *run)
{
    if (run->queue)
        rh_queue_destroy(run->queue);
    run->queue = NULL;
}

static inline int receive(struct bench_run *run, uint64_t expected)
{
    struct rh_arrival arrival;
    int result = rh_queue_next(run->queue, &arrival, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    uint64_t number = *(const uint64_t *)arrival.data;
    rh_queue_release(run->queue);
    if (number != expected)
        return error_set(RH_ECORRUPT, run->peer, "message %llu arrived instead of %llu",
                         (unsigned long long)number, (unsigned long long)expected);
    return 0;
}

static int append_chunk(struct bench_run *run, unsigned count)
{
    bool leads = run->rank == 0;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        if (leads)
            result |= rh_append(run->job, run->peer, BENCH_SID_QUEUE, &number, 8);
        result |= receive(run, number);
        if (!leads)
            result |= rh_append(run->job, run->peer, BENCH_SID_QUEUE, &number, 8);
    }
    return result;
}

BENCH_MEASURE(rma_append, bench_one_way, append_chunk)

/* ---- Many senders --------------------------------------------------------------------------- */

int rma_drain_open(struct bench_run *run)
{
    if (run->rank == 0)
        return open_queue(run, QUEUE_LENGTH);
    return rh_segment_wait(run->job, 0, BENCH_SID_QUEUE, RH_TIMEOUT_DEFAULT);
}

static int send_share(struct bench_run *run, unsigned count)
{
    uint64_t number = (uint64_t)run->rank;
    for (unsigned sent = 0; sent < count; sent += PIECE) {
        for (unsigned i = 0; i < PIECE; i++) {
            int result = rh_append(run->job, 0, BENCH_SID_QUEUE, &number, 8);
            if (result < 0)
                return result;
        }
        atomic_fetch_add_explicit(&run->sheet->sent_count, PIECE, memory_order_release);
        sched_yield();
    }
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
    return 0;
}

static int take(struct bench_run *run, unsigned count)
{
    struct rh_arrival arrival;
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        int result = rh_queue_next(run->queue, &arrival, RH_TIMEOUT_DEFAULT);
        if (result < 0)
            return result;
        sum += *(const uint64_t *)arrival.data;
        rh_queue_release(run->queue);
    }
    __asm__ volatile("" ::"r"(sum)); /* each message is looked at */
    return 0;
}

static int receive_burst(struct bench_run *run, double *ns)
{
    double times[CHUNKS];
    int result = await_sent(run, TIMED);
    for (unsigned i = 0; i < CHUNKS && result == 0; i++) {
        int64_t start_ns = clock_now_ns();
        result = take(run, CHUNK);
        times[i] = (double)(clock_now_ns() - start_ns) / CHUNK;
    }
    if (result == 0)
        result = take(run, BURST - TIMED);
    if (result == 0)
        *ns = bench_median(times, CHUNKS);
    atomic_store(&run->sheet->sent_count, 0);
    return result;
}

static int drain(struct bench_run *run, int sender_count, double *ns)
{
    if (run->rank == 0)
        return receive_burst(run, ns);
    return run->rank <= sender_count ? send_share(run, BURST / (unsigned)sender_count) : 0;
}

int rma_drain_one(struct bench_run *run, double *figure)
{
    return drain(run, 1, figure);
}

int rma_drain_all(struct bench_run *run, double *figure)
{
    return drain(run, run->bench_case->amount, figure);
}
