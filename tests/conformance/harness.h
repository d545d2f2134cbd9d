/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the drivers need and the cases do not.
 */
#pragma once

#include "conformance.h"

#include <stdio.h>

struct suite_options {
    const char *only;   /* run this case, or every case whose name starts with it before a '*' */
    bool is_quick;      /* leave out the cases that need gigabytes */
    bool is_thread;     /* ranks are threads: leave out what only processes can do */
    bool all_supported; /* RH_EUNSUP is a failure */
    bool is_watched;    /* this rank sets the process's watchdog */
};

/* Every case, in the order in which they run; ends with NULL. */
const struct test_case *suite_case(size_t index);

void suite_list(FILE *out);

/* Run the suite as one of the ranks, and leave the job. Returns 0, or 1 if a case failed; rank 0
 * prints. */
int suite_run(struct rh_job *job, const struct suite_options *options);

/* Give back what the case made. -1 if a guard was overwritten. */
int test_release_all(struct test *test);
