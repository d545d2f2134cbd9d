/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of the simulation's server: server.c is its loop, server_rank.c ranks, their channels
 * and calls, server_outside.c what ranks wait for outside of the world.
 */
#pragma once

#include "simulated/station.h"

#include <poll.h>

struct server_rank;

struct channel {
    struct server_rank *rank;
    int fd;              /* -1: closed, or not open yet */
    bool is_busy;        /* with a call ... */
    bool is_new;         /* ... that its fiber has not been told of */
    int64_t answered_ns; /* wall clock */
    struct martini_call call;
    bool is_released; /* from the park, in which its fiber still is; the rank's next ... */
    struct martini_call next_call; /* ... call, if it is another */
    bool has_next;
    uint32_t vain; /* looks in vain, one behind the other */
    struct sim_condition wanted;
    struct channel *next;
};

struct server_rank {
    struct server *server;
    struct station *station;
    int control; /* -1: gone */
    int pid;
    struct host_reach reach;
    struct channel *channels;
};

struct server {
    const struct martini_serve_options *options;
    struct martini_world *world;
    struct compute *compute;
    struct server_rank *ranks;
    uint32_t size, live_count;
    struct pollfd *polled;
    size_t polled_room;
    bool is_outside; /* all waited for it, and have been released */
    int64_t held_ns; /* since when calls are held; 0: none is */
};

/* ---- server_rank.c --------------------------------------------------------------------------- */

/* All ranks, with a first channel each. RH_ENOSPACE. */
int server_ranks_open(struct server *server);
void server_ranks_close(struct server *server);

/* Something has come on a rank's control socket; on a channel. */
void server_control_read(struct server_rank *rank);
void server_channel_read(struct channel *channel);

/* Calls that have come while the world stood still begin. */
void server_calls_begin(struct server *server);

/* ---- server_outside.c ------------------------------------------------------------------------ */

/* Lets all that are parked look outside. False: there is none. */
bool server_outside_go(struct server *server);
/* Whether the world may go on: nobody waits for the outside any more, or nobody need be waited for
 * any longer. Else all that are parked look again. */
bool server_outside_is_over(struct server *server);
