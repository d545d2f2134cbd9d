/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steward: a task manager in a process of its own, for jobs that somebody else's launcher has
 * started. The lowest rank of each host forks it (member/steward_start.h); the ranks of the host
 * find it by a name that the launcher's key-value space tells them. It keeps nothing of its parent
 * open, and ends when its last member has gone. Here is what the two sides agree on.
 */
#ifndef JOB_STEWARD_H
#define JOB_STEWARD_H

#include "base/settings.h"
#include "job/address.h"
#include "job/cluster.h"

struct steward_plan {
    const struct cluster *cluster;
    const struct settings *settings;
    const struct address_list *judge; /* where the first host's steward listens; NULL: that is us */
    const char *nic, *command;        /* for the roster */
    const int *pids;                  /* of each rank; those of this host are watched */
    int listen_fd;                    /* from steward_listen() */
};

/* Its work, which is the task manager's (manager/steward_run.h) and no part of librhinet. */
struct steward_body {
    const char *version; /* of the sources that it was made from */
    /* Says "+" and its addresses, or "-" and what went wrong, on report_fd; then serves until the
     * job is over, as far as this host goes. */
    __attribute__((noreturn)) void (*run)(const struct steward_plan *plan, int report_fd);
};

/* For programs that have a task manager inside, before they join: nothing has to be loaded
 * (member/steward_load.c). */
void steward_bring(const struct steward_body *body);

/* What a caller shows to prove that it belongs to the job, and as which rank. */
#define STEWARD_PROOF_BYTES 32
void steward_proof(const struct cluster *cluster, int rank, uint8_t proof[STEWARD_PROOF_BYTES]);

#endif
