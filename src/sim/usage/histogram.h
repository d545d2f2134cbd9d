/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of anything, any number of them in little memory: counted in steps of 1/16 of a power of
 * two, so that a percentile is at most 7 % too large, and the least and the largest are exact.
 */
#pragma once

#include "sim/engine/engine.h"

#define HISTOGRAM_FINE 16 /* steps in a power of two */
#define HISTOGRAM_ROOM (64 * HISTOGRAM_FINE)

struct histogram {
    uint64_t count;
    double sum;
    sim_time least, most;
    uint64_t steps[HISTOGRAM_ROOM];
};

static inline uint32_t histogram_step(sim_time value)
{
    uint64_t number = (uint64_t)value;
    if (number < HISTOGRAM_FINE)
        return (uint32_t)number;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(number);
    return power * HISTOGRAM_FINE + (uint32_t)(number >> (power - 4) & (HISTOGRAM_FINE - 1));
}

static inline void histogram_add(struct histogram *histogram, sim_time value)
{
    value = value > 0 ? value : 0;
    if (histogram->count == 0 || value < histogram->least)
        histogram->least = value;
    if (value > histogram->most)
        histogram->most = value;
    histogram->count++;
    histogram->sum += (double)value;
    histogram->steps[histogram_step(value)]++;
}

/* A time that this part of all does not exceed; 0 if there are none. */
sim_time histogram_quantile(const struct histogram *histogram, double part);
