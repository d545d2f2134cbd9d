/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases over sizes, from a byte to a gibibyte: pushes, and messages one after the other. They have
 * no targets; what they show is where one way of moving bytes ends and the next begins, and whether
 * there is a dip.
 */
#pragma once

#include "experiment/machine/bench.h"

#define BENCH_SIZES_CASES 62
extern const struct bench_case bench_sizes_cases[BENCH_SIZES_CASES];

bench_set_up sizes_open, sizes_open_messages;
bench_tear_down sizes_close, sizes_close_messages;
bench_measure sizes_push, sizes_copy;   /* rank 0 acts alone; raw: memcpy() */
bench_measure sizes_stream, sizes_ring; /* raw: the two-copy ring */
