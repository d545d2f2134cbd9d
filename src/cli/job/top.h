/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the two halves of `rhinet top`: top.c takes samples, top_screen.c shows them.
 */
#pragma once

#include "cli/job/jobs.h"

#include <jansson.h>

/* Two looks at the same job, and the time between them. */
struct top_sample {
    const struct job_snapshot *before;
    const struct job_snapshot *now;
    double interval_s;
};

/* What one rank did between the looks, per second; denials are counted from its start, because one
 * is too many. */
struct top_rates {
    double operations;
    double bytes;
    double fetches; /* of shared memory, to read or to own */
    double bounces; /* of these, back from the rank that had just taken it */
    double waits;
    double sleeps;
    uint64_t denials;
};

struct top_rates top_rates(const struct top_sample *sample, uint32_t rank);

/* The sample as a table, at most `height` lines high and `width` wide (0: no limit). */
void top_print(FILE *out, const struct top_sample *sample, int width, int height);

/* The sample as JSON; and as one line of it, which returns 0, or -1 if nobody reads it. */
json_t *top_json(const struct top_sample *sample);
int top_json_print(FILE *out, const struct top_sample *sample);
