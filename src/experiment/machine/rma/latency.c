/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ping-pongs of small writes by the public API: each side writes with one call and waits with
 * rh_wait_word().
 */
#include "experiment/machine/rma/rma.h"

#include <rhinet/rma.h>

#define WORDS_PER_LINE (BENCH_LINE / 8)

static inline int await_word(struct bench_run *run, uint64_t offset, uint64_t value)
{
    struct rh_wait wait = {.word = bench_word(run->memory, offset),
                           .when = RH_EQUAL,
                           .value = value,
                           .from = run->peer,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    return rh_wait_word(run->job, &wait);
}

/* ---- Store ---------------------------------------------------------------------------------- */

int rma_store_open(struct bench_run *run)
{
    return rh_page_open(run->job, rh_at(run->peer, BENCH_SID, 0), BENCH_LINE, &run->page);
}

void rma_store_close(struct bench_run *run)
{
    rh_page_close(run->page);
}

static int store_chunk(struct bench_run *run, unsigned count)
{
    bool leads = run->rank == 0;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        if (leads)
            result |= rh_store(run->page, 0, number, 8);
        result |= await_word(run, 0, number);
        if (!leads)
            result |= rh_store(run->page, 0, number, 8);
    }
    return result;
}

BENCH_MEASURE(rma_store, bench_one_way, store_chunk)

/* ---- Push ----------------------------------------------------------------------------------- */

typedef int send_word(struct rh_job *job, struct rh_remote target, const void *source,
                      size_t length);

/* Inline, so that each use is a loop of its own around one call. */
static inline int ping_word(struct bench_run *run, unsigned count, send_word *send)
{
    struct rh_remote target = rh_at(run->peer, BENCH_SID, 0);
    bool leads = run->rank == 0;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        if (leads)
            result |= send(run->job, target, &number, 8);
        result |= await_word(run, 0, number);
        if (!leads)
            result |= send(run->job, target, &number, 8);
    }
    return result;
}

static int push_chunk(struct bench_run *run, unsigned count)
{
    return ping_word(run, count, rh_push);
}

BENCH_MEASURE(rma_push, bench_one_way, push_chunk)

/* ---- Inline push ---------------------------------------------------------------------------- */

/* The words of a block may arrive in any order. Usually the last one is last, and then all are
 * there; if not, each is waited for. */
static inline int await_line(struct bench_run *run, uint64_t value)
{
    int result = await_word(run, BENCH_LINE - 8, value);
    const uint64_t *words = bench_word(run->memory, 0);
    uint64_t difference = 0;
#pragma GCC unroll 8 /* a look at the line, not a loop: this is part of what is timed */
    for (unsigned i = 0; i < WORDS_PER_LINE; i++)
        difference |= __atomic_load_n(&words[i], __ATOMIC_RELAXED) ^ value;
    for (unsigned i = 0; difference != 0 && i < WORDS_PER_LINE; i++)
        result |= await_word(run, i * 8, value);
    return result;
}

static inline void fill_line(uint64_t line[WORDS_PER_LINE], uint64_t value)
{
    for (unsigned i = 0; i < WORDS_PER_LINE; i++)
        line[i] = value;
}

/* A block is made while the one before is on its way: what is measured is sending it. */
static int inline_chunk(struct bench_run *run, unsigned count)
{
    struct rh_remote target = rh_at(run->peer, BENCH_SID, 0);
    bool leads = run->rank == 0;
    uint64_t line[WORDS_PER_LINE];
    int result = 0;
    fill_line(line, run->sequence + 1);
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        if (leads)
            result |= rh_push_inline(run->job, target, line, sizeof(line));
        fill_line(line, leads ? number + 1 : number);
        result |= await_line(run, number);
        if (!leads)
            result |= rh_push_inline(run->job, target, line, sizeof(line));
    }
    return result;
}

BENCH_MEASURE(rma_inline, bench_one_way, inline_chunk)

static int inline_word_chunk(struct bench_run *run, unsigned count)
{
    return ping_word(run, count, rh_push_inline);
}

BENCH_MEASURE(rma_inline_word, bench_one_way, inline_word_chunk)

/* ---- Fetch-add, flush ----------------------------------------------------------------------- */

static int fetch_add_trip_chunk(struct bench_run *run, unsigned count)
{
    struct rh_remote target = rh_at(run->peer, BENCH_SID, BENCH_WORD_ATOMIC);
    bool leads = run->rank == 0;
    uint64_t old;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->atomic_sequence;
        if (leads)
            result |= rh_fetch_add(run->job, target, 1, &old);
        result |= await_word(run, BENCH_WORD_ATOMIC, number);
        if (!leads)
            result |= rh_fetch_add(run->job, target, 1, &old);
    }
    return result;
}

static int fetch_add_chunk(struct bench_run *run, unsigned count)
{
    struct rh_remote target = rh_at(run->peer, BENCH_SID, BENCH_WORD_HOT);
    uint64_t old;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_fetch_add(run->job, target, 1, &old);
    return result;
}

static int push_flush_chunk(struct bench_run *run, unsigned count)
{
    struct rh_remote target = rh_at(run->peer, BENCH_SID, BENCH_WORD_HOT);
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = i;
        result |= rh_push_inline(run->job, target, &number, 8);
        result |= rh_flush(run->job, run->peer);
    }
    return result;
}

BENCH_MEASURE(rma_fetch_add_trip, bench_one_way, fetch_add_trip_chunk)
BENCH_MEASURE(rma_fetch_add, bench_time, fetch_add_chunk, 1000)
BENCH_MEASURE(rma_push_flush, bench_time, push_flush_chunk, 1000)
