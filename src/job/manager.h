/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The task manager of a job: gives it its number (PGID) and secret, gives each process its rank
 * (PID), and hands memory descriptors to members and to nobody else.
 *
 * A member is known by the socket that it was started with: identity cannot be claimed, only
 * inherited. `rhinet run` embeds the manager; tests embed it in a thread. It never blocks: poll its
 * descriptor and call manager_serve() when it is readable. It belongs to one thread.
 */
#ifndef JOB_MANAGER_H
#define JOB_MANAGER_H

#include "nic/roster.h"

#include <stdbool.h>

struct manager;

struct manager_options {
    int size;            /* number of ranks */
    const char *nic;     /* for the roster: what the members were told to use */
    const char *command; /* for the roster: what a person would call this job */
    bool survive;
};

/* Errors: RH_ENOSPACE, RH_EINVALID (size). On success *manager is the caller's. */
int manager_create(struct manager **manager, const struct manager_options *options);
void manager_destroy(struct manager *manager);

/* The socket that rank's process is to inherit, as RHINET_MANAGER_FD. Owned by the manager and
 * close-on-exec; the caller dup()s it into the child and then calls manager_member_started(). */
int manager_member_fd(struct manager *manager, int rank);

/* The member has its socket (in process pid, which may be our own): close our copy of its end. */
void manager_member_started(struct manager *manager, int rank, int pid);

/* Say that a member's process has ended, as the launcher saw it. status is its exit status, signal
 * what killed it (0: none). A member that had left, or that never joined or fails to leave but
 * returns 0, is marked LEFT; every other DIED. Members see it at their next look at the roster. */
void manager_member_ended(struct manager *manager, int rank, int status, int signal);

/* Readable when there is something to serve. */
int manager_poll_fd(const struct manager *manager);
void manager_serve(struct manager *manager);

const struct roster *manager_roster(const struct manager *manager);

/* Read-only view of a member's counters. */
const struct board_rank *manager_board(const struct manager *manager, int rank);

#endif
