/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the libfabric NICs.
 */
#ifndef EXPERIMENT_MACHINE_OFI_OFI_H
#define EXPERIMENT_MACHINE_OFI_OFI_H

#include "experiment/machine/bench.h"

#define BENCH_OFI_CASES 5
extern const struct bench_case bench_ofi_cases[BENCH_OFI_CASES];

/* raw.c: libfabric itself */
#define BENCH_OFI_WORDS  100u /* writes in a loop */
#define BENCH_OFI_BLOCKS 8u
#define BENCH_OFI_WINDOW 4u /* blocks under way */
int raw_ofi_open(struct bench_run *run);
void raw_ofi_close(struct bench_run *run);
int raw_ofi_words(struct bench_run *run, double *figure);
int raw_ofi_blocks(struct bench_run *run, double *figure);
int raw_ofi_stream(struct bench_run *run, double *figure);
int raw_ofi_inject(struct bench_run *run, double *figure);
int raw_ofi_send(struct bench_run *run, double *figure);

/* push.c: our side */
int ofi_push_words(struct bench_run *run, double *figure);
int ofi_push_blocks(struct bench_run *run, double *figure);
int ofi_push_stream(struct bench_run *run, double *figure);
int ofi_send_open(struct bench_run *run);
void ofi_send_close(struct bench_run *run);

#endif
