/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops and their time. A figure is the median of several short loops: a disturbance spoils one of
 * them, not the figure.
 */
#include "base/clock.h"
#include "experiment/machine/bench.h"

#include <string.h>

#define CHUNKS 11
#define TRIPS  200 /* per chunk */
#define COPIES 4
#define BLOCKS 33 /* of new data */
#define WARM   2

/* Both sides of a ping-pong do this alike; the first chunk warms up. */
static int time_chunks(struct bench_run *run, bench_chunk chunk, unsigned count, double *ns)
{
    double times[CHUNKS];
    int result = chunk(run, count);
    for (unsigned i = 0; i < CHUNKS && result == 0; i++) {
        int64_t start_ns = clock_now_ns();
        result = chunk(run, count);
        times[i] = (double)(clock_now_ns() - start_ns) / count;
    }
    if (result == 0)
        *ns = bench_median(times, CHUNKS);
    return result;
}

int bench_time_together(struct bench_run *run, bench_chunk chunk, unsigned count, double *ns)
{
    return time_chunks(run, chunk, count, ns);
}

int bench_blocks_together(struct bench_run *run, bench_chunk chunk, unsigned count, double *rate)
{
    double ns = 1;
    int result = bench_time_together(run, chunk, count, &ns);
    *rate = BENCH_BLOCK_LENGTH / ns; /* bytes in a nanosecond */
    return result;
}

int bench_time(struct bench_run *run, bench_chunk chunk, unsigned count, double *ns)
{
    return run->rank == 0 ? time_chunks(run, chunk, count, ns) : 0;
}

int bench_one_way(struct bench_run *run, bench_chunk chunk, double *ns)
{
    double round_trip_ns;
    if (run->peer < 0)
        return 0;
    int result = time_chunks(run, chunk, TRIPS, &round_trip_ns);
    if (result == 0)
        *ns = round_trip_ns / 2;
    return result;
}

int bench_bandwidth(struct bench_run *run, bench_chunk chunk, double *figure)
{
    double ns = 1;
    int result = bench_time(run, chunk, COPIES, &ns);
    if (result == 0)
        *figure = BENCH_BLOCK_LENGTH / ns;
    return result;
}

int bench_bandwidth_ping(struct bench_run *run, bench_chunk chunk, double *figure)
{
    double round_trip_ns;
    if (run->peer < 0)
        return 0;
    int result = time_chunks(run, chunk, COPIES, &round_trip_ns);
    if (result == 0)
        *figure = 2 * BENCH_BLOCK_LENGTH / round_trip_ns;
    return result;
}

/* Without new data a receiver that copies by itself would find most of it in its own cache. */
int bench_bandwidth_fresh(struct bench_run *run, bench_chunk chunk, double *figure)
{
    double times[BLOCKS];
    int result = 0;
    for (int i = -WARM; i < BLOCKS && result == 0; i++) {
        if (run->rank == 0)
            memset(run->block, i, BENCH_BLOCK_LENGTH);
        int64_t start_ns = clock_now_ns();
        result = chunk(run, 1);
        times[i < 0 ? 0 : i] = (double)(clock_now_ns() - start_ns);
    }
    if (result == 0)
        *figure = BENCH_BLOCK_LENGTH / bench_median(times, BLOCKS);
    return result;
}
