/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of messages.
 */
#ifndef EXPERIMENT_MACHINE_MSG_MSG_H
#define EXPERIMENT_MACHINE_MSG_MSG_H

#include "experiment/machine/bench.h"

#define BENCH_MSG_CASES 16
extern const struct bench_case bench_msg_cases[BENCH_MSG_CASES];

/* raw.c */
int raw_ring_block(struct bench_run *run, double *figure);   /* two copies, 16 x 32 KiB, GB/s */
int raw_stream_lines(struct bench_run *run, double *figure); /* lines one way, M/s */
int raw_two_atomics(struct bench_run *run, double *figure);
int raw_hand_over(struct bench_run *run, double *figure); /* of a queue lock */
int raw_barrier(struct bench_run *run, double *figure);
int raw_allreduce(struct bench_run *run, double *figure);
unsigned bench_meetings(const struct bench_run *run); /* barriers to be timed together */

/* Our side. */
int msg_open(struct bench_run *run);
void msg_close(struct bench_run *run);
int msg_send_8(struct bench_run *run, double *figure);
int msg_send_block(struct bench_run *run, double *figure);
int msg_rate(struct bench_run *run, double *figure);
int msg_lock(struct bench_run *run, double *figure);
int msg_lock_contended(struct bench_run *run, double *figure);
int msg_set_open(struct bench_run *run);
void msg_set_close(struct bench_run *run);
int msg_barrier(struct bench_run *run, double *figure);
int msg_allreduce(struct bench_run *run, double *figure);
int msg_pm_open(struct bench_run *run);
void msg_pm_close(struct bench_run *run);
int msg_pm_take_two(struct bench_run *run, double *figure); /* two senders */
int msg_pm_take_all(struct bench_run *run, double *figure);

#endif
