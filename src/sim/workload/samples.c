/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See samples.h.
 */
#include "sim/workload/samples.h"

#include "base/array.h"

#include <stdlib.h>

bool samples_add(struct samples *samples, sim_time value)
{
    if (!array_grow(&samples->values, &samples->room, samples->count + 1))
        return false;
    samples->values[samples->count++] = value;
    return true;
}

void samples_free(struct samples *samples)
{
    free(samples->values);
    *samples = (struct samples){0};
}

static int compare(const void *a, const void *b)
{
    sim_time left = *(const sim_time *)a, right = *(const sim_time *)b;
    return (left > right) - (left < right);
}

/* The smallest value that at least this part of all does not exceed. */
static sim_time quantile(const struct samples *samples, double part)
{
    size_t at = (size_t)(part * (double)samples->count);
    return samples->values[at < samples->count ? at : samples->count - 1];
}

struct workload_latency samples_sum(struct samples *samples)
{
    struct workload_latency sum = {.count = samples->count};
    if (samples->count == 0)
        return sum;
    qsort(samples->values, samples->count, sizeof(samples->values[0]), compare);
    for (size_t i = 0; i < samples->count; i++)
        sum.mean += (double)samples->values[i] / (double)samples->count;
    sum.least = samples->values[0];
    sum.median = quantile(samples, 0.5);
    sum.p99 = quantile(samples, 0.99);
    sum.p999 = quantile(samples, 0.999);
    sum.most = samples->values[samples->count - 1];
    return sum;
}
