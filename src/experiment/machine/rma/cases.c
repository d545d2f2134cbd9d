/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of remote memory, with what each must reach. A case is a line here, a raw program and our
 * side.
 */
#include "experiment/machine/rma/rma.h"

#include <math.h>

#define DRIFT 0.2

#define PAIR(name_, help_, raw_, measure_, bound_)                                                 \
    .name = name_, .unit = "ns", .help = help_, .rank_count = 2, .amount = 1,                      \
    .bound = BENCH_RATIO_AT_MOST, .bound_value = bound_, .drift_max = DRIFT, .raw = raw_,          \
    .measure = measure_

#define BLOCK(name_, help_, raw_, measure_)                                                        \
    .name = name_, .unit = "GB/s", .help = help_, .rank_count = 2, .amount = 1,                    \
    .bound = BENCH_RATIO_AT_LEAST, .bound_value = 0.95, .drift_max = DRIFT, .raw = raw_,           \
    .measure = measure_

/* To compare with others; nothing to reach. */
#define FREE(name_, unit_, help_, raw_, measure_)                                                  \
    .name = name_, .unit = unit_, .help = help_, .rank_count = 2, .amount = 1, .drift_max = DRIFT, \
    .raw = raw_, .measure = measure_

#define DRAIN(senders_)                                                                            \
    .name = "append-8x" #senders_, .unit = "ns",                                                   \
    .help = "receiver's cost per message of " #senders_ " senders; raw: of one sender",            \
    .rank_count = (senders_) + 1, .amount = senders_, .repeat_count = 9,                           \
    .bound = BENCH_RATIO_AT_MOST, .bound_value = 1.1, .drift_max = DRIFT,                          \
    .set_up = rma_drain_open, .tear_down = rma_append_close, .raw = rma_drain_one,                 \
    .measure = rma_drain_all

#define START(count_, limit_ms_)                                                                   \
    .name = "start-" #count_, .unit = "ms",                                                        \
    .help = "a job of " #count_ " that joins and leaves; raw: " #count_                            \
            " processes that do nothing",                                                          \
    .amount = count_, .bound = BENCH_VALUE_AT_MOST, .bound_value = limit_ms_,                      \
    .drift_max = INFINITY, .raw = start_nothing, .measure = start_job

const struct bench_case bench_rma_cases[BENCH_RMA_CASES] = {
    {PAIR("store-8", "rh_store, one way; raw: a cache line's trip", raw_trip, rma_store, 1.10),
     .set_up = rma_store_open, .tear_down = rma_store_close},
    {PAIR("push-8", "rh_push of 8 bytes, one way; raw: a cache line's trip", raw_trip, rma_push,
          1.20)},
    {PAIR("inline-64", "rh_push_inline of 64 bytes, one way; raw: a cache line's trip", raw_trip,
          rma_inline, 1.20)},
    {BLOCK("push-1M", "rh_push of 1 MiB into fast memory; raw: memcpy there", raw_copy,
           rma_push_block)},
    {FREE("ping-1M", "GB/s", "rh_push_notify of 1 MiB to and fro; raw: memcpy and a flag",
          raw_copy_ping, rma_push_ping)},
    {BLOCK("attached-1M", "rh_push of 1 MiB into attached memory; raw: process_vm_writev",
           raw_process_write, rma_push_attached),
     .set_up = rma_attached_open, .tear_down = rma_attached_close},
    {PAIR("fetch-add", "rh_fetch_add of a word the peer holds, one way; raw: the same instruction",
          raw_atomic_trip, rma_fetch_add_trip, 1.20)},
    {FREE("fetch-add-hot", "ns",
          "rh_fetch_add of a word nobody else touches; raw: the same instruction", raw_atomic,
          rma_fetch_add)},
    {FREE("put-flush-8", "ns", "rh_push_inline of 8 bytes and rh_flush; raw: a store and a fence",
          raw_store_fence, rma_push_flush)},
    {PAIR("append-8", "rh_append of 8 bytes to rh_queue_next, one way; raw: a cache line's trip",
          raw_trip_lines, rma_append, 1.50),
     .set_up = rma_append_open, .tear_down = rma_append_close},
    {DRAIN(2)},
    {DRAIN(8)},
    {DRAIN(32)},
    {START(2, 30)},
    {START(64, 1000)},
};

_Static_assert(BENCH_RMA_CASES <= BENCH_CASES_MAX, "sheet has room");
