/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The jobs that run on this machine, found without any name in the file system: a launcher holds
 * its job's roster and board as memfds, and /proc shows them to the same user and nobody else.
 *
 * What is found was written by other processes. It is read with pread(2), never mapped, so that a
 * job that shrinks its memory cannot kill us, copied once into a job_snapshot, and checked there.
 */
#pragma once

#include "watch/diagnosis.h"
#include "watch/roster.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JOBS_MAX       64
#define JOBS_RANKS_MAX (1u << 20)

struct live_job {
    uint64_t id;
    int launcher_pid;
    int roster_fd;
    int board_fd;    /* -1: not found, all counters read 0 */
    int launcher_fd; /* readable when the launcher has ended; -1: unknown */
};

struct job_rank {
    enum rh_peer_state state;
    int node;
    int pid;
    int end_signal;
    int end_status;
    bool is_counted; /* here, or its host has told just now: the counters are its own */
    uint64_t counter[COUNTERS_MAX];
};

struct job_node {
    char host[64]; /* printable and terminated, as the other texts */
    char address[64];
};

struct job_snapshot {
    uint64_t id;
    int64_t start_time_s;
    int launcher_pid;
    bool survive;
    char nic[64]; /* both printable and terminated, whatever the job wrote */
    char command[256];
    uint32_t size;
    uint32_t refused;      /* connections of strangers */
    int own_node;          /* this host */
    uint32_t node_count;   /* at least 1 */
    struct job_node *node; /* in the same piece of memory */
    struct job_rank rank[];
};

/* Find up to JOBS_MAX jobs; returns how many. Each is the caller's until jobs_close(). */
size_t jobs_find(struct live_job jobs[JOBS_MAX]);
void jobs_close(struct live_job *jobs, size_t job_count);

/* The job with this number (hex), or with this launcher (pid). NULL: the only one there is.
 * On failure says why and returns an exit status. */
int jobs_select(const char *text, struct live_job *job);

/* Numbers of the running jobs, for completion; NULL behind the last. */
const char *jobs_suggest(size_t index);

/* Copy a job's state. NULL if it makes no sense or memory is out. free() it. */
struct job_snapshot *job_snapshot_take(const struct live_job *job);

/* Copy who waits for whom. NULL if it makes no sense or memory is out. free() it. */
struct diagnosis *job_diagnosis_take(const struct live_job *job);

/* In a job of several hosts: have the task manager ask those of the others who waits there and what
 * they have counted, and wait a while for their answers. Where it did not work, the next diagnosis
 * does not see those ranks, nor the next snapshot their counters. */
void job_others_ask(const struct live_job *job);

const char *job_state_name(enum rh_peer_state state);

/* Print a table of the running jobs on stderr or stdout. */
void jobs_print(FILE *out, const struct live_job *jobs, size_t job_count);
