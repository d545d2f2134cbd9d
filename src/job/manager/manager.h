/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The task manager of a job: gives it its number (PGID) and secret, gives each process its rank
 * (PID), and hands memory descriptors to members and to nobody else.
 *
 * A member is known by the socket that it was started with: identity cannot be claimed, only
 * inherited. `rhinet run` embeds the manager; tests embed it in a thread. It never blocks: poll its
 * descriptor and call manager_serve() when it is readable. It belongs to one thread.
 */
#pragma once

#include "watch/roster.h"

#include <stdbool.h>

struct address_list;
struct job_map;
struct manager;
struct settings;

struct manager_options {
    int size;            /* number of ranks */
    const char *nic;     /* for the roster: what the members were told to use */
    const char *command; /* for the roster: what a person would call this job */
    bool survive;
    /* For a job of several hosts, else NULL. All outlive the manager. Only ranks of our own node
     * are members here; of the others the roster tells. */
    const struct job_map *map;
    const struct address_list *coordinator; /* where seat 0 listens; NULL: it is us */
    const struct settings *settings;
    bool adopts;  /* members are not started with a socket, but come by manager_adopt() */
    bool is_open; /* they come by manager_let_in(); size is how many there may be at once */
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

/* ---- A manager whose members come by themselves --------------------------------------------- */

/* fd is the connection of a member of this node, which has shown that it is; it becomes the
 * manager's. 0, or -EEXIST if that rank has come before. */
int manager_adopt(struct manager *manager, int rank, int fd);

/* The same for an open job: process pid comes, fd is its connection, whatever it wants. It gets the
 * lowest free rank. The rank, or RH_ENOSPACE with a text; then fd stays the caller's.
 *
 * A rank is free again when its process is gone, or has left, and everybody is gone who has met it:
 * whoever may still keep something of the one who had it before. */
int manager_let_in(struct manager *manager, int fd, int pid);

/* Members that are connected. */
int manager_member_count(const struct manager *manager);

/* Whoever comes is told that, and does not join. */
void manager_refuse_all(struct manager *manager, const char *why);

/* Somebody has come who is no member. */
void manager_refused_count(struct manager *manager);

/* ---- Several hosts: what the launcher has to know and to say -------------------------------- */

enum manager_event_kind {
    MANAGER_READY,      /* all hosts are there: start the ranks */
    MANAGER_RANK_ENDED, /* of another host: rank, pid, status, signal */
    MANAGER_HOST_DONE,  /* that host's manager has said goodbye: status */
    MANAGER_HOST_LOST,  /* text */
    MANAGER_CUT,        /* this host is out, or was never in: text */
    MANAGER_END,        /* end your ranks: signal */
    MANAGER_PAUSE,
    MANAGER_RESUME
};

struct manager_event {
    enum manager_event_kind kind;
    int node;
    int rank;
    int pid, status, signal;
    char text[512];
};

/* Takes the oldest event that manager_serve() has left; false if there is none. */
bool manager_next_event(struct manager *manager, struct manager_event *event);

/* Where this manager can be called by those of other hosts. */
const struct address_list *manager_addresses(const struct manager *manager);

/* The first launcher: all other hosts are to end their ranks. */
void manager_others_end(struct manager *manager, int signal);

/* The first launcher: that host cannot be used any more. */
void manager_host_drop(struct manager *manager, int node, const char *why);

/* The first launcher is about to be stopped, or is back. */
void manager_others_pause(struct manager *manager, bool yes);

/* Say goodbye to the other hosts; ours has finished, with that status. May wait half a second. */
void manager_leave(struct manager *manager, int status);

/* Hosts that still take part, ours included; 1 in a job of one host. */
int manager_present_count(const struct manager *manager);
