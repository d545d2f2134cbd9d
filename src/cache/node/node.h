/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node of the cluster-wide cache: what the agent is made of, and what it does with the others.
 *
 *   store.h      this node's blocks               directory.h  who has which
 *   loader.h     reading from the file system     policy.h     how many singlets are kept
 *   fetch.c      getting a block                  evict.c      giving up blocks
 *   pending.c    who is getting which block       claims.c     leases of our own claims
 *   node.c       opening, writers                 agent.h      the process around it
 *
 * Functions that may wait for the network or the file system are marked; any thread may call any.
 */
#ifndef CACHE_NODE_H
#define CACHE_NODE_H

#include "cache/directory/directory.h"
#include "cache/files/loader.h"
#include "cache/store/policy.h"
#include "cache/store/store.h"

#define NODE_PENDING_MOST 64

/* A claim of ours whose block is being loaded. */
struct node_claim {
    struct directory_row *row; /* NULL: not in use */
    bool is_lost;
};

struct node {
    struct rh_job *job;
    struct cache_control *control;
    int arena_fd, watch_fd; /* the NIC's; for clients */
    _Atomic uint64_t *watch;
    struct store store;
    struct directory directory;
    struct loader loader;
    struct policy policy;
    bool use_checksum;
    int64_t patience_ns;
    _Atomic uint64_t chance; /* state of the dice */
    pthread_mutex_t pending_lock;
    pthread_cond_t pending_end;
    uint64_t pending[NODE_PENDING_MOST][2];
    pthread_mutex_t claims_lock;
    struct node_claim claims[NODE_PENDING_MOST];
};

struct node_options {
    uint64_t bytes; /* of cache */
    uint32_t block_length;
    int group_count;      /* 0: by the number of nodes */
    double singlet_ratio; /* negative: adapts */
    uint64_t pretended;   /* see loader.h */
    int64_t lease_ns;
    int64_t patience_ns; /* a reader waits no longer than that */
    bool use_checksum;
    bool use_direct;
    bool is_simulated;                  /* see directory.h */
    const struct loader_source *source; /* see loader.h */
    const struct mounts *mounts;        /* the same */
};

/* Open this node's memory to the job and wait for the others' (up to the job's timeout each).
 * control is zeroed memory of the shape's length, whose shape is filled in. */
int node_open(struct node *node, struct rh_job *job, struct cache_control *control,
              const struct node_options *options);
void node_close(struct node *node);

/* What the options mean for a machine that has less memory: the shape that fits. */
int node_shape(const struct node_options *options, struct cache_shape *shape);

/* ---- fetch.c: wait -------------------------------------------------------------------------- */

/* Told as soon as the block is in the store; the directory is still to be told then. */
struct node_arrival {
    void (*arrived)(void *context);
    void *context;
};

/* Bring a block of a file that the caller holds into this node's store. 0: it was there a moment
 * ago. Else a negative errno, and the reader should ask the kernel. arrival may be NULL. */
int node_bring(struct node *node, struct loader_file *file, uint64_t block,
               const struct node_arrival *arrival);

/* Whether a copy at that place is this block, at the moment; for those that look before they point
 * others there. */
bool node_copy_is_there(struct node *node, uint64_t cell, const uint64_t id[2]);

/* ---- evict.c: wait -------------------------------------------------------------------------- */

/* A slot for so many bytes, made free if need be; CACHE_NO_SLOT: everything is in use. */
uint32_t node_make_room(struct node *node, uint64_t length);

/* ---- pending.c: waits for other threads ----------------------------------------------------- */

/* Become the one thread of this node that gets the block: true; or wait, up to deadline_ns, until
 * another one that does is done: false. */
bool node_pending_enter(struct node *node, const uint64_t id[2], int64_t deadline_ns);
void node_pending_leave(struct node *node, const uint64_t id[2]);

/* ---- claims.c ------------------------------------------------------------------------------- */

/* Have the claim renewed until it is given back. NULL: too many. */
struct node_claim *node_claim_keep(struct node *node, struct directory_row *row);
void node_claim_end(struct node *node, struct node_claim *claim);

/* Renew all; called a few times in the length of a lease. Waits for the network. */
void node_claims_renew(struct node *node);

/* ---- node.c: waits -------------------------------------------------------------------------- */

/* Tell all nodes that files at this word of the watch are changed: add to it everywhere. */
int node_tell_watch(struct node *node, uint32_t watch, uint64_t amount);

#endif
