/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory: what acquiring costs, near and far. A step that only one side takes is timed
 * alone, call by call, with what looking at the clock costs taken off.
 */
#include "base/clock.h"
#include "base/fence.h"
#include "experiment/machine/dsm/dsm.h"

#include <rhinet/dsm.h>
#include <string.h>

#define VARIABLE 0u
#define SAMPLES  101
#define HITS     1000
#define BLOCK    4096u

/* ---- Set up --------------------------------------------------------------------------------- */

/* Variable 0, with so many bytes bound to it. */
static int open_bound(struct bench_run *run, uint64_t length, unsigned mode)
{
    struct rh_dsm_options options = {
        .struct_size = sizeof(options), .heap_length = 1u << 20, .variable_count = 8};
    int result = rh_dsm_open(&run->dsm, run->job, &options);
    if (result == 0)
        result = rh_dsm_alloc_named(run->dsm, 0, length, &run->dsm_offset);
    if (result < 0 || run->rank != 0)
        return result < 0 ? result : rh_dsm_barrier(run->dsm, NULL, 0, RH_TIMEOUT_DEFAULT);
    struct rh_dsm_region region = {.offset = run->dsm_offset, .length = length};
    result = rh_dsm_acquire(run->dsm, VARIABLE, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
    if (result == 0)
        result = rh_dsm_bind(run->dsm, VARIABLE, &region, 1);
    if (result == 0)
        result = rh_dsm_mode(run->dsm, VARIABLE, mode);
    memset(rh_dsm_ptr(run->dsm, run->dsm_offset), 0, length);
    rh_dsm_release(run->dsm, VARIABLE);
    return result < 0 ? result : rh_dsm_barrier(run->dsm, NULL, 0, RH_TIMEOUT_DEFAULT);
}

int dsm_open_word(struct bench_run *run)
{
    return open_bound(run, 8, RH_DSM_PULL);
}

int dsm_open_block(struct bench_run *run)
{
    return open_bound(run, BLOCK, RH_DSM_PULL);
}

int dsm_open_pushed(struct bench_run *run)
{
    return open_bound(run, BLOCK, RH_DSM_PUSH);
}

void dsm_close(struct bench_run *run)
{
    rh_dsm_close(run->dsm);
    run->dsm = NULL;
}

static int meet(struct bench_run *run)
{
    return rh_dsm_barrier(run->dsm, NULL, 0, RH_TIMEOUT_DEFAULT);
}

static int touch(struct bench_run *run, enum rh_dsm_access access)
{
    volatile uint64_t *word = rh_dsm_ptr(run->dsm, run->dsm_offset);
    int result = rh_dsm_acquire(run->dsm, VARIABLE, access, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    if (access == RH_DSM_WRITE)
        *word = *word + 1;
    else
        (void)*word;
    return rh_dsm_release(run->dsm, VARIABLE);
}

/* ---- Hits ----------------------------------------------------------------------------------- */

static int read_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        result |= rh_dsm_acquire(run->dsm, VARIABLE, RH_DSM_READ, RH_TIMEOUT_DEFAULT);
        result |= rh_dsm_release(run->dsm, VARIABLE);
    }
    return result;
}

static int write_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        result |= rh_dsm_acquire(run->dsm, VARIABLE, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
        result |= rh_dsm_release(run->dsm, VARIABLE);
    }
    return result;
}

BENCH_MEASURE(dsm_read_hit, bench_time, read_chunk, HITS)
BENCH_MEASURE(dsm_write_hit, bench_time, write_chunk, HITS)

/* ---- Ownership to and fro ------------------------------------------------------------------- */

/* Rank 0 and 1 in turn, told by a word of raw memory: a trip that is taken off afterwards. */
static int hand_chunk(struct bench_run *run, unsigned count)
{
    uint64_t *own = bench_word(run->memory, 0), *peer = bench_word(run->remote_memory, 0);
    bool leads = run->rank == 0;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        if (leads) {
            result |= touch(run, RH_DSM_WRITE);
            __atomic_store_n(peer, number, __ATOMIC_RELEASE);
        }
        while (__atomic_load_n(own, __ATOMIC_ACQUIRE) != number)
            ;
        if (!leads) {
            result |= touch(run, RH_DSM_WRITE);
            __atomic_store_n(peer, number, __ATOMIC_RELEASE);
        }
    }
    return result;
}

static int hand_over_far(struct bench_run *run, double *figure);

int dsm_hand_over(struct bench_run *run, double *figure)
{
    if (bench_is_far(run->sheet)) /* who polls a word does not serve the network */
        return hand_over_far(run, figure);
    double both_ns = 0, trip_ns = 0;
    int result = bench_one_way(run, hand_chunk, &both_ns);
    if (result == 0)
        result = raw_trip(run, &trip_ns);
    *figure = both_ns - trip_ns;
    return result;
}

/* Both want it all the time. */
static int fight_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = touch(run, RH_DSM_WRITE);
    return result;
}

int dsm_contended(struct bench_run *run, double *figure)
{
    double ns = 2;
    int result = bench_time_together(run, fight_chunk, 500, &ns);
    *figure = ns / 2;
    return result;
}

int dsm_barrier(struct bench_run *run, double *figure)
{
    double times[SAMPLES];
    int result = 0;
    for (int i = 0; i < SAMPLES && result == 0; i++) {
        int64_t start_ns = clock_now_ns();
        for (int j = 0; j < 10 && result == 0; j++)
            result = meet(run);
        times[i] = (double)(clock_now_ns() - start_ns) / 10;
    }
    *figure = bench_median(times, SAMPLES);
    return result;
}

/* ---- One side's step ------------------------------------------------------------------------ */

static int64_t clock_cost_ns(void)
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < 100; i++) {
        int64_t first_ns = clock_now_ns(), cost_ns = clock_now_ns() - first_ns;
        least_ns = cost_ns < least_ns ? cost_ns : least_ns;
    }
    return least_ns;
}

/* What happens before a timed step, by all, and the step, by rank 0. */
struct step {
    int (*prepare)(struct bench_run *run);
    int (*act)(struct bench_run *run);
    int (*finish)(struct bench_run *run); /* by rank 0, after the step */
};

static int time_step(struct bench_run *run, const struct step *step, double *figure)
{
    double times[SAMPLES];
    int64_t cost_ns = clock_cost_ns();
    int result = 0;
    for (int i = 0; i < SAMPLES && result == 0; i++) {
        result = step->prepare(run);
        if (result == 0)
            result = meet(run);
        if (result == 0 && run->rank == 0) {
            int64_t start_ns = clock_now_ns();
            result = step->act(run);
            times[i] = (double)(clock_now_ns() - start_ns - cost_ns);
            if (result == 0)
                result = step->finish(run);
        }
        if (result == 0)
            result = meet(run);
    }
    if (run->rank == 0)
        *figure = bench_median(times, SAMPLES);
    return result;
}

static int acquire_read(struct bench_run *run)
{
    return rh_dsm_acquire(run->dsm, VARIABLE, RH_DSM_READ, RH_TIMEOUT_DEFAULT);
}

static int acquire_write(struct bench_run *run)
{
    return rh_dsm_acquire(run->dsm, VARIABLE, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
}

static int release(struct bench_run *run)
{
    return rh_dsm_release(run->dsm, VARIABLE);
}

static int do_nothing(struct bench_run *run)
{
    return 0;
}

/* As many readers as fit into one another: one look at the clock is for all of them. */
static int acquire_many(struct bench_run *run)
{
    int result = 0;
    for (int i = 0; i < HITS && result == 0; i++)
        result = acquire_read(run);
    return result;
}

static int release_many(struct bench_run *run)
{
    int result = 0;
    for (int i = 0; i < HITS && result == 0; i++)
        result = release(run);
    return result;
}

int dsm_read_acquire(struct bench_run *run, double *figure)
{
    static const struct step step = {do_nothing, acquire_many, release_many};
    int result = time_step(run, &step, figure);
    *figure /= HITS;
    return result;
}

/* Rank 1 has written all of it. */
static int peer_writes(struct bench_run *run)
{
    if (run->rank != 1)
        return 0;
    int result = acquire_write(run);
    if (result < 0)
        return result;
    memset(rh_dsm_ptr(run->dsm, run->dsm_offset), (int)++run->sequence, BLOCK);
    return release(run);
}

static int peer_touches(struct bench_run *run)
{
    return run->rank == 1 ? touch(run, RH_DSM_WRITE) : 0;
}

static int take(struct bench_run *run)
{
    return touch(run, RH_DSM_WRITE);
}

static int hand_over_far(struct bench_run *run, double *figure)
{
    static const struct step step = {peer_touches, take, do_nothing};
    return time_step(run, &step, figure);
}

int dsm_fetch(struct bench_run *run, double *figure)
{
    static const struct step step = {peer_writes, acquire_read, release};
    uint64_t sequence = run->sequence;
    int result = time_step(run, &step, figure);
    run->sequence = sequence; /* both sides go on with the same number */
    return result;
}

/* Raw: 1.5 times a push of as much, into memory that the peer has just written, and a trip. */
static int peer_fills(struct bench_run *run)
{
    if (run->rank == 1)
        memset(run->memory + BENCH_BLOCK_AT, 1, BLOCK);
    return 0;
}

static int push_block(struct bench_run *run)
{
    memcpy(run->remote_memory + BENCH_BLOCK_AT, run->block, BLOCK);
    full_fence(); /* there, not on its way */
    return 0;
}

int dsm_raw_fetch(struct bench_run *run, double *figure)
{
    static const struct step step = {peer_fills, push_block, do_nothing};
    double push_ns = 0, trip_ns = 0;
    int result = raw_trip(run, &trip_ns);
    if (result == 0)
        result = time_step(run, &step, &push_ns);
    *figure = 1.5 * push_ns + trip_ns;
    return result;
}

/* All others have read it. */
static int others_read(struct bench_run *run)
{
    int result = meet(run);
    return run->rank == 0 || result < 0 ? result : touch(run, RH_DSM_READ);
}

int dsm_invalidate(struct bench_run *run, double *figure)
{
    static const struct step step = {others_read, acquire_write, release};
    return time_step(run, &step, figure);
}

static int others_read_then_write(struct bench_run *run)
{
    int result = others_read(run);
    if (result == 0)
        result = meet(run);
    if (result < 0 || run->rank != 0)
        return result;
    result = acquire_write(run);
    memset(rh_dsm_ptr(run->dsm, run->dsm_offset), 1, BLOCK);
    return result;
}

int dsm_update(struct bench_run *run, double *figure)
{
    static const struct step step = {others_read_then_write, release, do_nothing};
    return time_step(run, &step, figure);
}
