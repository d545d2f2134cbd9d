/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The work of the manager program: a task manager with a door, at which the processes of one user
 * knock (job/open_job.h).
 */
#pragma once

struct open_run {
    int listen_fd; /* does not block */
    int ranks;
    const char *nic, *command; /* for the roster */
    int report_fd;             /* "+" is written there when it serves; closed */
};

/* Until the last member has gone. Errors: those of manager_create(). */
int open_run(const struct open_run *run);
