/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of a member's side of the job know about each other; nobody else includes this.
 *
 *   join.c                    joining and leaving
 *   broker.c                  asking the task manager
 *   peer.c                    addresses of processes
 *   name.c                    names of ranks
 *   join_started.c            joining under somebody else's launcher
 *   manager_process_start.c   finding, starting and calling a manager process for that
 *   manager_process_load.c    where its body comes from
 *   join_open.c               joining an open job
 *   manager_program.c         starting the program that serves it
 */
#pragma once

#include "job/job.h"
#include "job/manager_process.h"
#include "job/protocol.h"

/* ---- broker.c -------------------------------------------------------------------------------- */

void line_open(struct manager_line *line, int fd);
void line_close(struct manager_line *line);
/* As before any request, without a connection. */
void line_reset(struct manager_line *line);

/* One request and its answer, within the job's time-out. The manager's refusal is returned with its
 * text; RH_ETIMEOUT: it has not answered, and may still do what was asked; RH_EREFUSED: it is gone.
 * No point of cancellation. */
struct exchange {
    struct request request;
    int send_fd;  /* or -1 */
    int fd[2];    /* received */
    int fd_count; /* must come back exactly this many */
    struct reply reply;
    bool is_lost; /* result: the manager has hung up */
};
int job_exchange(struct rh_job *job, struct exchange *exchange);

/* Operations that ask the task manager; the context is the job. */
extern const struct nic_broker job_broker;

/* ---- join.c ---------------------------------------------------------------------------------- */

/* Say hello on a connection to the task manager, which becomes the job's, and map what it sends.
 * *is_lost (may be NULL): it has hung up without an answer. */
int join_manager(struct rh_job *job, int fd, bool *is_lost);

/* ---- join_open.c ----------------------------------------------------------------------------- */

/* Join this user's open job, or make it; nic is what it is to be opened with afterwards. */
int join_open(struct rh_job *job, const char *nic);

/* ---- manager_program.c ----------------------------------------------------------------------- */

/* Start the program that serves the open job of listen_fd, which stays the caller's. RH_EUNSUP: it
 * is not installed; RH_ENOSPACE, RH_EREFUSED, RH_ETIMEOUT. */
int manager_program_start(const struct settings *settings, const char *nic, int listen_fd);

/* ---- join_started.c -------------------------------------------------------------------------- */

/* Find the other processes and the task manager of this host, starting that if it is ours to start.
 * The connection to it, or an error. The starter stays the caller's. */
int join_started(struct starter *starter, const struct settings *settings);

/* ---- manager_process_start.c (see job/manager_process.h) ------------------------------------- */

#define MANAGER_PROCESS_NAME_BYTES 33

/* A socket for the manager process under a fresh name that nobody can guess. The descriptor, or an
 * error. */
int manager_process_listen(char name[MANAGER_PROCESS_NAME_BYTES]);

/* Start it; listen_fd stays the caller's. With several hosts, *addresses is where it can be called.
 * Errors: those of manager_create(), RH_ENOSPACE (no process), RH_EUNSUP (no body), RH_ETIMEOUT. */
int manager_process_start(const struct manager_process_plan *plan, struct address_list *addresses);

/* A member's connection to the manager process of its host, ready for REQUEST_HELLO. */
int manager_process_connect(const char *name, const struct job_map *map, int rank);

/* What it, or the manager program, says when it has started: "+" or "-" and a text. RH_ETIMEOUT. */
#define MANAGER_REPORT_BYTES 512
int manager_report_read(int fd, char report[MANAGER_REPORT_BYTES]);

/* ---- manager_process_load.c ------------------------------------------------------------------ */

/* RH_EUNSUP: there is none, or it is of another version. *library is to
 * be unloaded again. */
int manager_process_load(const struct manager_process_body **body, void **library);
void manager_process_unload(void *library); /* NULL: nothing */
