/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job's counters in the text format that Prometheus reads.
 */
#pragma once

#include "cli/job/jobs.h"

/* free() it; NULL: no memory. */
char *metrics_text(const struct job_snapshot *job);
