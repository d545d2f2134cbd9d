/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of many ranks on two cores: all to rank 0, and everybody to everybody. Every message is
 * of 8 bytes and has its number.
 */
#include "base/error.h"
#include "experiment/machine/msg/msg.h"

#include <sched.h>

#define TAG      1
#define MESSAGES 256 /* of each sender, in a loop */
#define LINES    64u /* of each sender, under way at most */

/* ---- All to one ----------------------------------------------------------------------------- */

static int many_chunk(struct bench_run *run, unsigned count)
{
    uint64_t number = 0;
    unsigned all = run->rank == 0 ? count * (unsigned)(run->size - 1) : count;
    int result = 0;
    for (unsigned i = 0; i < all && result == 0; i++) {
        if (run->rank == 0)
            result = rh_recv(run->msg, RH_ANY_RANK, TAG, &number, sizeof(number), NULL);
        else
            result = rh_send(run->msg, 0, TAG, &(uint64_t){i}, sizeof(number));
    }
    return result;
}

static _Atomic uint64_t *line_of(struct bench_run *run, int sender, uint64_t number)
{
    uint64_t at = (uint64_t)sender * LINES + number % LINES;
    return (_Atomic uint64_t *)(void *)(run->sheet->raw[0] + at * BENCH_LINE);
}

static _Atomic uint64_t *taken_of(struct bench_run *run, int sender)
{
    return (_Atomic uint64_t *)(void *)(run->sheet->raw[1] + (uint64_t)sender * BENCH_LINE);
}

/* Takes what has come from one sender, and says how much that has been in all. */
static uint64_t take_raw(struct bench_run *run, int sender)
{
    uint64_t taken = atomic_load_explicit(taken_of(run, sender), memory_order_relaxed);
    uint64_t before = taken;
    while (atomic_load_explicit(line_of(run, sender, taken + 1), memory_order_acquire) ==
           taken + 1) {
        taken++;
    }
    if (taken != before)
        atomic_store_explicit(taken_of(run, sender), taken, memory_order_release);
    return taken;
}

/* Senders may be ahead, in the next loop: rank 0 awaits a number of all loops so far. */
static void receive_raw(struct bench_run *run, unsigned count)
{
    uint64_t awaited = run->message += count * (uint64_t)(run->size - 1);
    for (uint64_t taken = 0, before = 0; taken < awaited; before = taken) {
        taken = 0;
        for (int sender = 1; sender < run->size; sender++)
            taken += take_raw(run, sender);
        if (taken == before)
            sched_yield();
    }
}

static void send_raw(struct bench_run *run)
{
    uint64_t number = ++run->message;
    while (number - atomic_load_explicit(taken_of(run, run->rank), memory_order_acquire) > LINES)
        sched_yield();
    atomic_store_explicit(line_of(run, run->rank, number), number, memory_order_release);
}

static int raw_many_chunk(struct bench_run *run, unsigned count)
{
    if (run->rank == 0)
        receive_raw(run, count);
    for (unsigned i = 0; run->rank > 0 && i < count; i++)
        send_raw(run);
    return 0;
}

/* The lines are those of all cases before: they begin anew. */
int msg_many_open(struct bench_run *run)
{
    run->message = 0;
    for (uint64_t i = 0; i < LINES; i++)
        atomic_store(line_of(run, run->rank, i), 0);
    atomic_store(taken_of(run, run->rank), 0);
    return msg_open(run);
}

static int rate(struct bench_run *run, bench_chunk chunk, double *figure)
{
    double ns = 1;
    int result = bench_time_together(run, chunk, MESSAGES, &ns);
    *figure = 1e3 * (run->size - 1) / ns;
    return result;
}

BENCH_MEASURE(msg_many, rate, many_chunk)
BENCH_MEASURE(raw_many, rate, raw_many_chunk)

/* ---- Everybody to everybody ----------------------------------------------------------------- */

static int all_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = i;
        for (int step = 1; step < run->size && result == 0; step++)
            result = rh_send(run->msg, (run->rank + step) % run->size, TAG, &number, 8);
        for (int step = 1; step < run->size && result == 0; step++) {
            int from = (run->rank + run->size - step) % run->size;
            result = rh_recv(run->msg, from, TAG, &number, sizeof(number), NULL);
            if (result == 0 && number != i)
                return error_set(RH_ECORRUPT, from, "message %llu arrived instead of %llu",
                                 (unsigned long long)number, (unsigned long long)i);
        }
    }
    return result;
}

BENCH_MEASURE(msg_all, bench_time_together, all_chunk, bench_meetings(run))
