/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the libfabric NICs.
 */
#pragma once

#include "experiment/machine/bench.h"

#define BENCH_OFI_CASES 5
extern const struct bench_case bench_ofi_cases[BENCH_OFI_CASES];

/* raw.c: libfabric itself */
#define BENCH_OFI_WORDS  100u /* writes in a loop */
#define BENCH_OFI_BLOCKS 8u
#define BENCH_OFI_WINDOW 4u /* blocks under way */
bench_set_up raw_ofi_open;
int raw_ofi_open_by(struct bench_run *run, const char *provider);
bench_tear_down raw_ofi_close;
bench_measure raw_ofi_words, raw_ofi_blocks, raw_ofi_stream, raw_ofi_inject, raw_ofi_send;

/* push.c: our side */
bench_set_up ofi_send_open;
bench_tear_down ofi_send_close;
bench_measure ofi_push_words, ofi_push_blocks, ofi_push_stream;
