/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the client's files share; nobody else includes this.
 *
 *   client.c       attaching, which paths, opening a file
 *   client_read.c  reading: hits, and what to do without
 *   client_ask.c   requests to the agent
 *   client_ahead.c read-ahead
 *   counters.c     names and sums of the counters
 */
#ifndef CACHE_CLIENT_STATE_H
#define CACHE_CLIENT_STATE_H

#include "cache/index.h"
#include "cache/key.h"

struct cache_client {
    struct cache_shape shape; /* checked copy */
    struct cache_arena arena; /* for reading only */
    struct cache_control *control;
    const struct cache_card *card;
    const _Atomic uint64_t *watch;
    char name[108]; /* of the agent's socket */
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

static inline uint32_t cache_watch_index(const struct cache_shape *shape, uint64_t file_system,
                                         uint64_t inode)
{
    return (uint32_t)cache_watch_hash(file_system, inode) & (shape->watch_count - 1);
}

/* ---- client.c ------------------------------------------------------------------------------- */

/* Call the agent on its socket: send a descriptor (-1: none), receive up to fd_room. 0, or a
 * negative error. */
struct cache_dialogue {
    enum cache_call_kind kind;
    int send_fd;
    int *fds;
    int fd_count; /* exactly so many are expected */
    struct cache_shape *shape;
};
int cache_dial(const char *name);
int cache_talk(int socket, const struct cache_dialogue *dialogue);

/* Where a file's hits are counted: its index + 1, or 0. */
uint32_t cache_find_stat(const struct cache_client *client, const uint64_t id[2]);

/* ---- client_ask.c --------------------------------------------------------------------------- */

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

/* Give the agent a descriptor of the file to read from. */
int cache_introduce(struct cache_client *client, int fd);

/* ---- client_ahead.c ------------------------------------------------------------------------- */

/* A read of [offset, offset + length) has been served: think about the next. */
void cache_ahead(struct cache_file *file, uint64_t offset, uint64_t length);

#endif
