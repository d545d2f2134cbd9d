/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding, starting and calling a steward (job/steward.h). Private to src/job/member.
 */
#ifndef JOB_MEMBER_STEWARD_START_H
#define JOB_MEMBER_STEWARD_START_H

#include "job/steward.h"

#define STEWARD_NAME_BYTES 33

/* A socket for the steward under a fresh name that nobody can guess. The descriptor, or an
 * error. */
int steward_listen(char name[STEWARD_NAME_BYTES]);

/* Start it; listen_fd stays the caller's. With several hosts, *addresses is where it can be called.
 * Errors: those of manager_create(), RH_ENOSPACE (no process), RH_EUNSUP (no body), RH_ETIMEOUT. */
int steward_start(const struct steward_plan *plan, struct address_list *addresses);

/* A member's connection to the steward of its host, ready for REQUEST_HELLO. */
int steward_connect(const char *name, const struct cluster *cluster, int rank);

#endif
