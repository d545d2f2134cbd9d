/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the slow ones: every round trip is timed by itself, and what half, 99 and 99.9 of 100
 * stay below is shown; with a core for each rank, and with four pairs of ranks on two cores.
 */
#pragma once

#include "experiment/machine/bench.h"

#define BENCH_TAIL_CASES 4
extern const struct bench_case bench_tail_cases[BENCH_TAIL_CASES];

bench_measure tail_trip;     /* a cache line's trip */
bench_measure tail_hand_on;  /* from one sleeper to the next, by futex */
bench_measure tail_push;     /* rh_push and rh_wait_word */
bench_measure tail_messages; /* rh_send and rh_recv, of a pair or of all pairs */
