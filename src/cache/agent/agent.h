/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent: the process of a node that has its part of the cache, and serves the processes that
 * use it. It is a rank of a job of its own kind; the programs are not.
 *
 *   agent.c    life cycle
 *   pool.c     threads that serve requests and read ahead
 *   socket.c   clients that attach, and files that they introduce
 *   named.c    files and folders that clients know by name only
 *   endings.c  writers that have ended
 *   lifetime.c when it ends
 *   setup.h    what the settings mean for it
 *   keeper.h   the process that starts it, and the program
 *   service.h  the same without a program, and place.h where programs find it then
 */
#pragma once

#include "cache/node/node.h"

#define AGENT_THREADS_MAX  32
#define AGENT_AHEAD_MAX    512
#define AGENT_LINES_MAX    64 /* connections that are served at a time */
#define AGENT_ENDINGS_MAX  4096
#define AGENT_USERS_MAX    256
#define AGENT_REQUESTS_MAX 1024 /* places that can be watched for clients that are gone */

/* A block that is to be read ahead. */
struct agent_ahead {
    uint64_t file_id[2];
    uint64_t block;
};

/* A writer whose end is to be told. */
struct agent_ending {
    uint32_t watch;
    int pid;        /* 0, or it ends with that process */
    int64_t due_ns; /* without a process: when */
};

/* A client of another pid namespace, whose place is freed when it has not moved for long. */
struct agent_place {
    uint32_t word;
    int64_t since_ns;
};

struct agent {
    struct node node;
    struct cache_control *control;
    struct cache_card *card;
    struct mounts mounts;
    int control_fd, card_fd;
    int arena_fd, watch_fd; /* for clients: only to be read */
    int listen_fd;
    int line_fds[AGENT_LINES_MAX];
    int line_count;
    int thread_count;
    pthread_t threads[AGENT_THREADS_MAX];
    pthread_t keeper; /* renews claims */
    _Atomic bool is_ending;
    pthread_mutex_t ahead_lock;
    struct agent_ahead ahead[AGENT_AHEAD_MAX]; /* a ring */
    uint32_t ahead_first, ahead_count;
    _Atomic int ahead_busy; /* threads that read ahead */
    int64_t settle_ns;
    pthread_mutex_t ending_lock;
    struct agent_ending endings[AGENT_ENDINGS_MAX];
    uint32_t ending_count;
    _Atomic int64_t endings_next_ns; /* when to look at them again */
    struct agent_place foreign[AGENT_REQUESTS_MAX];
    /* Of a service: */
    bool is_service;
    int64_t idle_ns;               /* 0: it never ends by itself */
    int user_fds[AGENT_USERS_MAX]; /* pidfds of processes that have attached */
    int user_count;
    uint64_t activity; /* a sum over what changes while it is used */
    int64_t active_ns; /* when it was used last */
    int64_t look_ns;   /* when to look again */
    int64_t stop_ns;   /* when its end is not waited for any longer; 0: not yet */
};

struct agent_options {
    struct node_options node;
    struct mounts mounts;          /* with its paths */
    struct cache_control *control; /* its shape is filled in */
    int control_fd;
    struct cache_card *card; /* with limits and paths */
    int card_fd;
    char socket_name[CACHE_NAME_MAX];
    int thread_count;
    bool is_service; /* it ends when told, or when nobody has used it for idle_ns */
    int64_t idle_ns;
};

/* Be the agent, until card->stop says so and all other nodes have finished too. Joins and leaves
 * the job. Returns 0, or a negative error that has been said on stderr. */
int agent_run(const struct agent_options *options);

/* The same in parts, for tests that have several nodes in a process: start it as a member of a job
 * that the caller has joined; serve the socket for a moment; end it. */
int agent_start(struct agent *agent, struct rh_job *job, const struct agent_options *options);
void agent_serve(struct agent *agent, int timeout_ms);
void agent_end(struct agent *agent);

/* ---- pool.c --------------------------------------------------------------------------------- */

int agent_pool_start(struct agent *agent, int thread_count);
void agent_pool_stop(struct agent *agent);

/* Free places of clients that are gone. */
void agent_pool_reap(struct agent *agent);

/* ---- named.c -------------------------------------------------------------------------------- */

/* What is declared unchanging, resolved, and shown to the clients. RH_EINVALID. */
int agent_declare(struct cache_card *card, const char *list);

/* Once the file systems are known: those of the declared folders. */
void agent_declared_look(struct agent *agent);

/* A client names a file or a folder. As loader_name(). */
int agent_name(struct agent *agent, const struct cache_named *named);

/* A part of a folder's listing is wanted: find out how long such parts are. 0 or a negative errno.
 * Waits. */
int agent_listing_prepare(struct agent *agent, struct loader_file *file);

/* ---- endings.c ------------------------------------------------------------------------------ */

/* A writer has ended, or (pid > 0) ends with this process: tell all nodes when the file has
 * settled. 0, or -ENOSPC: it will not be told. */
int agent_ending_add(struct agent *agent, uint32_t watch, int pid);

/* Tell those that are due; waits for the network. */
void agent_endings_tell(struct agent *agent);

/* ---- lifetime.c ----------------------------------------------------------------------------- */

/* This process has attached. */
void agent_user_add(struct agent *agent, int pid);

/* Whether it is time to end. Tells the others what they must know of us; waits for the network. */
bool agent_is_over(struct agent *agent);
void agent_users_forget(struct agent *agent);

/* ---- socket.c ------------------------------------------------------------------------------- */

int agent_socket_open(struct agent *agent, const char *name);
void agent_socket_close(struct agent *agent);

/* Wait for calls up to timeout_ms, and answer them. */
void agent_socket_serve(struct agent *agent, int timeout_ms);
