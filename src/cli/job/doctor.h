/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the two halves of `rhinet doctor`: doctor.c examines, doctor_report.c tells.
 */
#pragma once

#include "cli/job/jobs.h"

#include <jansson.h>

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

/* After which time a wait counts as stuck; the setting's 0 silences the ranks, not us. 0, or an
 * exit status after it has said what is wrong. */
int doctor_stuck_find(int64_t *stuck_ns);

/* Two looks at a job, the second one again until it is certain. NULL if the job is gone; free()
 * it. */
struct diagnosis *doctor_examine(const struct live_job *job);

enum doctor_verdict doctor_verdict(const struct doctor_findings *findings);

static inline bool doctor_is_stuck(enum doctor_verdict verdict)
{
    return verdict >= DOCTOR_WAITING;
}

void doctor_print(FILE *out, const struct doctor_findings *findings);

/* As JSON; and as one line of it, which returns 0, or -1 if nobody reads it. */
json_t *doctor_json(const struct doctor_findings *findings);
int doctor_json_print(FILE *out, const struct doctor_findings *findings);
