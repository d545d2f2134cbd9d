/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective by itself, from a word to a mebibyte of each rank, with what it must reach
 * against Open MPI.
 */
#include "experiment/machine/sets/sets.h"

#define DRIFT 0.5 /* a scheduler's day is never twice the same */

#define CASE(name_, size_, call_, raw_, measure_)                                                  \
    {                                                                                              \
        .name = name_, .unit = "us",                                                               \
        .help = call_ "; raw: the raw barrier and a copy of what each rank gets",                  \
        .rank_count = BENCH_SETS_RANKS, .amount = (size_),                                         \
        .memory = 2ull * BENCH_SETS_RANKS * BENCH_SETS_RANKS * (size_), .place = BENCH_CROWDED,    \
        .drift_max = DRIFT, .has_mpi = true, .versus = BENCH_RATIO_AT_MOST, .versus_value = 0.5,   \
        .set_up = bench_sets_open, .tear_down = bench_sets_close, .raw = raw_, .measure = measure_ \
    }

#define SIZES(name_, call_, raw_, measure_)                                                        \
    CASE(name_ "-8B", 8, call_, raw_, measure_), CASE(name_ "-256B", 256, call_, raw_, measure_),  \
        CASE(name_ "-8K", 8 << 10, call_, raw_, measure_),                                         \
        CASE(name_ "-64K", 64 << 10, call_, raw_, measure_),                                       \
        CASE(name_ "-1M", 1 << 20, call_, raw_, measure_)

const struct bench_case bench_sets_cases[BENCH_SETS_CASES] = {
    SIZES("broadcast", "rh_broadcast", raw_sets_one, sets_broadcast),
    SIZES("allgather", "rh_allgather", raw_sets_all, sets_allgather),
    SIZES("alltoall", "rh_alltoall", raw_sets_all, sets_alltoall),
    SIZES("allreduce", "rh_allreduce", raw_sets_one, sets_allreduce),
};

_Static_assert(BENCH_SETS_CASES <= BENCH_CASES_MAX, "sheet has room");
