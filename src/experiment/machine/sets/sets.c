/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of all ranks, each with buffers of its own that are written before the clock runs.
 */
#include "experiment/machine/sets/sets.h"

#include "base/error.h"
#include "experiment/machine/msg/msg.h"

#include <stdlib.h>

#define WORK (4u << 20) /* bytes that a loop brings a rank, or so */

static size_t length_of(const struct bench_run *run)
{
    return (size_t)run->bench_case->amount;
}

int bench_sets_open(struct bench_run *run)
{
    size_t whole = length_of(run) * (size_t)run->size;
    run->source = malloc(whole);
    run->target = malloc(whole);
    if (!run->source || !run->target)
        return error_fail(RH_ENOSPACE, "no memory for %zu bytes", 2 * whole);
    memset(run->source, run->rank, whole);
    memset(run->target, 0, whole);
    return msg_set_open(run);
}

void bench_sets_close(struct bench_run *run)
{
    msg_set_close(run);
    free(run->source);
    free(run->target);
    run->source = run->target = NULL;
}

/* ---- Ours ----------------------------------------------------------------------------------- */

/* Each is the root in its turn: a root that never waits would only measure its own sending. */
static int broadcast_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_broadcast(run->set, (int)i % run->size, run->target, length_of(run));
    return result;
}

static int allgather_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_allgather(run->set, run->source, run->target, length_of(run));
    return result;
}

static int alltoall_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_alltoall(run->set, run->source, run->target, length_of(run));
    return result;
}

static int allreduce_chunk(struct bench_run *run, unsigned count)
{
    const struct rh_reduction sum = {
        .type = RH_UINT64, .operator_ = RH_SUM, .count = length_of(run) / sizeof(uint64_t)};
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_allreduce(run->set, run->source, run->target, &sum);
    return result;
}

/* ---- Raw ------------------------------------------------------------------------------------ */

static void take(struct bench_run *run, int count)
{
    size_t length = length_of(run);
    for (int rank = 0; rank < count; rank++)
        memcpy(run->target + (size_t)rank * length, run->sheet->raw[rank % 2], length);
}

static int take_one_chunk(struct bench_run *run, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        raw_barrier_once(run);
        take(run, 1);
    }
    return 0;
}

static int take_all_chunk(struct bench_run *run, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        raw_barrier_once(run);
        take(run, run->size);
    }
    return 0;
}

/* ---- Time ----------------------------------------------------------------------------------- */

static int time_us(struct bench_run *run, bench_chunk chunk, double *us)
{
    size_t most = WORK / (length_of(run) * (size_t)run->size);
    unsigned count = most < 1                     ? 1
                     : most > bench_meetings(run) ? bench_meetings(run)
                                                  : (unsigned)most;
    int result = bench_time_together(run, chunk, count, us);
    *us /= 1e3;
    return result;
}

BENCH_MEASURE(raw_sets_one, time_us, take_one_chunk)
BENCH_MEASURE(raw_sets_all, time_us, take_all_chunk)
BENCH_MEASURE(sets_broadcast, time_us, broadcast_chunk)
BENCH_MEASURE(sets_allgather, time_us, allgather_chunk)
BENCH_MEASURE(sets_alltoall, time_us, alltoall_chunk)
BENCH_MEASURE(sets_allreduce, time_us, allreduce_chunk)
