/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latencies, all of them kept, so that percentiles are exact. Private to sim/workload.
 */
#pragma once

#include "sim/workload/workload.h"

struct samples {
    sim_time *values;
    size_t count, room;
};

/* False when memory is out. */
bool samples_add(struct samples *samples, sim_time value);
void samples_free(struct samples *samples);

/* Sorts them. */
struct workload_latency samples_sum(struct samples *samples);
