/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the two halves of `rhinet doctor`: doctor.c examines, doctor_report.c tells.
 */
#pragma once

#include "cli/job/jobs.h"

struct doctor_findings {
    const struct job_snapshot *job;
    const struct diagnosis *diagnosis;
    int64_t after_ns; /* how old a wait must be to count as stuck */
};

/* From harmless to bad; the worst that applies is the verdict. */
enum doctor_verdict {
    DOCTOR_FINE,
    DOCTOR_DEAD,    /* a rank has died; the others go on */
    DOCTOR_WAITING, /* somebody has waited for long */
    DOCTOR_STOPPED, /* a rank is stopped */
    DOCTOR_DEADLOCK
};

enum doctor_verdict doctor_verdict(const struct doctor_findings *findings);

static inline bool doctor_is_stuck(enum doctor_verdict verdict)
{
    return verdict >= DOCTOR_WAITING;
}

void doctor_print(FILE *out, const struct doctor_findings *findings);

/* One line of JSON. Returns 0, or -1 if nobody reads it. */
int doctor_json_print(FILE *out, const struct doctor_findings *findings);
