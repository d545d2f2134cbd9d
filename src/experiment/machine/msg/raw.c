/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The raw programs beside messages: a two-copy ring, a stream of lines, two atomics, a bare queue
 * lock, a barrier of a counter and a word. No checks, no deaths, no deadlines.
 */
#include "experiment/machine/msg/msg.h"

#include <sched.h>
#include <string.h>

#define RING_SLOTS   16u
#define RING_SLOT    32768u
#define LINES        2000
#define CREDIT_EVERY 16u
_Static_assert(RING_SLOTS <= BENCH_LINE_COUNT, "each slot has a line for its number");

static inline uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* pairs with store() */
}

static inline void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE); /* pairs with load() */
}

static inline void await(const uint64_t *word, uint64_t value)
{
    while (load(word) != value)
        ;
}

static inline void await_at_least(const uint64_t *word, uint64_t value)
{
    while ((int64_t)(load(word) - value) < 0)
        ;
}

static inline uint64_t *line_of(char *memory, uint64_t number, uint64_t count)
{
    return bench_word(memory, BENCH_LINES_AT + number % count * BENCH_LINE);
}

/* ---- A two-copy ring ------------------------------------------------------------------------ */

/* What goes through it: `count` blocks, in pieces of a slot at most. */
struct stream {
    char *block;
    size_t length;
    uint64_t first; /* number of its first piece */
    uint64_t pieces, pieces_a_block;
};

static inline size_t piece_at(const struct stream *stream, uint64_t i, size_t *offset)
{
    *offset = i % stream->pieces_a_block * RING_SLOT;
    return stream->length - *offset < RING_SLOT ? stream->length - *offset : RING_SLOT;
}

static void ring_send(struct bench_run *run, const struct stream *stream)
{
    uint64_t *done = bench_word(run->memory, BENCH_WORD_DONE);
    char *ring = run->remote_memory + BENCH_BLOCK_AT;
    for (uint64_t i = 0; i < stream->pieces; i++) {
        uint64_t number = stream->first + i;
        size_t offset, length = piece_at(stream, i, &offset);
        if (i >= RING_SLOTS)
            await_at_least(done, number - RING_SLOTS);
        memcpy(ring + number % RING_SLOTS * RING_SLOT, stream->block + offset, length);
        store(line_of(run->remote_memory, number, RING_SLOTS), number);
    }
    await(done, stream->first + stream->pieces - 1);
}

static void ring_receive(struct bench_run *run, const struct stream *stream)
{
    uint64_t *done = bench_word(run->remote_memory, BENCH_WORD_DONE);
    const char *ring = run->memory + BENCH_BLOCK_AT;
    for (uint64_t i = 0; i < stream->pieces; i++) {
        uint64_t number = stream->first + i;
        size_t offset, length = piece_at(stream, i, &offset);
        await(line_of(run->memory, number, RING_SLOTS), number);
        memcpy(stream->block + offset, ring + number % RING_SLOTS * RING_SLOT, length);
        store(done, number);
    }
}

void raw_ring_move(struct bench_run *run, char *block, size_t length, unsigned count)
{
    uint64_t pieces_a_block = (length + RING_SLOT - 1) / RING_SLOT;
    struct stream stream = {.block = block,
                            .length = length,
                            .first = run->sequence + 1,
                            .pieces = count * pieces_a_block,
                            .pieces_a_block = pieces_a_block};
    if (run->rank == 0)
        ring_send(run, &stream);
    else
        ring_receive(run, &stream);
    run->sequence += stream.pieces;
}

static int ring_chunk(struct bench_run *run, unsigned count)
{
    raw_ring_move(run, run->block, BENCH_BLOCK_LENGTH, count);
    return 0;
}

BENCH_MEASURE(raw_ring_block, bench_bandwidth_fresh, ring_chunk)

/* ---- A stream of lines ---------------------------------------------------------------------- */

static int stream_chunk(struct bench_run *run, unsigned count)
{
    uint64_t first = run->sequence + 1, last = run->sequence + count;
    if (run->rank == 0) {
        uint64_t *done = bench_word(run->memory, BENCH_WORD_DONE);
        for (uint64_t number = first; number <= last; number++) {
            if (number - first >= BENCH_LINE_COUNT)
                await_at_least(done, number - BENCH_LINE_COUNT);
            store(line_of(run->remote_memory, number, BENCH_LINE_COUNT), number);
        }
        await(done, last);
    } else {
        uint64_t *done = bench_word(run->remote_memory, BENCH_WORD_DONE);
        for (uint64_t number = first; number <= last; number++) {
            await(line_of(run->memory, number, BENCH_LINE_COUNT), number);
            if (number % CREDIT_EVERY == 0 || number == last)
                store(done, number);
        }
    }
    run->sequence = last;
    return 0;
}

int raw_stream_lines(struct bench_run *run, double *figure)
{
    double ns = 1;
    int result = bench_time_together(run, stream_chunk, LINES, &ns);
    *figure = 1e3 / ns;
    return result;
}

/* ---- Locks ---------------------------------------------------------------------------------- */

static int two_atomics_chunk(struct bench_run *run, unsigned count)
{
    uint64_t *word = bench_word(run->remote_memory, BENCH_WORD_HOT);
    for (unsigned i = 0; i < count; i++) {
        uint64_t mine = 2;
        __atomic_exchange_n(word, mine, __ATOMIC_SEQ_CST);
        __atomic_compare_exchange_n(word, &mine, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    }
    return 0;
}

BENCH_MEASURE(raw_two_atomics, bench_time, two_atomics_chunk, 1000)

/* The queue lock of Mellor-Crummey and Scott for two: the last requester stands in rank 1's memory
 * as rank + 1; each waits on a word of its own. */
static int hand_over_chunk(struct bench_run *run, unsigned count)
{
    uint64_t own = (uint64_t)run->rank + 1;
    uint64_t *tail = bench_word(run->rank == 1 ? run->memory : run->remote_memory, BENCH_WORD_TAIL);
    uint64_t *next = bench_word(run->memory, BENCH_WORD_NEXT);
    uint64_t *granted = bench_word(run->memory, BENCH_WORD_NEXT + BENCH_LINE);
    uint64_t *peer_next = bench_word(run->remote_memory, BENCH_WORD_NEXT);
    uint64_t *peer_granted = bench_word(run->remote_memory, BENCH_WORD_NEXT + BENCH_LINE);
    for (unsigned i = 0; i < count; i++) {
        store(next, 0);
        store(granted, 0);
        if (__atomic_exchange_n(tail, own, __ATOMIC_SEQ_CST) != 0) {
            store(peer_next, own);
            await(granted, 1);
        }
        uint64_t expected = own;
        if (load(next) == 0 && __atomic_compare_exchange_n(tail, &expected, 0, false,
                                                           __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            continue;
        while (load(next) == 0)
            ;
        store(peer_granted, 1);
    }
    return 0;
}

/* Two hand-overs an iteration: one to us, one from us. */
int raw_hand_over(struct bench_run *run, double *figure)
{
    double ns = 2;
    int result = bench_time_together(run, hand_over_chunk, 500, &ns);
    *figure = ns / 2;
    return result;
}

/* ---- Barrier -------------------------------------------------------------------------------- */

static inline void await_release(struct bench_run *run, uint64_t number)
{
    bool yields = run->bench_case->place == BENCH_CROWDED;
    while (atomic_load_explicit(&run->sheet->released, memory_order_acquire) < number) {
        if (yields)
            sched_yield();
    }
}

/* Two write to each other. */
static void meet_peer(struct bench_run *run, uint64_t number)
{
    uint64_t at = BENCH_WORD_MEET;
    store(bench_word(run->remote_memory, at), number);
    await_at_least(bench_word(run->memory, at), number);
}

static inline bool count_in(struct bench_run *run, uint64_t number)
{
    return atomic_fetch_add(&run->sheet->arrived_count, 1) + 1 == number * (uint64_t)run->size;
}

void raw_barrier_once(struct bench_run *run)
{
    uint64_t number = ++run->meeting;
    if (run->size == 2)
        meet_peer(run, number);
    else if (count_in(run, number))
        atomic_store_explicit(&run->sheet->released, number, memory_order_release);
    else
        await_release(run, number);
}

static int barrier_chunk(struct bench_run *run, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        raw_barrier_once(run);
    return 0;
}

static int allreduce_chunk(struct bench_run *run, unsigned count)
{
    struct bench_sheet *sheet = run->sheet;
    uint64_t sum = 1;
    for (unsigned i = 0; i < count; i++) {
        uint64_t number = ++run->meeting;
        sheet->brought[run->rank].value = sum + (uint64_t)run->rank;
        if (count_in(run, number)) {
            sum = 0;
            for (int rank = 0; rank < run->size; rank++)
                sum += sheet->brought[rank].value;
            sheet->sum = sum;
            atomic_store_explicit(&sheet->released, number, memory_order_release);
        } else {
            await_release(run, number);
            sum = sheet->sum; /* written again only when all have come once more */
        }
    }
    return 0;
}

/* Fewer where each is slow. */
unsigned bench_meetings(const struct bench_run *run)
{
    return run->size <= 2 ? 500 : run->size <= 16 ? 100 : 20;
}

BENCH_MEASURE(raw_barrier, bench_time_together, barrier_chunk, bench_meetings(run))
BENCH_MEASURE(raw_allreduce, bench_time_together, allreduce_chunk, bench_meetings(run))
