/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a `struct rh_job` is made of. Private to the library: src/job fills it, the layers above use
 * the NIC and what it is told of the job.
 */
#pragma once

#include "base/settings.h"
#include "job/job_layer.h"
#include "job/job_memory.h"
#include "job/starter/starter.h"
#include "nic/nic.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>

/* The connection to the task manager; used by one thread at a time (broker.c). */
struct manager_line {
    int fd;                   /* -1 in a job of one */
    uint32_t asked, answered; /* numbers of the last request, and of the last that was answered */
    bool is_taken;
    pthread_mutex_t lock; /* over is_taken only: never held while waiting for the manager */
    pthread_cond_t is_free;
};

/* What a layer above keeps with the job for the program; closed when the program leaves. */
struct job_guest {
    void *state;
    void (*close)(void *state);
};

#define JOB_REACH_BITS  4
#define JOB_REACH_SLOTS (1 << JOB_REACH_BITS)
#define JOB_NO_REACH    1024 /* ranks told apart */

/* Peers' memory that short operations reach without a call of the NIC: rma/reach.h. */
struct job_reach {
    alignas(64) uint64_t key; /* rank and SID */
    uint64_t length;
    char *base;
    const _Atomic uint64_t *stands; /* and the next two: see struct nic_view */
    uint64_t stood;
    const _Atomic uint32_t *sleeper;
    const struct roster_peer *peer; /* the owner */
    unsigned rights;                /* that it grants */
    struct job_reach *older;
};

struct rh_job {
    struct nic *nic; /* first: every operation starts here */
    struct counters *counters;
    _Atomic(struct job_reach *) reach[JOB_REACH_SLOTS];
    struct job_reach *reaches;  /* all that were made: threads may hold any until the job is left */
    _Atomic bool is_reach_made; /* by a thread, just now: the list is its */
    unsigned reach_count;
    _Atomic uint64_t no_reach[JOB_NO_REACH / 64]; /* a bit per rank whose memory has no pointers */
    int64_t timeout_ns;                           /* what RH_TIMEOUT_DEFAULT means */
    char nic_name[64];                            /* as the user would write it */
    struct nic_job nic_job;
    struct nic_broker broker;
    struct settings settings;
    struct job_memory memory;
    struct manager_line line;
    struct job_guest mailbox;
    struct starter starter; /* ops is NULL unless there still is one */
};

/* A place in a job that has no task manager, since somebody else keeps its roster and boards: one
 * whose ranks are all in this process. All of it stays the caller's until the rank has left. */
struct job_place {
    int rank, size;
    uint64_t job_id;
    struct roster *roster;
    struct board_rank *boards; /* of all ranks */
    const struct settings *settings;
    const void *for_nic; /* see struct nic_job */
    const char *nic;
};

/* Takes it, as rh_join() would; ends with rh_leave(). Errors: RH_ENOSPACE, those of the NIC. */
int job_place_take(struct rh_job **job, const struct job_place *place);

/* ---- Names ---------------------------------------------------------------------------------- */

#define JOB_NAME_MAX 56 /* bytes */

/* Ranks of this host find each other by names, which their task manager knows: what a program wants
 * to be called, and a number of its own that stands for it. A name ends with its rank. In a job of
 * one rank nobody asks, and nothing is kept. RH_EREFUSED: another rank has it; RH_EINVALID: too
 * long, or empty. */
int job_name_put(struct rh_job *job, const char *name, uint32_t number);
int job_name_drop(struct rh_job *job, const char *name);
/* RH_EAGAIN: nobody is called so just now. */
int job_name_find(struct rh_job *job, const char *name, int *rank, uint32_t *number);
