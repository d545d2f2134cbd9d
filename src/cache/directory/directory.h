/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The directory: which nodes have a block. Spread over all nodes by the hash of the block's ID, and
 * used by remote memory access alone: no agent serves another. On the NIC shm no other processor
 * takes part, either; over ofi a thread of the node that has the row carries out the atomics.
 *
 * Representative directory: rows in hashed buckets, no fixed table of all blocks of all files. A
 * row belongs to the first living node after the one that the hash names, so that a dead node's
 * rows move to the next; what was in them is found again block by block. Alternate directory: one
 * for each group, on the group's members, where a word is simply overwritten by the next.
 *
 * What is read here may be old. It costs time to follow it and never more: a copy is believed for
 * its ID and token only. Functions return 0 or a negative error of rhinet/error.h, after which the
 * block is loaded without the directory. Any thread may call. All may wait for the network.
 *
 *   cell.h  the words of a row    directory.c  opening, time, peers
 *   rows.c  reading and changing  leases.c     claims that are kept while their block is loaded
 */
#pragma once

#include "cache/cache_layer.h"
#include "cache/directory/cell.h"
#include "cache/layout.h"

#include <pthread.h>
#include <rhinet/rma.h>

#define CACHE_GROUPS_MAX 15
#define DIRECTORY_ROWS   8 /* in a bucket */

#define DIRECTORY_LEASES_MAX 64

/* At the start of each node's part. */
struct directory_head {
    uint64_t magic;
    struct cache_shape shape;       /* of this node's arena */
    _Atomic uint64_t busy_until_ns; /* the pretended file system; see node/pretend.c */
};

/* A claim of ours whose block is being loaded. */
struct directory_lease {
    struct directory_row *row; /* NULL: not in use */
    bool is_lost;
};

struct directory {
    struct rh_job *job;
    int rank, size;
    int group_count, group; /* how many, and ours */
    uint32_t row_words;     /* head and cells, whole lines */
    uint32_t bucket_count, alternate_count;
    uint64_t done_offset, totals_offset, rows_offset, alternate_offset, length;
    int64_t lease_ns;
    bool is_simulated;               /* see directory_options */
    char *memory;                    /* our part */
    _Atomic uint32_t claim;          /* the last number */
    struct cache_shape *shapes;      /* of the peers' arenas */
    _Atomic uint8_t *is_shape_known; /* one for each rank */
    int told;                        /* ranks below know what we say */
    uint64_t said;                   /* enum directory_word */
    struct cache_control *control;
    pthread_mutex_t leases_lock;
    struct directory_lease leases[DIRECTORY_LEASES_MAX];
};

/* A row as it was when it was read. */
struct directory_row {
    int home;
    uint64_t bucket;    /* offset of its bucket */
    int place;          /* in the bucket, or -1: the block has no row */
    int free_place;     /* where a new one may go, or -1 */
    uint64_t free_head; /* what stands there */
    uint64_t head;
    uint64_t cell[CACHE_GROUPS_MAX];
};

/* shape is what the options ask for, the same on all nodes; `own` what this node really has. */
struct directory_options {
    struct rh_job *job;
    struct cache_control *control;
    const struct cache_shape *shape, *own;
    int group_count;
    int64_t lease_ns;
    bool is_simulated; /* the nodes are fibers: time is the network's, and no thread may sleep */
};
int directory_open(struct directory *directory, const struct directory_options *options);
void directory_close(struct directory *directory);

static inline bool directory_is_alive(const struct directory *directory, int rank)
{
    int state = rh_peer_state(directory->job, rank);
    return state == RH_PEER_JOINED || state == RH_PEER_STARTING;
}

/* The clock of this node's waits, and letting time pass by it. */
int64_t directory_now_ns(const struct directory *directory);
void directory_sleep(const struct directory *directory, int64_t duration_ns);

/* ---- Rows ----------------------------------------------------------------------------------- */

int directory_look(struct directory *directory, const uint64_t id[2], struct directory_row *row);

/* Try to become the loader of a block that has no row. 1: we are, and row is our claim's. 0:
 * somebody else may be; look again. */
int directory_claim(struct directory *directory, const uint64_t id[2], struct directory_row *row);

/* Change the head, or a group's cell, from what it was when read. 1: done, and row is changed too.
 * 0: it was something else by then. */
int directory_head_set(struct directory *directory, struct directory_row *row, uint64_t head);
int directory_cell_set(struct directory *directory, struct directory_row *row, int group,
                       uint64_t cell);

/* The loader's last step: own cell, all others empty, and the head says loaded. 1, or 0: the claim
 * has been taken over meanwhile. */
int directory_publish(struct directory *directory, struct directory_row *row, uint64_t cell);

/* A new number for a claim. */
uint32_t directory_number(struct directory *directory);

/* ---- Leases --------------------------------------------------------------------------------- */

/* Have the claim renewed until its block is loaded. NULL: too many. */
struct directory_lease *directory_lease_keep(struct directory *directory,
                                             struct directory_row *row);
void directory_lease_end(struct directory *directory, struct directory_lease *lease);

/* Renew all; called a few times in the length of a lease. */
void directory_leases_renew(struct directory *directory);

/* ---- Alternates ----------------------------------------------------------------------------- */

int directory_alternate_get(struct directory *directory, const uint64_t id[2], uint64_t *cell);
int directory_alternate_put(struct directory *directory, const uint64_t id[2], uint64_t cell);
int directory_alternate_drop(struct directory *directory, const uint64_t id[2], uint64_t cell);

/* ---- Peers ---------------------------------------------------------------------------------- */

/* The shape of a peer's arena; asked once. */
int directory_shape(struct directory *directory, int rank, struct cache_shape *shape);

/* What each node says to all about its end. */
enum directory_word {
    DIRECTORY_BUSY,
    DIRECTORY_IDLE, /* nobody uses this node */
    DIRECTORY_DONE, /* its program has ended */
    DIRECTORY_STOP  /* the service is to end */
};

/* Say it to all. False: some do not know yet; again later. */
bool directory_say(struct directory *directory, enum directory_word word);

/* Whether all that live, we too, have said that or more. */
bool directory_all_say(const struct directory *directory, enum directory_word least);

/* Whether any node has, also one that is gone. */
bool directory_any_says(const struct directory *directory, enum directory_word word);

/* Tell node 0 what we have done. False: it does not know yet, and lives; again later. */
bool directory_totals_tell(struct directory *directory, const uint64_t values[CACHE_TOTAL_COUNT]);

/* On node 0: what all that have told have done together. */
void directory_totals_sum(const struct directory *directory, uint64_t values[CACHE_TOTAL_COUNT]);

uint32_t directory_alive_count(const struct directory *directory);
