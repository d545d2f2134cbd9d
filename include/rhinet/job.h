/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs: who takes part.
 *
 * A job is a set of processes that may reach each other's memory. `rhinet run` starts one, and so
 * do mpirun, srun and mpiexec; each process then calls rh_join() and is known by its rank, 0 to
 * size - 1. A program started without a launcher is a job of one, unless it asks for an open job
 * (below). Everything hangs off the `struct rh_job`; there is no hidden state, and any thread of
 * the process may use it.
 */
#ifndef RHINET_JOB_H
#define RHINET_JOB_H

#include <rhinet/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rh_job;

#define RH_ANY_RANK (-1) /* whichever rank; in flushes, every rank */

/* Timeouts are relative and in nanoseconds. */
#define RH_TIMEOUT_DEFAULT ((int64_t)-1) /* the setting RHINET_TIMEOUT, 60 s unless changed */
#define RH_TIMEOUT_NONE    ((int64_t)0)  /* look once, do not wait */
#define RH_TIMEOUT_LONGEST (INT64_MAX)   /* for ever, but a death still ends the wait */
#define RH_MILLISECONDS(n) ((int64_t)(n)*1000000)

/* What rh_join() does in a process that no launcher has started. */
enum rh_unstarted {
    RH_UNSTARTED_ALONE = 0, /* a job of one */
    RH_UNSTARTED_OPEN = 1,  /* the user's open job on this host, which is made if there is none */
    RH_UNSTARTED_REFUSE = 2 /* RH_EREFUSED */
};

/* An open job is joined by processes of one user on one host, at any time, each with the lowest
 * rank that is free. They find each other by addresses: rh_address() gives one's own, to be sent by
 * whatever way there is, and rh_peer() makes a rank of it. What is different from other jobs:
 *  - rh_size() is how many ranks there may be, RHINET_OPEN_RANKS of who came first, and not how
 *    many there are. There is no "all": rh_barrier_all() and sets of all ranks are refused.
 *  - A rank that nobody has yet is RH_PEER_STARTING. What is sent to it, or waited for from it,
 *    ends with the time-out.
 *  - A rank may be given to another process later, but not while anybody is in the job who has met
 *    the former one (by rh_peer() from either side, or by reaching its memory).
 *  - A death ends waits for RH_ANY_RANK of those only who have met the dead one.
 *  - It runs on NIC shm: processes of other hosts are not reached. */

/* Optional wishes for rh_join(). What is 0 has its default. */
struct rh_join_options {
    size_t struct_size; /* sizeof(struct rh_join_options), or 0: that of version 0.2 */
    const char *nic;    /* NIC to use; NULL: what the launcher or RHINET_NIC says */
    int manager_fd;     /* connection to the task manager; 0: what the launcher passed */
    int unstarted;      /* enum rh_unstarted */
};

/* Join the job this process was started in. options may be NULL. On success *job is the caller's
 * until rh_leave(). Does not wait for the other ranks, except under another launcher than ours.
 * Errors: RH_EINVALID (unknown NIC, bad setting or option), RH_EREFUSED (the task manager does not
 * know us, or speaks another version; no launcher has started us, and that was asked for),
 * RH_ENOSPACE (no room for the control memory, or in the open job). For an open job also RH_EUNSUP
 * (not on that NIC, or the manager program is missing), RH_ETIMEOUT. */
int rh_join(struct rh_job **job, const struct rh_join_options *options);

/* Leave: detaches all segments and frees the job. Peers that still use this rank's memory or wait
 * for it get RH_EDEAD ("has left"). Does not fail. */
int rh_leave(struct rh_job *job);

int rh_rank(const struct rh_job *job);
/* In an open job: how many there may be. */
int rh_size(const struct rh_job *job);

#define RH_ADDRESS_MAX 64

/* This process's address in its job: up to RH_ADDRESS_MAX bytes, which mean the same wherever they
 * lie. *size is the room at `bytes`, then the length. Errors: RH_ENOSPACE (*size says how many
 * bytes it takes). */
int rh_address(const struct rh_job *job, void *bytes, size_t *size);

/* The rank of the process with that address, which can be reached from now on. Works in every kind
 * of job, for addresses of its own processes. Errors: RH_EINVALID (not an address), RH_EDEAD (it
 * has died or left, or is of a job that is over), RH_EREFUSED (another user's), RH_EUNSUP (of a
 * process that this job cannot reach: on another host, or in another job). */
int rh_peer(struct rh_job *job, const void *bytes, size_t size, int *rank);

/* Node (host) number of a rank, counted from 0, or RH_EINVALID for a rank outside the job. */
int rh_node(const struct rh_job *job, int rank);

/* The job's number (PGID): the same on all ranks, different for every job of the host. */
uint64_t rh_job_id(const struct rh_job *job);

/* The NIC in use, as RHINET_NIC would name it. */
const char *rh_nic_name(const struct rh_job *job);

/* The clock by which this job's waits end, in nanoseconds since some moment; never goes back. It is
 * that of the simulated network where there is one, so measure durations of the job with it. */
int64_t rh_clock_ns(const struct rh_job *job);

enum rh_peer_state {
    RH_PEER_STARTING = 0, /* started, has not joined yet */
    RH_PEER_JOINED = 1,
    RH_PEER_LEFT = 2, /* called rh_leave(), or ended without failing */
    RH_PEER_DIED = 3  /* killed, crashed or failed */
};

/* State of a rank, or RH_EINVALID for a rank outside the job. */
int rh_peer_state(const struct rh_job *job, int rank);

/* A death ends every wait for RH_ANY_RANK with RH_EDEAD, again and again, until the program says
 * that it knows: after this call only later deaths do. Returns how many ranks have died so far. */
int rh_deaths_acknowledge(struct rh_job *job);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
