/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of collectives over sizes, 8 ranks on 2 cores.
 */
#pragma once

#include "experiment/machine/bench.h"

#define BENCH_SETS_RANKS 8
#define BENCH_SETS_CASES 20
extern const struct bench_case bench_sets_cases[BENCH_SETS_CASES];

bench_set_up bench_sets_open;
bench_tear_down bench_sets_close;
/* The raw barrier, and then each copies what the operation brings it out of shared memory. */
bench_measure raw_sets_one, raw_sets_all; /* as much as one rank gives; as all of them do */
bench_measure sets_broadcast, sets_allgather, sets_alltoall, sets_allreduce;
