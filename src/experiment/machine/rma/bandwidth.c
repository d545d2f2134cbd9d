/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pushes of a large block, into fast memory and into memory that the peer brought itself.
 */
#include "experiment/machine/rma/rma.h"

#include <rhinet/rma.h>
#include <unistd.h>

static int push_to(struct bench_run *run, struct rh_remote target, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_push(run->job, target, run->block, BENCH_BLOCK_LENGTH);
    return result;
}

static int push_chunk(struct bench_run *run, unsigned count)
{
    return push_to(run, rh_at(run->peer, BENCH_SID, BENCH_BLOCK_AT), count);
}

BENCH_MEASURE(rma_push_block, bench_bandwidth, push_chunk)

/* To and fro: each side sends back what it received. */
static int push_ping_chunk(struct bench_run *run, unsigned count)
{
    struct rh_remote target = rh_at(run->peer, BENCH_SID, BENCH_BLOCK_AT);
    struct rh_notice notice = {.word = rh_at(run->peer, BENCH_SID, 0)};
    struct rh_wait wait = {
        .word = bench_word(run->memory, 0), .from = run->peer, .timeout_ns = RH_TIMEOUT_DEFAULT};
    bool leads = run->rank == 0;
    int result = 0;
    for (unsigned i = 0; i < 2 * count && result == 0; i++) {
        run->sequence += i % 2 == 0;
        notice.value = wait.value = run->sequence;
        if ((i % 2 == 0) == leads)
            result = rh_push_notify(run->job, target, run->memory + BENCH_BLOCK_AT,
                                    BENCH_BLOCK_LENGTH, &notice);
        else
            result = rh_wait_word(run->job, &wait);
    }
    return result;
}

BENCH_MEASURE(rma_push_ping, bench_bandwidth_ping, push_ping_chunk)

/* ---- Attached memory ------------------------------------------------------------------------ */

/* Each rank offers its private block; the raw program is told the address. */
int rma_attached_open(struct bench_run *run)
{
    *bench_word(run->memory, BENCH_WORD_PID) = (uint64_t)getpid();
    *bench_word(run->memory, BENCH_WORD_ADDRESS) = (uint64_t)(uintptr_t)run->block;
    int result = rh_segment_attach(run->job, BENCH_SID_ATTACHED, run->block, BENCH_BLOCK_LENGTH);
    if (result < 0)
        return result;
    return rh_segment_wait(run->job, run->peer, BENCH_SID_ATTACHED, RH_TIMEOUT_DEFAULT);
}

void rma_attached_close(struct bench_run *run)
{
    rh_segment_detach(run->job, BENCH_SID_ATTACHED);
}

static int push_attached_chunk(struct bench_run *run, unsigned count)
{
    return push_to(run, rh_at(run->peer, BENCH_SID_ATTACHED, 0), count);
}

BENCH_MEASURE(rma_push_attached, bench_bandwidth, push_attached_chunk)
