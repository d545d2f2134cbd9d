/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that says who is in a job and how they fare.
 *
 * The roster is written by the task manager only; it is sealed against every other writer, so no
 * process can forge another's state. The board (watch/board.h) is the other way round: each member
 * writes its own part, and the launcher and tools read it. Both are memfds: they have no name in
 * the file system and vanish with their last holder.
 */
#pragma once

#include "watch/board.h"

#include <rhinet/job.h>
#include <stdatomic.h>
#include <stdint.h>

#define ROSTER_MAGIC   0x5248526f73746572ULL /* "RHRoster" */
#define ROSTER_VERSION 7u
#define ROSTER_PREFIX  "rhinet-roster-" /* memfd name, followed by the job's number in hex */
#define BOARD_PREFIX   "rhinet-board-"

/* Values of end_status that no process has: there was nobody to tell. */
enum roster_end {
    ROSTER_END_UNKNOWN = -1, /* its connection broke, and it is no child of its task manager */
    ROSTER_END_HOST = -2     /* its host does not answer any more, or was cut off */
};

struct roster_peer {
    _Atomic uint32_t state; /* enum rh_peer_state */
    int32_t node;
    _Atomic int32_t pid;        /* 0 for a rank of another host: it means nothing here */
    _Atomic int32_t end_signal; /* why it died: signal, or 0 */
    _Atomic int32_t end_status; /* exit status, if no signal; or enum roster_end */
    /* In an open job: */
    _Atomic uint32_t serial;       /* tells who has this rank now from who had it before */
    _Atomic uint32_t deaths_met;   /* of ranks that this one has met; after the dead one's state */
    _Atomic int32_t last_dead_met; /* which died last */
};

/* A host that takes part. */
struct roster_node {
    char host[64];    /* as people call it; "" where nobody asked */
    char address[64]; /* numeric, where its task manager is reached; "" in a job of one host */
};

struct roster {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    uint64_t job_id;
    int64_t start_time_s; /* wall clock, for people */
    int32_t launcher_pid;
    uint32_t survive; /* a death ends only that rank */
    char nic[64];
    char command[256];
    _Atomic uint32_t death_count; /* changes after the peer's state has */
    _Atomic int32_t last_dead;    /* the rank that died last */
    uint32_t node_count;          /* at least 1, at most size */
    int32_t own_node;             /* where this roster is; -1: no rank runs there */
    _Atomic uint32_t refused;     /* connections of strangers to the task manager */
    _Atomic uint32_t cores;       /* of this host that its ranks share, as taskset, control groups
                                     and launchers leave them; a rank may be bound to fewer */
    _Atomic int32_t query_fd;     /* of the task manager, 0: none: a byte written there makes it ask
                                     those of the other hosts who waits there (watch/board.h) */
    _Atomic uint32_t query_round; /* how often it has */
    uint32_t is_open;             /* ranks come one by one: rhinet/job.h */
    _Atomic uint32_t used;        /* of an open job: from this rank on nobody has come yet */
    _Atomic uint32_t joins;       /* and how often somebody has; changes after the peer's state */
    uint32_t reserved[11];
    struct roster_peer peer[]; /* `size` of these, then room for as many nodes */
};
_Static_assert(sizeof(struct roster_peer) == 32, "shared layout");
_Static_assert(sizeof(struct roster_node) == 128, "shared layout");
_Static_assert(sizeof(struct roster) % 64 == 0, "shared layout");

static inline size_t roster_bytes(uint32_t size)
{
    return sizeof(struct roster) + size * sizeof(struct roster_peer) +
           size * sizeof(struct roster_node);
}

static inline struct roster_node *roster_nodes(struct roster *roster)
{
    return (struct roster_node *)&roster->peer[roster->size];
}

/* Where a rank runs. */
static inline const struct roster_node *roster_node_of(const struct roster *roster, int rank)
{
    return (const struct roster_node *)&roster->peer[roster->size] + roster->peer[rank].node;
}

/* Bound of loops over ranks: those from there on have done nothing yet. */
static inline int roster_used(const struct roster *roster)
{
    if (!roster->is_open)
        return (int)roster->size;
    uint32_t used = atomic_load_explicit(&roster->used, memory_order_acquire);
    return (int)(used < roster->size ? used : roster->size);
}

/* How many ranks have died, as far as that is this one's business: in an open job, of those that it
 * has met. */
static inline const _Atomic uint32_t *roster_deaths(const struct roster *roster, int rank)
{
    return roster->is_open ? &roster->peer[rank].deaths_met : &roster->death_count;
}

/* And which died last. */
static inline int roster_last_dead(const struct roster *roster, int rank)
{
    return atomic_load_explicit(roster->is_open ? &roster->peer[rank].last_dead_met
                                                : &roster->last_dead,
                                memory_order_relaxed);
}

static inline enum rh_peer_state roster_peer_state(const struct roster_peer *peer)
{
    return (enum rh_peer_state)atomic_load_explicit(&peer->state, memory_order_acquire);
}

static inline enum rh_peer_state roster_state(const struct roster *roster, int rank)
{
    return roster_peer_state(&roster->peer[rank]);
}

/* How many ranks share the host of this one, itself included; in an open job, just now. */
static inline int roster_neighbours(const struct roster *roster, int rank)
{
    int count = 0;
    for (int i = 0; i < roster_used(roster); i++)
        count += roster->peer[i].node == roster->peer[rank].node &&
                 (!roster->is_open || roster_state(roster, i) < RH_PEER_LEFT);
    return count;
}
