/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See loader.h.
 */
#include "cache/files/loader.h"

#include "cache/raw.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opening a file once more costs a trip to the server; one that is not longer than this is read by
 * the descriptor that is there. */
#define SMALL_FILE (256u << 10)

int loader_open(struct loader *loader, struct cache_control *control,
                const struct cache_shape *shape)
{
    *loader = (struct loader){.control = control, .shape = shape, .use_direct = true};
    return -pthread_mutex_init(&loader->lock, NULL);
}

static void free_file(struct loader_file *file)
{
    close(file->fd);
    if (file->direct_fd >= 0)
        close(file->direct_fd);
    free(file);
}

void loader_close(struct loader *loader)
{
    for (int i = 0; i < LOADER_FILES; i++) {
        if (loader->files[i])
            free_file(loader->files[i]);
    }
    pthread_mutex_destroy(&loader->lock);
}

/* ---- The table ------------------------------------------------------------------------------ */

/* Keep the end of the path: that tells files apart. */
static void note_path(struct cache_file_stat *stat, int fd)
{
    char link[48], path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        length = 0;
    path[length] = '\0';
    size_t most = sizeof(stat->path) - 1;
    size_t skip = (size_t)length > most ? (size_t)length - most : 0;
    memcpy(stat->path, path + skip, (size_t)length - skip + 1);
}

/* Its place in the table for people; the one that was used least makes room. */
static uint32_t find_stat(struct loader *loader, const struct loader_file *file)
{
    struct cache_file_stat *stats = cache_file_stats(loader->control, loader->shape);
    uint32_t mask = loader->shape->file_count - 1, best = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t step = 0; step < 8; step++) {
        uint32_t index = ((uint32_t)file->id[0] + step) & mask;
        if (stats[index].id[0] == file->id[0] && stats[index].id[1] == file->id[1])
            return index + 1;
        uint64_t uses = stats[index].id[0] == 0 ? 0 : stats[index].hits + 1;
        if (uses < least) {
            least = uses;
            best = index;
        }
    }
    struct cache_file_stat *stat = &stats[best];
    memset(stat, 0, sizeof(*stat));
    note_path(stat, file->fd);
    stat->size = file->key.size;
    stat->id[1] = file->id[1];
    atomic_store_explicit(&stat->id[0], file->id[0], memory_order_release);
    return best + 1;
}

static int find_index(const struct loader *loader, const uint64_t id[2])
{
    for (int i = 0; i < LOADER_FILES; i++) {
        const struct loader_file *file = loader->files[i];
        if (file && file->id[0] == id[0] && file->id[1] == id[1])
            return i;
    }
    return -1;
}

/* Take a file out of the table. */
static void drop(struct loader *loader, int index)
{
    struct loader_file *file = loader->files[index];
    loader->files[index] = NULL;
    file->is_forgotten = true;
    if (file->users == 0)
        free_file(file);
}

/* A free place in the table, by letting go of the file that was not used for longest. */
static int make_place(struct loader *loader)
{
    int oldest = 0;
    for (int i = 0; i < LOADER_FILES; i++) {
        if (!loader->files[i])
            return i;
        if (loader->files[i]->used < loader->files[oldest]->used)
            oldest = i;
    }
    drop(loader, oldest);
    return oldest;
}

static int open_direct(int fd)
{
    char link[48];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return open(link, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

static struct loader_file *make_file(struct loader *loader, int fd)
{
    struct stat status;
    uint64_t file_system;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        !mounts_find(loader->mounts, status.st_dev, &file_system))
        return NULL;
    struct loader_file *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    file->key = cache_key_of(file_system, &status);
    cache_key_id(&file->key, file->id);
    file->watch = cache_watch_index(loader->shape, file_system, status.st_ino);
    file->fd = fd;
    bool may_be_direct = loader->use_direct && file->key.size > SMALL_FILE;
    file->direct_fd = may_be_direct ? LOADER_DIRECT_NOT_YET : LOADER_DIRECT_NO;
    return file;
}

int loader_introduce(struct loader *loader, int fd)
{
    struct loader_file *file = make_file(loader, fd);
    if (!file) {
        close(fd);
        return -EOPNOTSUPP;
    }
    pthread_mutex_lock(&loader->lock);
    if (find_index(loader, file->id) >= 0) {
        free_file(file); /* somebody was quicker */
    } else {
        file->used = ++loader->clock;
        file->stat_index = find_stat(loader, file);
        int place = make_place(loader);
        loader->files[place] = file;
    }
    pthread_mutex_unlock(&loader->lock);
    return 0;
}

struct loader_file *loader_hold(struct loader *loader, const uint64_t id[2])
{
    pthread_mutex_lock(&loader->lock);
    int index = find_index(loader, id);
    struct loader_file *file = index < 0 ? NULL : loader->files[index];
    if (file) {
        file->users++;
        file->used = ++loader->clock;
    }
    pthread_mutex_unlock(&loader->lock);
    return file;
}

void loader_release(struct loader *loader, struct loader_file *file)
{
    pthread_mutex_lock(&loader->lock);
    bool is_last = --file->users == 0 && file->is_forgotten;
    pthread_mutex_unlock(&loader->lock);
    if (is_last)
        free_file(file);
}

void loader_forget(struct loader *loader, uint32_t watch)
{
    pthread_mutex_lock(&loader->lock);
    for (int i = 0; i < LOADER_FILES; i++) {
        if (loader->files[i] && loader->files[i]->watch == watch)
            drop(loader, i);
    }
    pthread_mutex_unlock(&loader->lock);
}

/* ---- Reading -------------------------------------------------------------------------------- */

uint64_t loader_length(const struct loader *loader, const struct loader_file *file, uint64_t block)
{
    uint64_t length = loader->shape->block_length;
    if (block > UINT64_MAX / length || block * length >= file->key.size)
        return 0;
    uint64_t left = file->key.size - block * length;
    return left < length ? left : length;
}

static bool is_unchanged(const struct loader_file *file)
{
    struct stat status;
    if (raw_fstat(file->fd, &status) < 0)
        return false;
    struct cache_key now = cache_key_of(file->key.file_system, &status);
    return memcmp(&now, &file->key, sizeof(now)) == 0;
}

/* Direct reads ask for whole pages, and get less at the end of the file. */
static int read_fully(int fd, char *target, uint64_t length, uint64_t offset, uint64_t unit)
{
    uint64_t done = 0;
    while (done < length) {
        uint64_t wanted = (length - done + unit - 1) / unit * unit;
        ssize_t got = pread(fd, target + done, wanted, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -ESTALE; /* it has become shorter */
        done += (uint64_t)got;
        if (done < length && done % unit)
            return -EINVAL; /* a short direct read: not aligned any more */
    }
    return 0;
}

/* Threads that come at the same time open it each; the first one's is kept. */
static int direct_fd_of(struct loader_file *file)
{
    int fd = file->direct_fd;
    if (fd != LOADER_DIRECT_NOT_YET)
        return fd;
    int opened = open_direct(file->fd), before = LOADER_DIRECT_NOT_YET;
    opened = opened < 0 ? LOADER_DIRECT_NO : opened;
    if (atomic_compare_exchange_strong(&file->direct_fd, &before, opened))
        return opened;
    if (opened >= 0)
        close(opened);
    return before;
}

int loader_read(struct loader *loader, struct loader_file *file, uint64_t block, void *target)
{
    uint64_t length = loader_length(loader, file, block);
    uint64_t offset = block * loader->shape->block_length;
    if (loader->source)
        return loader->source->read(loader->source, file, block, target, length);
    if (!is_unchanged(file))
        return -ESTALE;
    int direct_fd = length < CACHE_PAGED_MIN ? LOADER_DIRECT_NO : direct_fd_of(file);
    int result = direct_fd < 0 ? -EINVAL
                               : read_fully(direct_fd, target, length, offset, CACHE_PAGE);
    if (result == -EINVAL) {
        result = read_fully(file->fd, target, length, offset, 1);
        posix_fadvise(file->fd, (off_t)offset, (off_t)length, POSIX_FADV_DONTNEED);
    }
    if (result == 0 && !is_unchanged(file))
        result = -ESTALE;
    return result;
}
