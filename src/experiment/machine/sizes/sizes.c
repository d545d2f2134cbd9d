/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pushes and messages of any size. Rank 0 has the source, rank 1 the target, and rank 0 may still
 * have the last push's target mapped, so a case needs three times its size. Small ones are moved
 * many times in a loop; of large ones few loops are enough.
 */
#include "experiment/machine/sizes/sizes.h"

#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/msg/msg.h"

#include <stdlib.h>
#include <string.h>

#define SID_SIZES   4u
#define LOOP_LENGTH (256u << 10) /* bytes moved in a loop, or so */
#define COUNT_MAX   4096u
#define LARGE       (64u << 20) /* from here on few loops are enough */
#define LOOPS       11
#define LOOPS_LARGE 3
#define TAG         1

static size_t size_of(const struct bench_run *run)
{
    return (size_t)run->bench_case->amount;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Written before the clock runs, so that all of it is there. */
static int open_source(struct bench_run *run)
{
    run->source = malloc(size_of(run));
    if (!run->source)
        return error_fail(RH_ENOSPACE, "no memory for %zu bytes", size_of(run));
    memset(run->source, 1, size_of(run));
    return 0;
}

static int open_target(struct bench_run *run)
{
    void *memory;
    int result = rh_segment_alloc(run->job, SID_SIZES, size_of(run), &memory);
    if (result < 0)
        return result;
    memset(memory, 0, size_of(run));
    run->source = memory;
    return 0;
}

int sizes_open(struct bench_run *run)
{
    if (run->rank == 1)
        return open_target(run);
    int result = rh_segment_wait(run->job, 1, SID_SIZES, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    run->target = rh_remote_ptr(run->job, rh_at(1, SID_SIZES, 0), size_of(run));
    if (!run->target)
        return error_set(RH_EUNSUP, 1, "this NIC gives no pointer to %zu bytes", size_of(run));
    return open_source(run);
}

void sizes_close(struct bench_run *run)
{
    if (run->rank == 1)
        rh_segment_detach(run->job, SID_SIZES);
    else
        free(run->source);
    run->source = run->target = NULL;
}

int sizes_open_messages(struct bench_run *run)
{
    int result = open_source(run);
    return result < 0 ? result : msg_open(run);
}

void sizes_close_messages(struct bench_run *run)
{
    msg_close(run);
    free(run->source);
    run->source = NULL;
}

/* ---- Time ----------------------------------------------------------------------------------- */

static unsigned count_of(size_t size)
{
    size_t count = LOOP_LENGTH / size;
    return count < 1 ? 1 : count > COUNT_MAX ? COUNT_MAX : (unsigned)count;
}

/* What is sent once in a loop is written anew before: else it would stay in the cache of a receiver
 * that copies by itself. */
static int time_moves(struct bench_run *run, bench_chunk move, bool is_fresh, double *figure)
{
    double times[LOOPS];
    size_t size = size_of(run);
    unsigned count = count_of(size);
    int loops = size >= LARGE ? LOOPS_LARGE : LOOPS, result = 0;
    for (int i = -1; i < loops && result == 0; i++) { /* the first one warms up */
        if (is_fresh && count == 1 && run->rank == 0)
            memset(run->source, i, size);
        int64_t start_ns = clock_now_ns();
        result = move(run, count);
        times[i < 0 ? 0 : i] = (double)(clock_now_ns() - start_ns) / count;
    }
    if (result == 0)
        *figure = 1e3 * (double)size / bench_median(times, (unsigned)loops);
    return result;
}

/* ---- Pushes --------------------------------------------------------------------------------- */

static int push_moves(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_push(run->job, rh_at(1, SID_SIZES, 0), run->source, size_of(run));
    return result;
}

static int copy_moves(struct bench_run *run, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        memcpy(run->target, run->source, size_of(run));
        __asm__ volatile("" ::: "memory"); /* each copy is made */
    }
    return 0;
}

int sizes_push(struct bench_run *run, double *figure)
{
    return run->rank == 0 ? time_moves(run, push_moves, false, figure) : 0;
}

int sizes_copy(struct bench_run *run, double *figure)
{
    return run->rank == 0 ? time_moves(run, copy_moves, false, figure) : 0;
}

/* ---- Messages ------------------------------------------------------------------------------- */

/* All of it has been received when the answer comes. */
static int answer(struct bench_run *run)
{
    uint64_t word = 0;
    return run->rank == 0 ? rh_recv(run->msg, 1, TAG, &word, sizeof(word), NULL)
                          : rh_send(run->msg, 0, TAG, &word, sizeof(word));
}

static int stream_moves(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        if (run->rank == 0)
            result = rh_send(run->msg, 1, TAG, run->source, size_of(run));
        else
            result = rh_recv(run->msg, 0, TAG, run->source, size_of(run), NULL);
    }
    return result < 0 ? result : answer(run);
}

static int ring_moves(struct bench_run *run, unsigned count)
{
    raw_ring_move(run, run->source, size_of(run), count);
    return 0;
}

int sizes_stream(struct bench_run *run, double *figure)
{
    return time_moves(run, stream_moves, true, figure);
}

int sizes_ring(struct bench_run *run, double *figure)
{
    return time_moves(run, ring_moves, true, figure);
}
