/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A FUSE file system that shows a folder as it is. Files that are open for reading only are read
 * through the cache; all else goes to the folder.
 */
#pragma once

#define FUSE_USE_VERSION 35

#include <fuse3/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct cache_client;

struct passthrough {
    int folder;                  /* the folder that is shown */
    struct cache_client *client; /* NULL: without the cache */
    bool is_read_only;           /* so mounted: the kernel lets no change through */
    _Atomic int open_count;      /* files and folders that somebody has open */
    pthread_mutex_t lock;        /* of the list */
    struct open_file *files;     /* that are open */
};

/* After the last request: who still had a file open has it no longer. */
void passthrough_end(struct passthrough *passthrough);

/* To be mounted with a struct passthrough as its private data. */
extern const struct fuse_operations passthrough_operations;
