/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The raw programs: what the machine does without us. Plain C on the same memory and the same lines
 * as our side uses, because on large chips a line's distance depends on its address.
 */
#include "base/error.h"
#include "base/fence.h"
#include "experiment/machine/bench.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

static inline void raw_await(const char *address, uint64_t value)
{
    const uint64_t *word = (const void *)address;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        ;
}

static inline void raw_store(char *address, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)address, value, __ATOMIC_RELEASE);
}

/* ---- A cache line's trip -------------------------------------------------------------------- */

static int trip_chunk(struct bench_run *run, unsigned count)
{
    const char *in = run->memory;
    char *out = run->remote_memory;
    uint64_t number = run->sequence;
    bool leads = run->rank == 0;
    for (unsigned i = 0; i < count; i++) {
        number++;
        if (leads)
            raw_store(out, number);
        raw_await(in, number);
        if (!leads)
            raw_store(out, number);
    }
    run->sequence = number;
    return 0;
}

static int trip_lines_chunk(struct bench_run *run, unsigned count)
{
    const char *in = run->memory + BENCH_LINES_AT;
    char *out = run->remote_memory + BENCH_LINES_AT;
    uint64_t number = run->sequence;
    bool leads = run->rank == 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t at = ++number % BENCH_LINE_COUNT * BENCH_LINE;
        if (leads)
            raw_store(out + at, number);
        raw_await(in + at, number);
        if (!leads)
            raw_store(out + at, number);
    }
    run->sequence = number;
    return 0;
}

BENCH_MEASURE(raw_trip, bench_one_way, trip_chunk)
BENCH_MEASURE(raw_trip_lines, bench_one_way, trip_lines_chunk)

/* ---- Blocks --------------------------------------------------------------------------------- */

static int copy_chunk(struct bench_run *run, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        memcpy(run->remote_memory + BENCH_BLOCK_AT, run->block, BENCH_BLOCK_LENGTH);
        __asm__ volatile("" ::: "memory"); /* each copy is made */
    }
    return 0;
}

/* Each side sends back what it received, as in a ping-pong of messages. */
static int copy_ping_chunk(struct bench_run *run, unsigned count)
{
    bool leads = run->rank == 0;
    for (unsigned i = 0; i < 2 * count; i++) {
        run->sequence += i % 2 == 0;
        if ((i % 2 == 0) == leads) {
            memcpy(run->remote_memory + BENCH_BLOCK_AT, run->memory + BENCH_BLOCK_AT,
                   BENCH_BLOCK_LENGTH);
            raw_store(run->remote_memory, run->sequence);
        } else {
            raw_await(run->memory, run->sequence);
        }
    }
    return 0;
}

static int process_write_chunk(struct bench_run *run, unsigned count)
{
    struct iovec local = {.iov_base = run->block, .iov_len = BENCH_BLOCK_LENGTH};
    struct iovec remote = {
        .iov_base = (void *)(uintptr_t)*bench_word(run->remote_memory, BENCH_WORD_ADDRESS),
        .iov_len = BENCH_BLOCK_LENGTH};
    pid_t pid = (pid_t)*bench_word(run->remote_memory, BENCH_WORD_PID);
    for (unsigned i = 0; i < count; i++) {
        ssize_t moved = process_vm_writev(pid, &local, 1, &remote, 1, 0);
        if (moved != (ssize_t)BENCH_BLOCK_LENGTH)
            return error_set(RH_EREFUSED, run->peer, "process_vm_writev: %s", strerror(errno));
    }
    return 0;
}

BENCH_MEASURE(raw_copy, bench_bandwidth, copy_chunk)
BENCH_MEASURE(raw_copy_ping, bench_bandwidth_ping, copy_ping_chunk)
BENCH_MEASURE(raw_process_write, bench_bandwidth, process_write_chunk)

/* ---- Atomics -------------------------------------------------------------------------------- */

/* The old value is asked for, as our side does; unused, the compiler would take a cheaper
 * instruction. */
static inline void raw_fetch_add(uint64_t *word)
{
    uint64_t old = __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
    __asm__ volatile("" ::"r"(old));
}

/* The trip again, with an atomic addition in place of the store. Words only grow, by one. */
static int atomic_trip_chunk(struct bench_run *run, unsigned count)
{
    const char *in = run->memory + BENCH_WORD_ATOMIC;
    uint64_t *out = bench_word(run->remote_memory, BENCH_WORD_ATOMIC);
    uint64_t number = run->atomic_sequence;
    bool leads = run->rank == 0;
    for (unsigned i = 0; i < count; i++) {
        number++;
        if (leads)
            raw_fetch_add(out);
        raw_await(in, number);
        if (!leads)
            raw_fetch_add(out);
    }
    run->atomic_sequence = number;
    return 0;
}

static int atomic_chunk(struct bench_run *run, unsigned count)
{
    uint64_t *word = bench_word(run->remote_memory, BENCH_WORD_HOT);
    for (unsigned i = 0; i < count; i++)
        raw_fetch_add(word);
    return 0;
}

static int store_fence_chunk(struct bench_run *run, unsigned count)
{
    char *word = run->remote_memory + BENCH_WORD_HOT;
    for (unsigned i = 0; i < count; i++) {
        raw_store(word, i);
        full_fence();
    }
    return 0;
}

BENCH_MEASURE(raw_atomic_trip, bench_one_way, atomic_trip_chunk)
BENCH_MEASURE(raw_atomic, bench_time, atomic_chunk, 1000)
BENCH_MEASURE(raw_store_fence, bench_time, store_fence_chunk, 1000)
