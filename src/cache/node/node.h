/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node of the cluster-wide cache: what the agent is made of, and what it does with the others.
 *
 *   node.c     opening, writers
 *   fetch.c    getting a block
 *   pending.c  one thread gets it, the others wait
 *   evict.c    giving up blocks, so that there is room
 *   copy.c     copies that other nodes have
 *   pretend.c  a slow file system, for measurements
 *
 * Functions that may wait for the network or the file system are marked; any thread may call any.
 */
#pragma once

#include "cache/directory/directory.h"
#include "cache/files/loader.h"
#include "cache/store/policy.h"
#include "cache/store/store.h"

#define NODE_PENDING_MAX 64

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
    uint64_t pretended; /* see node_options */
    int64_t patience_ns;
    _Atomic uint64_t chance; /* state of the dice */
    pthread_mutex_t pending_lock;
    pthread_cond_t pending_end;
    uint64_t pending[NODE_PENDING_MAX][2];
};

struct node_options {
    uint64_t bytes; /* of cache */
    uint32_t block_length;
    int group_count;      /* 0: by the number of nodes */
    double singlet_ratio; /* negative: adapts */
    uint64_t pretended;   /* bytes per second of a file system that all nodes share; 0: the real */
    int64_t lease_ns;
    int64_t patience_ns; /* a reader waits no longer than that */
    bool use_checksum;
    bool use_direct;
    bool is_simulated;                  /* see directory_options */
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

/* ---- evict.c: wait -------------------------------------------------------------------------- */

/* A slot for so many bytes, made free if need be; CACHE_NO_SLOT: everything is in use. */
uint32_t node_room_make(struct node *node, uint64_t length);

/* ---- pending.c: waits for other threads ----------------------------------------------------- */

/* Become the one thread of this node that gets the block: true; or wait, up to deadline_ns, until
 * another one that does is done: false. */
bool node_pending_enter(struct node *node, const uint64_t id[2], int64_t deadline_ns);
void node_pending_leave(struct node *node, const uint64_t id[2]);

/* ---- copy.c: waits -------------------------------------------------------------------------- */

/* Whether a copy at that place is this block, at the moment; for those that look before they point
 * others there. */
bool node_copy_is_there(struct node *node, uint64_t cell, const uint64_t id[2]);

/* A block, or where a copy of it is to go. */
struct node_copy {
    const uint64_t *id;
    void *data;
    uint64_t length;
    uint64_t checksum; /* filled in */
};

/* Copy the block from the place that a cell names. False: what is there is not this block, or not
 * any more. */
bool node_copy_pull(struct node *node, uint64_t cell, struct node_copy *copy);

/* Of a block, for others to compare; 0: none is wanted. Blocks that are not whole always have
 * one. */
uint64_t node_checksum(const struct node *node, const struct node_copy *copy);

/* ---- pretend.c: waits ----------------------------------------------------------------------- */

/* Take the time that a pretended file system takes to give so many bytes: it serves all nodes one
 * after the other, at a fixed speed. */
void node_pretend(struct node *node, uint64_t length);

/* ---- node.c: waits -------------------------------------------------------------------------- */

/* Tell all nodes that files at this word of the watch are changed: add to it everywhere. */
int node_watch_tell(struct node *node, uint32_t watch, uint64_t amount);
