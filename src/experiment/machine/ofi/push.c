/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our side of the cases of the libfabric NICs: rank 0 writes to rank 1 and waits for each write, or
 * keeps several under way; rank 1 waits for a word meanwhile, as raw's peer looks at its queue.
 */
#include "experiment/machine/msg/msg.h"
#include "experiment/machine/ofi/ofi.h"

static int await_word(struct bench_run *run, uint64_t offset, uint64_t value)
{
    struct rh_wait wait = {.word = bench_word(run->memory, offset),
                           .when = RH_AT_LEAST,
                           .value = value,
                           .from = run->peer,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    return rh_wait_word(run->job, &wait);
}

static int active(struct bench_run *run, bench_chunk chunk, unsigned count)
{
    uint64_t number = ++run->sequence;
    if (run->rank != 0)
        return await_word(run, BENCH_WORD_DONE, number);
    int result = chunk(run, count);
    return result < 0 ? result
                      : rh_push_inline(run->job, rh_at(run->peer, BENCH_SID, BENCH_WORD_DONE),
                                       &number, sizeof(number));
}

static int push_words(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (uint64_t i = 0; i < count && result == 0; i++)
        result = rh_push(run->job, rh_at(run->peer, BENCH_SID, BENCH_WORD_HOT), &i, sizeof(i));
    return result;
}

static int push_blocks(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_push(run->job, rh_at(run->peer, BENCH_SID, BENCH_BLOCK_AT), run->block,
                         BENCH_BLOCK_LENGTH);
    return result;
}

static int stream_blocks(struct bench_run *run, unsigned count)
{
    struct rh_done done[BENCH_OFI_WINDOW];
    int result = 0;
    for (unsigned i = 0; i < count + BENCH_OFI_WINDOW && result == 0; i++) {
        struct rh_done *own = &done[i % BENCH_OFI_WINDOW];
        if (i >= BENCH_OFI_WINDOW && i - BENCH_OFI_WINDOW < count)
            result = rh_wait_done(run->job, own, RH_TIMEOUT_DEFAULT);
        if (i < count && result == 0)
            result = rh_push_start(run->job, rh_at(run->peer, BENCH_SID, BENCH_BLOCK_AT),
                                   run->block, BENCH_BLOCK_LENGTH, own);
    }
    return result;
}

static int words_chunk(struct bench_run *run, unsigned count)
{
    return active(run, push_words, count);
}

static int blocks_chunk(struct bench_run *run, unsigned count)
{
    return active(run, push_blocks, count);
}

static int stream_chunk(struct bench_run *run, unsigned count)
{
    return active(run, stream_blocks, count);
}

BENCH_MEASURE(ofi_push_words, bench_time_together, words_chunk, BENCH_OFI_WORDS)
BENCH_MEASURE(ofi_push_blocks, bench_blocks_together, blocks_chunk, BENCH_OFI_BLOCKS)
BENCH_MEASURE(ofi_push_stream, bench_blocks_together, stream_chunk, BENCH_OFI_BLOCKS)

int ofi_send_open(struct bench_run *run)
{
    int result = raw_ofi_open(run);
    return result < 0 ? result : msg_open(run);
}

void ofi_send_close(struct bench_run *run)
{
    msg_close(run);
    raw_ofi_close(run);
}
