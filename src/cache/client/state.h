/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the client's files share; nobody else includes this.
 *
 *   attach.c  the agent's socket and memory
 *   open.c    which files are cached; opening one, telling that one is written
 *   read.c    reading: hits, and what to do without
 *   ask.c     requests to the agent
 *   ahead.c   read-ahead
 *   named.c   names in declared folders; listed.c one folder of them
 */
#pragma once

#include "cache/address.h"
#include "cache/client/client.h"
#include "cache/index.h"

struct cache_client {
    struct cache_shape shape; /* checked copy */
    struct cache_arena arena; /* for reading only */
    struct cache_control *control;
    const struct cache_card *card;
    const _Atomic uint64_t *watch;
    bool is_foreign;           /* our process number is not what the agent knows us by */
    bool sees_declared;        /* the declared folders are where the agent sees them */
    char name[CACHE_NAME_MAX]; /* of the agent's socket */
};

/* A different one for most threads, so that they do not count on the same line. */
static inline unsigned cache_stripe(void)
{
    return (unsigned)((uintptr_t)__builtin_frame_address(0) >> 16);
}

static inline uint64_t cache_watch_word(const struct cache_client *client, uint32_t watch)
{
    /* acquire: whoever sees that a writer is gone sees the file as it left it. */
    return atomic_load_explicit(&client->watch[watch], memory_order_acquire);
}

static inline bool cache_agent_is_ready(const struct cache_client *client)
{
    return atomic_load_explicit(&client->card->agent_state, memory_order_acquire) ==
           CACHE_AGENT_READY;
}

/* Whether a block of the file is in this node's memory at the moment. */
static inline bool cache_block_is_here(const struct cache_file *file, uint64_t block)
{
    uint64_t id[2];
    cache_block_id(file->id, block, id);
    return cache_index_has(&file->client->arena, id);
}

/* ---- attach.c ------------------------------------------------------------------------------- */

/* Call the agent on its socket: send a descriptor (-1: none), receive others. 0, or a negative
 * error, with which nothing was received. */
struct cache_dialogue {
    enum cache_call_kind kind;
    int send_fd;
    int *fds;
    int fd_count; /* exactly so many are expected */
    struct cache_shape *shape;
    uint64_t watch;                  /* of CACHE_CALL_LAST */
    const struct cache_named *named; /* of CACHE_CALL_NAME */
};
int cache_dial(const char *name);
int cache_talk(int socket, const struct cache_dialogue *dialogue);

/* ---- open.c --------------------------------------------------------------------------------- */

/* The file of a status, of which the word that says who writes it is known. */
struct cache_watched {
    uint64_t file_system;
    uint32_t watch;
    uint64_t word;
};
void cache_file_fill(struct cache_client *client, struct cache_file *file,
                     const struct stat *status, const struct cache_watched *watched);

/* Where a file's hits are counted: its index + 1, or 0. */
uint32_t cache_find_stat(const struct cache_client *client, const uint64_t id[2]);

/* ---- ask.c ---------------------------------------------------------------------------------- */

struct cache_wish {
    enum cache_request_kind kind;
    const uint64_t *file_id; /* NULL for writers */
    uint64_t block;
    uint32_t count;
};

/* Ask and wait. 0 or a negative error: -EBUSY (too many ask), -ESHUTDOWN, -ETIMEDOUT, or what the
 * agent answers; -ENOENT: it does not know the file. */
int cache_ask(struct cache_client *client, const struct cache_wish *wish);

/* Ask and do not wait; may be lost. */
void cache_ask_ahead(struct cache_client *client, const struct cache_wish *wish);

/* This process, whatever its number is, is the last to write at that word. */
int cache_ask_last(struct cache_client *client, uint64_t watch);

/* Give the agent a descriptor of the file to read from, or its name. */
int cache_introduce(struct cache_client *client, int fd);
int cache_introduce_named(struct cache_client *client, const struct cache_named *named);

/* A file of a declared folder, by its path without links. */
int cache_introduce_path(const struct cache_file *file, const char *path);

/* ---- ahead.c -------------------------------------------------------------------------------- */

/* A read of [offset, offset + length) has been served: think about the next. */
void cache_ahead(struct cache_file *file, uint64_t offset, uint64_t length);
