/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The launcher: starts the processes of a job on this machine, serves them as their task manager,
 * and sees to it that nothing of the job is left when it is over, however it ends. For other hosts
 * it starts a launcher there.
 *
 * For programs, not for the library's users: it blocks signals, raises the descriptor limit, writes
 * to stdout and stderr, and reaps every child of the calling process. Call it from the main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_TIMEOUT_NONE INT64_MAX

/* Exit statuses that are not a rank's own; the same as those of sh, env and timeout. */
enum launch_status {
    LAUNCH_STATUS_FAILED = 1,
    LAUNCH_STATUS_TIMEOUT = 124,
    LAUNCH_STATUS_NOT_EXECUTABLE = 126,
    LAUNCH_STATUS_NOT_FOUND = 127,
    LAUNCH_STATUS_SIGNAL = 128 /* plus the signal */
};

struct address_list;
struct job_map;
struct settings;

/* A host and how many ranks it takes; 0: the user has not said. */
struct launch_host {
    char name[64];
    int places;
};

/* Whether a user means this host by that name. */
bool launch_is_this_host(const char *name);

/* Where ranks run, if not all here; no host twice. */
struct launch_hosts {
    struct launch_host *host;
    int count;
    bool cyclic;     /* ranks go round the hosts, instead of filling one after the other */
    const char *rsh; /* command that runs another on a host, as words between blanks */
    const char *remote_rhinet; /* this program there; NULL: where it is here */
    char **variables;          /* NAME=VALUE for the ranks there; ends with NULL */
};

/* Which cores a rank may use. */
enum launch_bind {
    LAUNCH_BIND_AUTO, /* one of its own, if several ranks share a host and it has one for each */
    LAUNCH_BIND_CORE, /* rank i the i-th of those that we may use, round robin */
    LAUNCH_BIND_NONE, /* all that we may */
    LAUNCH_BIND_COUNT
};

/* The server that a NIC may need: a child of the launcher with a socket to each rank. NIC martini
 * has one, its simulation; the launcher knows no more of it than this. */
struct launch_options;
struct launch_server {
    const char *nic;      /* it is started if the job's NIC has this name in it */
    const char *variable; /* of a rank's environment: the number of its end of the socket */
    /* Reads what the user wants of it. 0, or an error that error_set() has explained. */
    int (*prepare)(void **state, const struct launch_options *options);
    /* In the child: serves on its ends of the sockets, by rank, until all ranks have gone. 0, or an
     * error that it has said. */
    int (*serve)(void *state, const int *fds);
    void (*release)(void *state);
};

/* Where the processes of a program may meet: MASTER_ADDR and MASTER_PORT, as torchrun has them. */
#define LAUNCH_MASTER_MAX 256
struct launch_master {
    char address[LAUNCH_MASTER_MAX];
    char port[24];
};

struct launch_options {
    const char *name;   /* for messages: "rhinet run" */
    int size;           /* number of ranks; 0 with hosts: as many as these take */
    const char *nic;    /* for the roster; the ranks read RHINET_NIC */
    int64_t timeout_ns; /* the job is ended after that, or LAUNCH_TIMEOUT_NONE */
    enum launch_bind bind;
    bool label;                       /* output goes through us, each line behind "[rank] " */
    bool survive;                     /* the failure of a rank ends only that rank */
    char *const *argv;                /* program and its arguments, ends with NULL */
    char *const *environ;             /* of the ranks; RHINET_MANAGER_FD is added */
    const struct launch_hosts *hosts; /* NULL: this machine only */
    const struct settings *settings;
    const struct launch_server *server; /* NULL: no NIC of this job can need one */
    /* For the launcher of another host, as the first one orders it. */
    const struct job_map *map;              /* else NULL */
    const struct address_list *coordinator; /* the first one's task manager; NULL: it is ours */
    const struct launch_master *master;     /* as the first one says; NULL: it is ours to say */
};

/* Run a job to its end and return its exit status: 0, or that of the first rank that failed (128 +
 * signal if it was killed), or one of enum launch_status. Says on stderr what went wrong. */
int launch_run(const struct launch_options *options);

/* The same for the ranks of one of several hosts, as another launcher orders it on standard input.
 * Returns 0 if that was done, however the ranks ended. */
int launch_node(void);
