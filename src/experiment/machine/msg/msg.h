/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of messages.
 */
#pragma once

#include "experiment/machine/bench.h"

#define BENCH_MSG_CASES 18
extern const struct bench_case bench_msg_cases[BENCH_MSG_CASES];

/* raw.c */
bench_measure raw_ring_block;   /* two copies, 16 x 32 KiB, GB/s */
bench_measure raw_stream_lines; /* lines one way, M/s */
bench_measure raw_hand_over;    /* of a queue lock */
bench_measure raw_two_atomics, raw_barrier, raw_allreduce;
/* count blocks through that ring, from rank 0's block to rank 1's */
void raw_ring_move(struct bench_run *run, char *block, size_t length, unsigned count);
void raw_barrier_once(struct bench_run *run);
unsigned bench_meetings(const struct bench_run *run); /* barriers to be timed together */

/* many.c: of all ranks */
bench_set_up msg_many_open;
bench_measure raw_many, msg_many, msg_all;

/* Our side. */
bench_measure msg_pm_take_two; /* two senders */
bench_set_up msg_open, msg_set_open, msg_pm_open;
bench_tear_down msg_close, msg_set_close, msg_pm_close;
bench_measure msg_send_8, msg_send_block, msg_rate, msg_lock, msg_lock_contended, msg_barrier,
    msg_allreduce, msg_pm_take_all;
