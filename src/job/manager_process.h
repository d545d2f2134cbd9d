/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The manager process: a task manager in a process of its own, for jobs that somebody else's
 * launcher has started. The lowest rank of each host forks it (member/manager_process_start.c); the
 * ranks of the host find it by a name that the launcher's key-value space tells them. It keeps
 * nothing of its parent open, and ends when its last member has gone. Here is what the two sides
 * agree on.
 */
#pragma once

#include "base/settings.h"
#include "job/address.h"
#include "job/job_map.h"

struct manager_process_plan {
    const struct job_map *map;
    const struct settings *settings;
    const struct address_list *coordinator; /* where seat 0 listens; NULL: that is us */
    const char *nic, *command;              /* for the roster */
    const int *pids;                        /* of each rank; those of this host are watched */
    int listen_fd;                          /* from manager_process_listen() */
};

/* Its work, which is the task manager's (manager/manager_process_run.h) and no part of
 * librhinet. */
struct manager_process_body {
    const char *version; /* of the sources that it was made from */
    /* Says "+" and its addresses, or "-" and what went wrong, on report_fd; then serves until the
     * job is over, as far as this host goes. */
    __attribute__((noreturn)) void (*run)(const struct manager_process_plan *plan, int report_fd);
};

/* For programs that have a task manager inside, before they join: nothing has to be loaded
 * (member/manager_process_load.c). */
void manager_process_bring(const struct manager_process_body *body);

/* What a caller shows to prove that it belongs to the job, and as which rank. */
#define MANAGER_PROCESS_PROOF_BYTES 32
void manager_process_proof(const struct job_map *map, int rank,
                           uint8_t proof[MANAGER_PROCESS_PROOF_BYTES]);
