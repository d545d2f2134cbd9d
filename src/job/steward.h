/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steward: a task manager in a process of its own, for jobs that somebody else's launcher has
 * started. The lowest rank of each host forks it; the ranks of the host find it by a name that the
 * launcher's key-value space tells them. It keeps nothing of its parent open, and ends when its
 * last member has gone.
 */
#ifndef JOB_STEWARD_H
#define JOB_STEWARD_H

#include "base/settings.h"
#include "job/address.h"
#include "job/cluster.h"

#define STEWARD_NAME_BYTES 33

struct steward_plan {
    const struct cluster *cluster;
    const struct settings *settings;
    const struct address_list *judge; /* where the first host's steward listens; NULL: that is us */
    const char *nic, *command;        /* for the roster */
    const int *pids;                  /* of each rank; those of this host are watched */
    int listen_fd;                    /* from steward_listen() */
};

/* A socket for the steward under a fresh name that nobody can guess. The descriptor, or an
 * error. */
int steward_listen(char name[STEWARD_NAME_BYTES]);

/* Start it; listen_fd stays the caller's. With several hosts, *addresses is where it can be called.
 * Errors: those of manager_create(), RH_ENOSPACE (no process), RH_ETIMEOUT. */
int steward_start(const struct steward_plan *plan, struct address_list *addresses);

/* A member's connection to the steward of its host, ready for REQUEST_HELLO. */
int steward_connect(const char *name, const struct cluster *cluster, int rank);

#endif
