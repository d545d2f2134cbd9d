/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding, starting and calling a manager process (job/manager_process.h). Private to
 * src/job/member.
 */
#ifndef JOB_MEMBER_MANAGER_PROCESS_START_H
#define JOB_MEMBER_MANAGER_PROCESS_START_H

#include "job/manager_process.h"

#define MANAGER_PROCESS_NAME_BYTES 33

/* A socket for the manager process under a fresh name that nobody can guess. The descriptor, or an
 * error. */
int manager_process_listen(char name[MANAGER_PROCESS_NAME_BYTES]);

/* Start it; listen_fd stays the caller's. With several hosts, *addresses is where it can be called.
 * Errors: those of manager_create(), RH_ENOSPACE (no process), RH_EUNSUP (no body), RH_ETIMEOUT. */
int manager_process_start(const struct manager_process_plan *plan, struct address_list *addresses);

/* A member's connection to the manager process of its host, ready for REQUEST_HELLO. */
int manager_process_connect(const char *name, const struct job_map *map, int rank);

#endif
