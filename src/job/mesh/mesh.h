/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mesh: TCP links between the task managers of a job of several hosts, each to each.
 *
 * Every manager has a seat, a number. Seat 0, the coordinator, brings the others together and
 * decides who is out. The rules, so that no two managers ever disagree for long:
 *
 *  - A manager that hears nothing of the coordinator for the host time-out and a little more, or
 *    loses its link to it, is out: it must end its ranks.
 *  - Whom the coordinator does not hear for that time, or whose link breaks, is lost: the
 *    coordinator tells all the others, who cut their links to it, and the lost one, if that still
 *    hears.
 *  - Whoever hears the coordinator but not another tells the coordinator, which gives up those in
 *    whom most such suspicions meet (suspicion.c), of two the one with the higher seat.
 *  - An outage shorter than the host time-out loses nobody: links that are stuck are probed at each
 *    beat (probe.c), and the little more is what hearing of each other then takes.
 *  - Who is lost stays lost: it is told so when it comes back.
 *
 * Links are proved with the job's secret, both ways, before anything is said, and everything after
 * is encrypted; the secret itself never travels. Who cannot prove it is refused and counted.
 *
 * One thread, never blocks: poll mesh_poll_fd() and call mesh_serve().
 */
#pragma once

#include "job/address.h"

#include <stdbool.h>
#include <stdint.h>

#define MESH_VERSION  5u /* of what goes over the links, and of orders */
#define MESH_DATA_MAX 528
#define MESH_TEXT_MAX 512

struct mesh;

enum mesh_kind {
    MESH_BEAT = 1, /* I am here */
    MESH_NODE,     /* to the coordinator. data: where I listen */
    MESH_ENTRY,    /* from the coordinator. seat; data: its address, and where it listens */
    MESH_READY,    /* to the coordinator: I have all my links */
    MESH_GO,       /* from the coordinator: all have */
    MESH_SUSPECT,  /* to the coordinator: I do not hear that seat */
    MESH_LOST,     /* from the coordinator: that seat is out. data: why */
    MESH_BYE,      /* value[0]: my exit status. Nothing comes after it */
    MESH_PAUSE,    /* from the coordinator: it will be silent until MESH_RESUME */
    MESH_RESUME,
    MESH_OWNER = 32 /* from here on the owner's, whom they are handed to */
};

struct mesh_frame {
    uint32_t kind;
    int32_t seat; /* or rank, as the kind says */
    int32_t value[4];
    uint32_t length;
    uint8_t data[MESH_DATA_MAX];
};

/* What the owner is told, from inside mesh_serve(). It may send, but not destroy. */
struct mesh_owner {
    void *context;
    void (*ready)(void *context); /* all links are there: once */
    void (*frame)(void *context, int seat, const struct mesh_frame *frame);
    void (*left)(void *context, int seat, int status);
    void (*lost)(void *context, int seat, const char *why);
    void (*cut)(void *context, const char *why);      /* we are out, or were never in: once */
    void (*refused)(void *context, uint32_t refused); /* so many strangers so far */
    void (*paused)(void *context, bool yes);
    const char *(*host)(void *context, int seat); /* a name for messages */
};

struct mesh_options {
    int seat;
    int seat_count;
    uint64_t job_id;
    const uint8_t *secret;                  /* 32 bytes */
    const struct address_list *coordinator; /* where seat 0 listens; NULL if that is us */
    const char *interface;                  /* RHINET_INTERFACE */
    const char *ports;                      /* RHINET_PORTS */
    int64_t silence_ns;                     /* RHINET_HOST_TIMEOUT */
    int64_t start_ns;                       /* until then all must be there */
    struct mesh_owner owner;
};

/* Listens at once. Errors: RH_EINVALID (interface, ports), RH_EREFUSED, RH_ENOSPACE. */
int mesh_create(struct mesh **mesh, const struct mesh_options *options);

/* Breaks the links: for the others this manager has vanished, unless it has left. */
void mesh_destroy(struct mesh *mesh);

/* Say goodbye and wait a little until the others have heard it. Our ranks have ended. */
void mesh_leave(struct mesh *mesh, int status);

int mesh_poll_fd(const struct mesh *mesh);
void mesh_serve(struct mesh *mesh);

/* To one seat, or to all that are there. Frames to others are dropped: they have been told of. */
void mesh_send(struct mesh *mesh, int seat, const struct mesh_frame *frame);
void mesh_send_all(struct mesh *mesh, const struct mesh_frame *frame);

/* The coordinator declares a seat lost, for a reason that only its owner knows. */
void mesh_drop(struct mesh *mesh, int seat, const char *why);

/* The coordinator is about to be stopped by its user, or is back. */
void mesh_pause(struct mesh *mesh, bool yes);

/* Where we listen, and the address under which a seat is known to all. */
const struct address_list *mesh_own_addresses(const struct mesh *mesh);
const char *mesh_address(const struct mesh *mesh, int seat);

/* Seats that have neither left nor been lost, us included; only us if we have been cut off. */
int mesh_present_count(const struct mesh *mesh);
