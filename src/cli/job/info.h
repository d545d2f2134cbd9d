/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of `rhinet info` that live in files of their own. Each part is gathered once and then shown
 * as text or as JSON.
 */
#pragma once

#include "cli/job/jobs.h"

#include <jansson.h>

/* What of this machine decides how well rhinet runs on it. */
struct machine {
    char system[256];
    char processor[128];
    int cores_usable; /* by this process */
    int cores_online;
    uint64_t memory_total;
    uint64_t memory_room; /* what a process could still take */
    const char *memory_limit;
    uint64_t huge_page_size;
    uint64_t huge_pages_total;
    uint64_t huge_pages_free;
    int cma_error;    /* 0: cross-memory attach works between processes of one user */
    int ptrace_scope; /* Yama's, -1 where there is no Yama */
    bool membarrier;  /* the expedited kind, across processes */
};

void machine_read(struct machine *machine);
void machine_print(FILE *out, const struct machine *machine);
json_t *machine_json(const struct machine *machine);

void info_job_print(FILE *out, const struct job_snapshot *job);
json_t *info_job_json(const struct job_snapshot *job);

/* {"push": 12, ...}, or null of a rank that nothing is known of. */
json_t *info_counters_json(const struct job_rank *rank);
