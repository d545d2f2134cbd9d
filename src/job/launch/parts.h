/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the launcher know about each other; nobody else includes this.
 *
 *   launch.c     set-up, the event loop, tear-down
 *   say.c        what it says
 *   ranks.c      starting ranks, noticing how they end, ending them
 *   spawn.c      one process: which file its name means, from clone to exec
 *   identity.c   what a rank is told about itself
 *   bind.c       which core a rank gets
 *   signals.c    signals as a descriptor
 *   output.c     labelled output
 *   input.c      standard input from a terminal
 *   guard.c      the process that cleans up if the launcher is killed
 *   sweep.c      what the ranks left running
 *   server.c     the server that a NIC may need
 *   place.c      which rank runs on which host
 *   hosts.c      the other hosts: the remote shells that start launchers there, what they tell
 *   orders.c     what such a launcher is told, and being one
 */
#pragma once

#include "base/arena.h"
#include "job/job_map.h"
#include "job/launch/launch.h"
#include "job/launch/orders.h"
#include "job/manager/manager.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

/* ---- bind.c ---------------------------------------------------------------------------------- */

struct launch_cores {
    int *core;      /* those we may use, ascending */
    int core_count; /* 0: ranks are not bound */
    int first;      /* whose core is the first rank's */
};

/* For that many busy processes of this host. 0, or a negative errno value. */
int launch_cores_find(struct launch_cores *cores, enum launch_bind bind, int rank_count);
int launch_core_of(const struct launch_cores *cores, int which); /* -1: not bound */
void launch_cores_free(struct launch_cores *cores);

/* Bind the calling process; makes system calls only. */
void launch_core_bind(int core);

/* ---- guard.c --------------------------------------------------------------------------------- */

struct launch_guard {
    int pid; /* 0: there is none */
    int fd;  /* where process groups are announced, one int each; -1: none */
    int start_count;
};

/* Start a guard for up to group_max process groups. Failing to is not fatal, and says so. */
void launch_guard_start(struct launch_guard *guard, int group_max);
void launch_guard_add(struct launch_guard *guard, int group);
void launch_guard_stop(struct launch_guard *guard);

/* True if the guard has died (and is reaped here), so that a new one is wanted. */
bool launch_guard_died(struct launch_guard *guard);

/* ---- signals.c ------------------------------------------------------------------------------- */

struct launch_signals {
    int fd;
    sigset_t mask_before; /* what the ranks get back */
    struct sigaction pipe_before;
};

int launch_signals_open(struct launch_signals *signals);
void launch_signals_close(struct launch_signals *signals);

/* Next signal that has arrived, or 0; *pid is the child that a SIGCHLD is about. */
int launch_signals_next(struct launch_signals *signals, int *pid);

/* ---- spawn.c --------------------------------------------------------------------------------- */

/* Find the file that `program` means, as a shell would, into path. 0, or a negative errno. */
int launch_path_find(const char *program, char *path, size_t path_size);

/* Say that the program cannot be executed, and return the exit status that this means. `who` says
 * it: "rhinet run". */
int launch_path_refuse(const char *who, const char *program, int error);

/* What all ranks have in common. */
struct launch_plan {
    const char *path;
    int path_error; /* instead of a path: why there is none */
    char *const *argv;
    char **environment;     /* ours; slot 0 is for RHINET_MANAGER_FD, then who the rank is */
    size_t environment_end; /* the slot behind the last, for the server's */
    const struct launch_signals *signals;
    struct rlimit descriptors; /* limit that we were started with */
    int launcher_pid;
    int null_fd;
};

struct launch_child {
    int manager_fd;              /* -1: none, and slot 0 of the environment is not used */
    int server_fd;               /* 0: none, and the last slot of the environment is not used */
    const char *server_variable; /* that says its number */
    int guard_fd;
    int stdio[3]; /* -1: keep the launcher's */
    int core;     /* -1: any */
};

/* Start one process. It is already executing the program when this returns. 0, or a negative errno:
 * of execve, if *is_exec_error, and else of the creation of the process. */
int launch_spawn(const struct launch_plan *plan, const struct launch_child *child, int *pid,
                 bool *is_exec_error);

/* ---- identity.c ------------------------------------------------------------------------------ */

#define LAUNCH_IDENTITY_COUNT 10

struct launch_identity {
    struct launch_master master;
    char text[LAUNCH_IDENTITY_COUNT][LAUNCH_MASTER_MAX + 24]; /* NAME=VALUE, of one rank */
    bool is_set[LAUNCH_IDENTITY_COUNT];                       /* else the user has */
    size_t count;                                             /* so many are */
};

struct launcher;

/* Fill the slots with our variables, then with the user's that they do not replace; room for
 * LAUNCH_IDENTITY_COUNT more than these. Returns how many. */
size_t launch_identity_open(struct launch_identity *identity, char *const *environment,
                            char **slots);
/* Decide where the master is, or take what the first launcher says. */
void launch_identity_master(struct launcher *launcher);
/* Our variables become those of a rank of this host. */
void launch_identity_write(struct launcher *launcher, int which);

/* ---- output.c -------------------------------------------------------------------------------- */

struct launch_output;

/* For so many processes. */
int launch_output_create(struct launch_output **output, int count);
void launch_output_destroy(struct launch_output *output);

/* Make the pipes of a process, whose lines begin with the rank, or with nothing if that is -1; the
 * caller closes the two ends for the child when it has them. */
int launch_output_open(struct launch_output *output, int which, int rank, int child_fds[2]);

/* Add what is to be polled at fds (room for launch_output_poll_max()); returns how many. After the
 * poll, serve with the same fds. */
int launch_output_poll_max(int count);
int launch_output_poll(struct launch_output *output, struct pollfd *fds);
void launch_output_serve(struct launch_output *output, const struct pollfd *fds);

/* All processes that could write are gone: an empty pipe is a finished one. */
void launch_output_end(struct launch_output *output);

/* Nothing more to read or to write. */
bool launch_output_is_done(const struct launch_output *output);

/* A line of the launcher's own for stderr, in turn with the others. */
void launch_output_say(struct launch_output *output, const char *line, size_t length);

/* ---- input.c --------------------------------------------------------------------------------- */

/* Relays the terminal to rank 0: that is a background process group, which may not read it. If rank
 * 0 runs on another host, relays whatever standard input is. */
struct launch_input {
    int fd; /* write end of rank 0's stdin, or -1: nothing to relay */
    bool is_terminal;
    char data[4096];
    size_t start, used;
};

/* If stdin is a terminal: *child_fd is what rank 0 is to read, the caller's to close; else -1. */
int launch_input_open(struct launch_input *input, int *child_fd);
void launch_input_close(struct launch_input *input);

/* Relay to fd, which becomes the input's. */
void launch_input_relay(struct launch_input *input, int fd);

/* What is to be polled into *fd; returns 0 or 1. If 1, serve with the same fd after the poll. */
int launch_input_poll(struct launch_input *input, struct pollfd *fd);
void launch_input_serve(struct launch_input *input, const struct pollfd *fd);

/* ---- sweep.c --------------------------------------------------------------------------------- */

/* End every child and adopted descendant of this process, and reap them. */
void launch_sweep(void);

/* ---- place.c --------------------------------------------------------------------------------- */

/* Which rank runs where: fills the map, which is the caller's to close, and the options' size. They
 * get the map, and a NIC that reaches all, unless all ranks run here. 0, or an exit status after it
 * has said what is wrong. */
int launch_place(struct launch_options *options, struct job_map *map);

/* ---- server.c -------------------------------------------------------------------------------- */

struct launch_child_server {
    int pid;   /* 0: there is none */
    int *ends; /* of the ranks' sockets, by rank; 0: given */
};

struct launcher;

bool launch_server_is_wanted(const struct launch_options *options);
/* Starts it if it is wanted. 0, or a negative errno that has been said. */
int launch_server_start(struct launcher *launcher);
/* The rank has inherited its socket. */
void launch_server_given(struct launcher *launcher, int rank);
/* All ranks have ended: waits for its end. */
void launch_server_stop(struct launcher *launcher);

/* ---- hosts.c --------------------------------------------------------------------------------- */

/* The remote shell that starts a launcher on a host, and what it still has to be told. */
struct launch_shell {
    int node;
    int pid;
    int fd; /* its standard input, or -1 */
    char *orders;
    size_t length, sent;
    bool is_ended;
    bool is_settled; /* its host has said goodbye, or is lost */
    int64_t settled_ns;
};

struct launcher;

/* Start them all. On failure it has been said, launcher->status is set and the job is ending. */
void launch_shells_start(struct launcher *launcher);
int launch_shells_poll(struct launcher *launcher, struct pollfd *fds);
void launch_shells_serve(struct launcher *launcher, const struct pollfd *fds);
void launch_shells_notice(struct launcher *launcher);

/* Nothing more is to be expected of them. */
bool launch_shells_are_over(const struct launcher *launcher);
bool launch_is_shell(const struct launcher *launcher, int pid);
void launch_shells_free(struct launcher *launcher);

/* Act on what the other hosts have told our task manager. */
void launch_hosts_serve(struct launcher *launcher);

/* ---- launch.c, ranks.c ----------------------------------------------------------------------- */

struct launch_rank {
    int rank; /* its number in the job */
    int pid;
    bool is_ended;
};

struct launcher {
    const struct launch_options *options;
    const struct job_map *map; /* NULL: one host */
    struct arena memory;       /* for the arrays */
    struct launch_shell *shells;
    int shell_count;
    int local_count; /* ranks of ours */
    bool has_begun;  /* to start them: all hosts are there */
    struct manager *manager;
    struct launch_plan plan;
    struct launch_identity identity;
    struct launch_signals signals;
    struct launch_guard guard;
    struct launch_child_server server;
    struct launch_cores cores;
    struct launch_input input;
    struct launch_output *output; /* NULL: the ranks write themselves */
    struct pollfd *fds;
    struct launch_rank *ranks; /* local_count of them */
    int started_count;
    int live_count;
    int status; /* of the job, so far */
    bool is_ending;
    bool is_swept;
    int64_t deadline_ns;   /* of the job */
    int64_t kill_ns;       /* when ending: SIGKILL for those that are left */
    int64_t output_end_ns; /* when ending: output that nobody takes is dropped */
    int64_t hosts_end_ns;  /* when ending: other hosts are not waited for any more */
};

/* True for the launcher of another host than the first: that one speaks and decides. */
static inline bool launch_is_node(const struct launcher *launcher)
{
    return launcher->map && launcher->map->seat > 0;
}

/* A rank has failed, here or elsewhere: say so, and end the job if that is its end. */
struct launch_failure {
    int rank, pid, status, signal;
    const char *host; /* NULL: this one */
};
void launch_rank_failed(struct launcher *launcher, const struct launch_failure *failure);

/* Start all ranks of this host. On failure it has been said, launcher->status is set and the job is
 * ending. */
void launch_ranks_start(struct launcher *launcher);

/* Look which ranks have ended since, tell the manager and decide what that means for the job. */
void launch_ranks_notice(struct launcher *launcher);

void launch_ranks_signal(struct launcher *launcher, int signal);

/* Begin to end the job: `signal` now, SIGKILL soon. The first call decides the status. */
void launch_ranks_end(struct launcher *launcher, int signal, int status);

/* Reap the ranks, which until now kept their process numbers from being used again, and everything
 * that they left running. */
void launch_ranks_reap(struct launcher *launcher);

/* ---- say.c ----------------------------------------------------------------------------------- */

/* "rhinet run: text" on stderr. */
void launch_say(struct launcher *launcher, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What to do about an error, to follow its name; "" if we do not know. */
const char *launch_advice(int error);
