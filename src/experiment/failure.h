/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first failure of a simulated job. Its ranks are fibers of one thread, so they share one text
 * of the last error: what others fail with later, mostly because the first one is gone, would
 * replace the cause. Shared by the rooms that have simulated jobs.
 */
#pragma once

#include "base/error.h"

struct failure {
    int code; /* 0: none yet */
    struct error_state error;
};

/* To be called by a rank as soon as it knows its result, before it waits for anything. */
void failure_note(struct failure *failure, int result);
/* The same, when it is PM that failed: its texts are its own. */
void failure_note_pm(struct failure *failure, int result);

/* What the job failed with, with its text; `result`, which is simulated_run()'s, if no rank did. */
int failure_result(const struct failure *failure, int result);
