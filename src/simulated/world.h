/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated world in which the ranks of NIC martini live.
 *
 * A rank is one node of a simulated cluster (sim/cluster): host, controller, window. What the rank
 * asks of its NIC is a call (nic/martini/call.h), which its station (station.h), a part of the
 * world, carries out in a fiber by driving the controller: push is PUSH, pull PULL, inline push
 * BOTF, store AOTF, append VPUSH; atomic operations are a packet for the firmware. Waiting lets
 * virtual time pass.
 *
 * There are two ways to get there, which share all of this. In a simulated job (simulated.h) the
 * ranks are fibers of the world themselves, and the port is a function call. Under `rhinet run
 * --nic martini` ranks are processes; the world is a server's (martini_serve()), the port is a
 * socket, and the server reaches the ranks' memory by cross-memory attach.
 */
#pragma once

#include "nic/martini/martini.h"
#include "sim/platform/platform.h"
#include "sim/switch/switch.h"
#include "simulated/compute.h"

struct cluster; /* of sim/cluster */
struct trace;

/* ---- The world ------------------------------------------------------------------------------ */

struct martini_world;

struct martini_spec {
    uint32_t size;                         /* ranks, each a node */
    uint64_t seed;                         /* of everything that chance decides */
    const struct network_plan *plan;       /* NULL: martini_plan_make() */
    enum network_kind kind;                /* of links and switches */
    uint32_t metres;                       /* length of links */
    double bit_error_rate;                 /* on every link */
    const struct sim_constants *constants; /* NULL: the default ones */
    const struct platform_ranges *ranges;  /* nodes that are other machines; may be NULL */
    struct trace *trace;                   /* may be NULL */
    int64_t timeout_ns;                    /* of transfers; 0: a minute */
    /* A rank has left or died, in virtual time; may be NULL. */
    void (*ended)(void *context, int rank, bool is_dead);
    void *context;
};

/* RH_EINVALID, RH_ENOSPACE. */
int martini_world_create(struct martini_world **world, const struct martini_spec *spec);
void martini_world_destroy(struct martini_world *world);

struct sim *martini_sim(const struct martini_world *world);
struct cluster *martini_cluster(const struct martini_world *world);

/* The port of a rank whose program is a fiber of this world, in whose memory addresses mean what
 * they mean here. */
const struct martini_port *martini_port(struct martini_world *world, int rank);

/* The rank's program is dead from now on, or (is_node) all of its node: its fiber never returns
 * from its next call, its packets are gone, the others are told. A node whose program alone is dead
 * still answers what was sent before. */
void martini_kill(struct martini_world *world, int rank, bool is_node);
bool martini_is_gone(const struct martini_world *world, int rank); /* left or dead */

/* Called before and after each time at which a rank's fiber lets others run: for what belongs to a
 * thread and is here to belong to a rank. */
void martini_on_switch(struct martini_world *world, void (*hook)(void *context, int rank),
                       void *context);

/* Switches with 8 ports for so many hosts: one; four that are fully connected with four hosts each,
 * as in chapter 8; or a tree. Free with martini_plan_free(). RH_ENOSPACE. */
int martini_plan_make(struct network_plan *plan, uint32_t host_count, uint32_t mbps);
void martini_plan_free(struct network_plan *plan);

/* ---- The server of a job of processes -------------------------------------------------------- */

struct martini_serve_options {
    struct martini_spec spec;
    const int *fds; /* the server's end of each rank's socket; become the server's */
    struct compute_model compute;
    const char *report; /* file for the counts at the end, "-": stderr; NULL: none */
    const char *usage;  /* the same for where the time went, as JSON but on stderr */
};

/* What a user says in RHINET_MARTINI, for these. RH_EINVALID. */
struct martini_settings {
    uint64_t seed;
    enum network_kind kind;
    uint32_t metres;
    struct compute_model compute;
    double bit_error_rate;
    char report[256];                         /* "": none */
    char usage[256];                          /* file for where the time went; "": none */
    char trace[256], pcap[256], packets[256]; /* files, see sim/trace; "": none */
    uint64_t trace_limit;                     /* bytes of each */
    char topology[256];                       /* file; "": martini_plan_make() */
    char routing[256];                        /* algorithm or file with tables; "": the usual one */
    char lanes[16]; /* of tables from a file: one, hop or branch; "": one */
    struct sim_constants constants;
    struct platform_ranges ranges; /* nodes that are other machines */
};
int martini_settings_read(struct martini_settings *settings, const char *text);

/* The launcher's way to it (job/launch/launch.h). */
struct launch_server;
extern const struct launch_server martini_server;

/* Serves until all ranks have gone. Returns 0 or an error, which it has said on stderr. */
int martini_serve(const struct martini_serve_options *options);
