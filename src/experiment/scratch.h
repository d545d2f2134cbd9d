/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder for what an experiment writes. It goes with the experiment, also if that is interrupted
 * or killed.
 */
#pragma once

#include "base/sweeper.h"

#define SCRATCH_PATH_MAX 900

struct scratch {
    char folder[SCRATCH_PATH_MAX]; /* "": none */
    struct sweeper sweeper;
};

/* Below `top`; NULL: where TMPDIR says. 0, or an errno; then there is none. */
int scratch_open(struct scratch *scratch, const char *top);
void scratch_close(struct scratch *scratch);
