/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of remote memory: our side; the raw programs are those of bench.h.
 */
#ifndef EXPERIMENT_MACHINE_RMA_RMA_H
#define EXPERIMENT_MACHINE_RMA_RMA_H

#include "experiment/machine/bench.h"

#define BENCH_RMA_CASES 15
extern const struct bench_case bench_rma_cases[BENCH_RMA_CASES];

int rma_store_open(struct bench_run *run);
void rma_store_close(struct bench_run *run);
int rma_store(struct bench_run *run, double *figure);
int rma_push(struct bench_run *run, double *figure);
int rma_inline(struct bench_run *run, double *figure);
int rma_inline_word(struct bench_run *run, double *figure);
int rma_fetch_add_trip(struct bench_run *run, double *figure);
int rma_fetch_add(struct bench_run *run, double *figure);
int rma_push_flush(struct bench_run *run, double *figure);

int rma_push_block(struct bench_run *run, double *figure);
int rma_push_ping(struct bench_run *run, double *figure);
int rma_attached_open(struct bench_run *run);
void rma_attached_close(struct bench_run *run);
int rma_push_attached(struct bench_run *run, double *figure);

int rma_append_open(struct bench_run *run);
void rma_append_close(struct bench_run *run);
int rma_append(struct bench_run *run, double *figure);
int rma_drain_open(struct bench_run *run);
int rma_drain_one(struct bench_run *run, double *figure); /* one sender */
int rma_drain_all(struct bench_run *run, double *figure);

#endif
