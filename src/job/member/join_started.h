/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining a job that another launcher has started. Private to src/job.
 */
#ifndef JOB_MEMBER_JOIN_STARTED_H
#define JOB_MEMBER_JOIN_STARTED_H

#include "base/settings.h"
#include "job/starter/starter.h"

/* Find the other processes and the task manager of this host, starting that if it is ours to start.
 * The connection to it, or an error. The starter stays the caller's. */
int join_started(struct starter *starter, const struct settings *settings);

#endif
