/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of page mode, of the Himeno benchmark and of datagrams, with what each must reach.
 */
#include "dsm/page/faults.h"
#include "experiment/machine/dsm/dsm.h"

#define DRIFT         0.25
#define DRIFT_NETWORK 0.5

#define PAGE_CASE(name_, help_, raw_, measure_)                                                    \
    .name = name_, .unit = "ns", .help = help_, .rank_count = 2, .drift_max = DRIFT,               \
    .repeat_count = 5, .set_up = pages_open, .tear_down = pages_close, .raw = raw_,                \
    .measure = measure_

#define FAULT(name_, kind_)                                                                        \
    {PAGE_CASE("fault-" name_, "a read fault by " name_ "; raw: by mprotect", pages_raw_mprotect,  \
               pages_fault_read),                                                                  \
     .amount = (kind_)},                                                                           \
    {                                                                                              \
        PAGE_CASE("write-" name_, "first write to a page by " name_ "; raw: by mprotect",          \
                  pages_raw_mprotect_write, pages_fault_write),                                    \
            .amount = (kind_)                                                                      \
    }

enum { SIZE_S = 1, SIZE_M = 2 };

#define HIMENO(name_, size_, raw_name_, raw_, measure_, bound_value_)                              \
    {                                                                                              \
        .name = name_, .unit = "MFLOPS", .help = "Himeno with 2 ranks; raw: " raw_name_,           \
        .rank_count = 2, .amount = (size_), .drift_max = DRIFT, .bound = BENCH_RATIO_AT_LEAST,     \
        .bound_value = bound_value_, .set_up = himeno_set_up, .tear_down = himeno_tear_down,       \
        .raw = raw_, .measure = measure_                                                           \
    }

const struct bench_case bench_pages_cases[BENCH_PAGES_CASES] = {
    FAULT("async", FAULTS_ASYNC),
    FAULT("sigbus", FAULTS_SIGBUS),
    {PAGE_CASE("page-fetch",
               "a page that the peer has written, by a fault; raw: a fault, and no data",
               pages_raw_fault, pages_fetch),
     .bound = BENCH_RATIO_AT_MOST, .bound_value = 1.3},
    {PAGE_CASE("page-stream", "the same for neighbouring pages, each; raw: a fault",
               pages_raw_fault, pages_stream)},
    {PAGE_CASE("page-barrier", "a barrier with nothing to tell; raw: a cache line's trip", raw_trip,
               pages_barrier)},
    {PAGE_CASE("page-count", "a counter in a page under a lock that both want; raw: a fault",
               pages_raw_fault, pages_lock_count)},
};

const struct bench_case bench_himeno_cases[BENCH_HIMENO_CASES] = {
    HIMENO("entry-S", SIZE_S, "with messages", himeno_run_messages, himeno_run_entry, 0.95),
    HIMENO("pages-S", SIZE_S, "with messages", himeno_run_messages, himeno_run_pages, 0.9),
    HIMENO("speedup-S", SIZE_S, "sequential", himeno_run_sequential, himeno_run_entry, 1.6),
    HIMENO("entry-M", SIZE_M, "with messages", himeno_run_messages, himeno_run_entry, 0.98),
    HIMENO("pages-M", SIZE_M, "with messages", himeno_run_messages, himeno_run_pages, 0.9),
    HIMENO("speedup-M", SIZE_M, "sequential", himeno_run_sequential, himeno_run_entry, 1.6),
};

#define UPDATE(name_, length_)                                                                     \
    {                                                                                              \
        .name = name_, .unit = "ns",                                                               \
        .help = "a peer's copy brought up to date by remote memory; raw: by datagrams",            \
        .rank_count = 2, .amount = (length_), .place = BENCH_CROWDED, .drift_max = DRIFT_NETWORK,  \
        .bound = BENCH_RATIO_AT_MOST, .bound_value = 0.5, .set_up = datagram_open,                 \
        .tear_down = datagram_close, .raw = datagram_update, .measure = datagram_update_rdma       \
    }

const struct bench_case bench_datagram_cases[BENCH_DATAGRAM_CASES] = {
    UPDATE("update-64", 64),
    UPDATE("update-4K", 4096),
    UPDATE("update-64K", 65536),
};
