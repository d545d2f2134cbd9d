/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between ranks 0 and 1: a ping-pong, blocks one way, small ones one way. What goes one
 * way ends with an answer, so that all of it has been received when the clock stops.
 */
#include "base/error.h"
#include "experiment/machine/msg/msg.h"

#define TAG      1
#define MESSAGES 2000

int msg_open(struct bench_run *run)
{
    return rh_msg_open(&run->msg, run->job);
}

void msg_close(struct bench_run *run)
{
    if (run->msg)
        rh_msg_close(run->msg);
    run->msg = NULL;
}

static inline int receive(struct bench_run *run, uint64_t expected)
{
    uint64_t number = 0;
    int result = rh_recv(run->msg, run->peer, TAG, &number, sizeof(number), NULL);
    if (result == 0 && number != expected)
        return error_set(RH_ECORRUPT, run->peer, "message %llu arrived instead of %llu",
                         (unsigned long long)number, (unsigned long long)expected);
    return result;
}

static inline int send(struct bench_run *run, uint64_t number)
{
    return rh_send(run->msg, run->peer, TAG, &number, sizeof(number));
}

/* ---- One way -------------------------------------------------------------------------------- */

static int ping_chunk(struct bench_run *run, unsigned count)
{
    bool leads = run->rank == 0;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        if (leads)
            result |= send(run, number);
        result |= receive(run, number);
        if (!leads)
            result |= send(run, number);
    }
    return result;
}

BENCH_MEASURE(msg_send_8, bench_one_way, ping_chunk)

/* ---- A stream ------------------------------------------------------------------------------- */

static int answer(struct bench_run *run)
{
    uint64_t number = ++run->sequence;
    return run->rank == 0 ? receive(run, number) : send(run, number);
}

static int block_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        if (run->rank == 0)
            result = rh_send(run->msg, run->peer, TAG, run->block, BENCH_BLOCK_LENGTH);
        else
            result = rh_recv(run->msg, run->peer, TAG, run->block, BENCH_BLOCK_LENGTH, NULL);
    }
    return result < 0 ? result : answer(run);
}

static int rate_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        result = run->rank == 0 ? send(run, number) : receive(run, number);
    }
    return result < 0 ? result : answer(run);
}

BENCH_MEASURE(msg_send_block, bench_bandwidth_fresh, block_chunk)

int msg_rate(struct bench_run *run, double *figure)
{
    double ns = 1;
    int result = bench_time_together(run, rate_chunk, MESSAGES, &ns);
    *figure = 1e3 / ns;
    return result;
}
