/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of remote memory: our side; the raw programs are those of bench.h.
 */
#pragma once

#include "experiment/machine/bench.h"

#define BENCH_RMA_CASES 15
extern const struct bench_case bench_rma_cases[BENCH_RMA_CASES];

bench_set_up rma_store_open;
bench_tear_down rma_store_close;
bench_measure rma_store, rma_push, rma_inline, rma_inline_word, rma_fetch_add_trip, rma_fetch_add,
    rma_push_flush;

bench_set_up rma_attached_open;
bench_tear_down rma_attached_close;
bench_measure rma_push_block, rma_push_ping, rma_push_attached;

bench_measure rma_drain_one; /* one sender */
bench_set_up rma_append_open, rma_drain_open;
bench_tear_down rma_append_close;
bench_measure rma_append, rma_drain_all;
