/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading blocks from the file system: files that clients have introduced, and direct I/O, so that
 * the kernel does not keep what the cache keeps.
 */
#pragma once

#include "cache/files/mounts.h"

#include <pthread.h>
#include <stdatomic.h>

#define LOADER_FILES 512

/* A file that this node only gets from others need not be opened a second time. */
enum loader_direct { LOADER_DIRECT_NO = -1, LOADER_DIRECT_NOT_YET = -2 };

struct loader_file {
    uint64_t id[2];
    struct cache_key key;
    uint32_t watch;
    uint32_t stat_index; /* + 1, in the table of cache_file_stat; 0: none */
    int fd;
    _Atomic int direct_fd; /* or an enum loader_direct */
    uint32_t users;
    uint64_t used;     /* when, for leaving in order */
    bool is_forgotten; /* closed when the last user is done */
};

/* What is read instead of the kernel's files: for experiments. */
struct loader_source {
    /* As loader_read(); takes its time itself. */
    int (*read)(const struct loader_source *source, const struct loader_file *file, uint64_t block,
                void *target, uint64_t length);
};

struct loader {
    struct cache_control *control;
    const struct cache_shape *shape;
    const struct mounts *mounts; /* NULL: there are no files to introduce */
    pthread_mutex_t lock;
    struct loader_file *files[LOADER_FILES];
    uint64_t clock;
    bool use_direct;
    const struct loader_source *source; /* NULL: the kernel's files */
};

int loader_open(struct loader *loader, struct cache_control *control,
                const struct cache_shape *shape);
void loader_close(struct loader *loader);

/* A client's descriptor; the loader's from now on, whatever is returned. 0 or a negative errno:
 * -EOPNOTSUPP (not a cached file). */
int loader_introduce(struct loader *loader, int fd);

/* The file with this content, held until loader_release(); NULL: never introduced, or forgotten. */
struct loader_file *loader_hold(struct loader *loader, const uint64_t id[2]);
void loader_release(struct loader *loader, struct loader_file *file);

/* Files at this word of the watch are being changed: let go of them. */
void loader_forget(struct loader *loader, uint32_t watch);

/* Bytes of a block of the file; 0: beyond its end. */
uint64_t loader_length(const struct loader *loader, const struct loader_file *file, uint64_t block);

/* Read a block, one of CACHE_PAGED_MIN or more to page-aligned memory with room for whole pages. 0;
 * -ESTALE: the file is not what it was; or read's error. */
int loader_read(struct loader *loader, struct loader_file *file, uint64_t block, void *target);
