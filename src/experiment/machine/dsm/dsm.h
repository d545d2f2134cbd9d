/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of shared memory: entry mode (cases.c), and page mode, the Himeno benchmark and datagrams
 * (cases_pages.c).
 */
#pragma once

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
bench_set_up dsm_open_word, dsm_open_block, dsm_open_pushed;
bench_tear_down dsm_close;
bench_measure dsm_read_hit, dsm_read_acquire, dsm_write_hit, dsm_hand_over, dsm_contended,
    dsm_barrier, dsm_fetch, dsm_raw_fetch, dsm_invalidate, dsm_update;

/* pages.c */
bench_measure pages_raw_fault; /* by the mechanism in use */
bench_set_up pages_open;
bench_tear_down pages_close;
bench_measure pages_raw_mprotect, pages_raw_mprotect_write, pages_fault_read, pages_fault_write,
    pages_fetch, pages_stream, pages_barrier, pages_lock_count;

/* datagram.c */
bench_set_up datagram_open;
bench_tear_down datagram_close;
bench_measure datagram_update, datagram_update_rdma;

/* himeno.c */
bench_set_up himeno_dsm, himeno_set_up;
bench_tear_down himeno_tear_down;
bench_measure himeno_run_sequential, himeno_run_messages, himeno_run_entry, himeno_run_pages;
