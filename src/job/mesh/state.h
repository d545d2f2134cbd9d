/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the mesh know about each other; nobody else includes this.
 *
 *   mesh.c         life cycle, serving, ticks
 *   link.c         one link: bytes, handshake, frames
 *   wireup.c       making links, and how all get to know each other
 *   coordinator.c  who is out
 *   suspicion.c    who is out of those that the coordinator hears
 *   probe.c        hearing each other while a link is stuck
 *   seal.c         proofs and encryption
 */
#pragma once

#include "base/clock.h"
#include "job/mesh/mesh.h"

#include <stddef.h>

/* First thing on a link, both ways. What stands before `seat` never changes its place, so that any
 * two versions can tell each other apart. */
struct mesh_hello {
    char magic[8];
    uint32_t version; /* MESH_VERSION */
    char library[28]; /* RHINET_VERSION */
    int32_t seat;
    uint32_t purpose; /* MESH_LINK or MESH_PROBE */
    uint64_t job_id;
    uint8_t nonce[32];
};
_Static_assert(sizeof(struct mesh_hello) == 88, "wire layout");
_Static_assert(offsetof(struct mesh_hello, seat) == 40, "wire layout");
#define MESH_MAGIC "RHmesh\r\n"

enum mesh_purpose { MESH_LINK, MESH_PROBE };

/* ---- seal.c ---------------------------------------------------------------------------------- */

#define SEAL_BYTES  16 /* what sealing adds */
#define PROOF_BYTES 32

struct mesh_keys {
    uint8_t sending[32], receiving[32];
    uint64_t sent, received; /* frames so far: no two share a nonce, none can be left out */
};

/* 0, or RH_EREFUSED if libsodium does not work here. */
int seal_open(void);
void seal_nonce(uint8_t nonce[32]);

/* What shows that one knows the secret: the caller's proof, or the called one's. */
struct mesh_meeting {
    const uint8_t *secret;
    const struct mesh_hello *caller, *called;
};
void seal_prove(const struct mesh_meeting *meeting, bool as_caller, uint8_t proof[PROOF_BYTES]);
bool seal_is_proof(const uint8_t *proof, const uint8_t *expected);
void seal_keys_make(const struct mesh_meeting *meeting, bool as_caller, struct mesh_keys *keys);

/* cipher has length + SEAL_BYTES. */
void seal_shut(struct mesh_keys *keys, uint8_t *cipher, const void *plain, size_t length);
bool seal_break(struct mesh_keys *keys, void *plain, const uint8_t *cipher, size_t cipher_length);

/* ---- Links ----------------------------------------------------------------------------------- */

#define WIRE_MAX (sizeof(uint16_t) + sizeof(struct mesh_frame) + SEAL_BYTES)

enum link_phase {
    LINK_CONNECTING,
    LINK_HELLO,   /* their hello is awaited */
    LINK_PROOF,   /* their proof is awaited */
    LINK_CONFIRM, /* called: their first frame is awaited, which shows that they have our proof */
    LINK_UP,
    LINK_CLOSING, /* has been said all; until they close it, too */
    LINK_CLOSED   /* freed at the end of mesh_serve() */
};

struct mesh_link {
    struct mesh_link *next;
    int fd;
    int seat;                /* theirs; -1: not known yet */
    char from[ADDRESS_TEXT]; /* of one who calls us */
    bool is_caller;
    bool is_probe; /* not the seat's link: it only shows that both are there */
    enum link_phase phase;
    int64_t deadline_ns; /* of all phases but LINK_UP, and of a probe in all */
    int64_t heard_ns;
    struct mesh_hello ours, theirs;
    struct mesh_keys keys;
    size_t in_used;
    uint8_t in[4 * WIRE_MAX];
    uint8_t *out;
    size_t out_start, out_used, out_room;
};

enum seat_state { SEAT_AWAITED, SEAT_UP, SEAT_LEFT, SEAT_LOST };

struct mesh_seat {
    enum seat_state state;
    struct mesh_link *link; /* while up, and while we dial */
    struct address_list addresses;
    char address[ADDRESS_TEXT]; /* under which all know it */
    bool is_known;              /* the addresses are */
    bool is_ready;
    int dial_count; /* attempts so far */
    char dial_error[ADDRESSES_MAX][96];
    char why[MESH_TEXT_MAX]; /* it is lost */
};

/* One that hears the coordinator does not hear another. */
struct suspicion {
    int reporter, suspect;
    int64_t first_ns, last_ns;
};

struct suspicions {
    struct suspicion *one;
    size_t count, room;
};

struct mesh {
    int poll_fd, listen_fd, timer_fd;
    int seat, seat_count;
    uint64_t job_id;
    uint8_t secret[32];
    int64_t silence_ns, start_deadline_ns;
    int64_t beat_ns; /* how often we speak, and look who has spoken */
    int64_t tick_ns; /* how often we are woken: while links are made, more often */
    int64_t last_beat_ns;
    bool is_ready, is_cut, is_paused, is_leaving;
    bool has_table; /* we know where all listen */
    uint32_t refused_count;
    struct address_list own;
    struct mesh_owner owner;
    struct mesh_link *links;
    struct mesh_seat *seats;
    struct suspicions suspicions; /* the coordinator's */
};

/* ---- link.c ---------------------------------------------------------------------------------- */

/* Takes fd. NULL if memory or descriptors are out; fd is closed then. */
struct mesh_link *link_open(struct mesh *mesh, int fd, int seat, bool is_caller);
void link_serve(struct mesh *mesh, struct mesh_link *link, uint32_t events);
void link_send(struct mesh *mesh, struct mesh_link *link, const struct mesh_frame *frame);

/* No more is sent; what has been is still delivered. */
void link_finish(struct mesh *mesh, struct mesh_link *link);

/* `why` is for people. Tells wireup, or coordinator, what they have to know. */
void link_close(struct mesh *mesh, struct mesh_link *link, const char *why);
void link_free(struct mesh_link *link);

/* ---- wireup.c -------------------------------------------------------------------------------- */

void dial_accept(struct mesh *mesh);
void dial_failed(struct mesh *mesh, struct mesh_link *link, const char *why);

/* The versions differ. True if so, and then it has been said. */
bool dial_is_skewed(struct mesh *mesh, const struct mesh_link *link);

/* Somebody who is none of us, or says wrong things. */
void dial_refuse(struct mesh *mesh, struct mesh_link *link, const char *why);

void wireup_link_is_up(struct mesh *mesh, struct mesh_link *link);
void wireup_tick(struct mesh *mesh, int64_t now_ns);

/* One frame of a link that is up: ours, or the owner's. */
void wireup_frame(struct mesh *mesh, struct mesh_link *link, const struct mesh_frame *frame);

/* ---- coordinator.c --------------------------------------------------------------------------- */

void coordinator_tick(struct mesh *mesh, int64_t now_ns);
void coordinator_link_broke(struct mesh *mesh, int seat, const char *why);
void coordinator_suspected(struct mesh *mesh, int reporter, int suspect);
void coordinator_told_lost(struct mesh *mesh, int seat, const char *why);
void coordinator_left(struct mesh *mesh, int seat, int status);

/* We are out. */
void coordinator_cut(struct mesh *mesh, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* It has been lost before: tell the link's other end. */
void coordinator_turn_away(struct mesh *mesh, struct mesh_link *link);

/* ---- suspicion.c ----------------------------------------------------------------------------- */

void suspicion_add(struct mesh *mesh, int reporter, int suspect);
void suspicion_tick(struct mesh *mesh, int64_t now_ns);

/* The seat in most matters, of which there are so many; the highest of several, or -1. */
int suspicion_worst(const struct mesh *mesh, int *matters);

/* ---- probe.c --------------------------------------------------------------------------------- */

void probe_tick(struct mesh *mesh, int64_t now_ns);

/* That seat is there, whatever its link brings. */
void probe_heard(struct mesh *mesh, int seat);
