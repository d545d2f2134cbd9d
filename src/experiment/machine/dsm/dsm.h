/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of shared memory: entry mode (cases.c), and page mode, the Himeno benchmark and datagrams
 * (cases_pages.c).
 */
#ifndef EXPERIMENT_MACHINE_DSM_DSM_H
#define EXPERIMENT_MACHINE_DSM_DSM_H

#include "experiment/machine/bench.h"

#define BENCH_DSM_CASES 21
extern const struct bench_case bench_dsm_cases[BENCH_DSM_CASES];
#define BENCH_PAGES_CASES 8
extern const struct bench_case bench_pages_cases[BENCH_PAGES_CASES];
#define BENCH_HIMENO_CASES 6
extern const struct bench_case bench_himeno_cases[BENCH_HIMENO_CASES];
#define BENCH_DATAGRAM_CASES 3
extern const struct bench_case bench_datagram_cases[BENCH_DATAGRAM_CASES];

/* acquire.c */
int dsm_open_word(struct bench_run *run);
int dsm_open_block(struct bench_run *run);
int dsm_open_pushed(struct bench_run *run);
void dsm_close(struct bench_run *run);
int dsm_read_hit(struct bench_run *run, double *figure);
int dsm_read_acquire(struct bench_run *run, double *figure);
int dsm_write_hit(struct bench_run *run, double *figure);
int dsm_hand_over(struct bench_run *run, double *figure);
int dsm_contended(struct bench_run *run, double *figure);
int dsm_barrier(struct bench_run *run, double *figure);
int dsm_fetch(struct bench_run *run, double *figure);
int dsm_raw_fetch(struct bench_run *run, double *figure);
int dsm_invalidate(struct bench_run *run, double *figure);
int dsm_update(struct bench_run *run, double *figure);

/* pages.c */
int pages_open(struct bench_run *run);
void pages_close(struct bench_run *run);
int pages_raw_fault(struct bench_run *run, double *figure); /* by the mechanism in use */
int pages_raw_mprotect(struct bench_run *run, double *figure);
int pages_raw_mprotect_write(struct bench_run *run, double *figure);
int pages_fault_read(struct bench_run *run, double *figure);
int pages_fault_write(struct bench_run *run, double *figure);
int pages_fetch(struct bench_run *run, double *figure);
int pages_stream(struct bench_run *run, double *figure);
int pages_barrier(struct bench_run *run, double *figure);
int pages_lock_count(struct bench_run *run, double *figure);

/* datagram.c */
int datagram_open(struct bench_run *run);
void datagram_close(struct bench_run *run);
int datagram_update(struct bench_run *run, double *figure);
int datagram_update_rdma(struct bench_run *run, double *figure);

/* himeno.c */
int himeno_dsm(struct bench_run *run);
int himeno_set_up(struct bench_run *run);
void himeno_tear_down(struct bench_run *run);
int himeno_run_sequential(struct bench_run *run, double *figure);
int himeno_run_messages(struct bench_run *run, double *figure);
int himeno_run_entry(struct bench_run *run, double *figure);
int himeno_run_pages(struct bench_run *run, double *figure);

#endif
