/* SPDX-License-Identifier: BSD-3-Clause
 *
 * opendir, readdir, scandir and their kin: of a declared folder a program gets a stream of ours,
 * with a copy of the listing and no descriptor. dirfd makes one. All other streams are the C
 * library's.
 */
#include "cache/interposer/calls.h"

#include "base/array.h"
#include "cache/interposer/named.h"
#include "cache/interposer/real.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The C library's streams begin with a descriptor, which is not negative. */
#define OURS (-0x5eed)

struct stream {
    int mark; /* OURS */
    int fd;   /* once somebody wanted it; -1 */
    const struct stream *self;
    pthread_mutex_t lock;
    char *entries; /* struct dirent, one after the other */
    size_t length, room;
    size_t next;
    char path[CACHE_NAME_PATH_MAX];
};

static struct stream *ours(DIR *folder)
{
    struct stream *stream = (struct stream *)folder;
    return stream && stream->mark == OURS && stream->self == stream ? stream : NULL;
}

/* ---- Making one ------------------------------------------------------------------------------ */

static unsigned char kind_of(uint32_t mode)
{
    return (unsigned char)IFTODT(mode);
}

static bool add(struct stream *stream, const char *name, size_t length, uint64_t inode,
                unsigned char kind)
{
    size_t used = cache_round_up(offsetof(struct dirent, d_name) + length + 1, 8);
    if (!array_grow(&stream->entries, &stream->room, stream->length + used))
        return false;
    struct dirent *entry = (struct dirent *)(stream->entries + stream->length);
    memset(entry, 0, used);
    entry->d_ino = inode;
    entry->d_reclen = (unsigned short)used;
    entry->d_type = kind;
    memcpy(entry->d_name, name, length);
    stream->length += used;
    entry->d_off = (off_t)stream->length;
    return true;
}

/* What is elsewhere has a name and a type that only the kernel knows. */
static bool add_entry(void *context, const struct listing_entry *entry)
{
    bool is_known = !entry->is_elsewhere;
    return add(context, entry->text, entry->name_length, is_known ? entry->status.inode : 1,
               is_known ? kind_of(entry->status.mode) : DT_UNKNOWN);
}

static void discard(struct stream *stream)
{
    if (stream->fd >= 0)
        descriptor_close(stream->fd);
    pthread_mutex_destroy(&stream->lock);
    free(stream->entries);
    free(stream);
}

static int fill(struct stream *stream, const struct cache_name *name)
{
    void *room = malloc(LISTING_PART_MAX);
    struct cache_names names = {.each = add_entry, .context = stream, .room = room};
    int result = room ? cache_names_list(scope_client(), name, &names) : -EAGAIN;
    free(room);
    if (result == 0 && (!add(stream, ".", 1, name->status.inode, DT_DIR) ||
                        !add(stream, "..", 2, names.head.parent_inode, DT_DIR)))
        result = -EAGAIN;
    return result;
}

/* 0 and a stream; -EXDEV, -EAGAIN: the kernel's; or another negative errno. */
static int stream_make(int folder, const char *path, struct stream **made)
{
    struct cache_name name;
    int result = named_may_be(folder, path) ? named_find(folder, path, true, &name) : -EXDEV;
    if (result == 0 && !S_ISDIR(name.status.mode))
        result = -ENOTDIR;
    if (result == 0 && !named_may_read(&name.status))
        result = -EAGAIN;
    if (result < 0)
        return result;
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return -EAGAIN;
    stream->mark = OURS;
    stream->fd = -1;
    stream->self = stream;
    pthread_mutex_init(&stream->lock, NULL);
    memcpy(stream->path, name.path, sizeof(stream->path));
    if (!stream->path[0])
        memcpy(stream->path, "/", 2);
    result = fill(stream, &name);
    if (result < 0)
        discard(stream);
    else
        *made = stream;
    return result;
}

/* True: it is answered. */
static bool stream_open(int folder, const char *path, DIR **opened)
{
    struct stream *stream = NULL;
    int error = errno, result = stream_make(folder, path, &stream);
    errno = error;
    if (named_is_left(result))
        return false;
    if (result < 0)
        errno = -result;
    *opened = (DIR *)stream;
    return true;
}

/* These open and close inside the C library. */
ENTRY DIR *opendir(const char *path)
{
    DIR *folder;
    if (stream_open(AT_FDCWD, path, &folder))
        return folder;
    real_ensure();
    folder = real.opendir(path);
    if (folder)
        table_forget(dirfd(folder));
    return folder;
}

ENTRY int closedir(DIR *folder)
{
    struct stream *stream = ours(folder);
    if (stream) {
        discard(stream);
        return 0;
    }
    real_ensure();
    if (folder)
        table_forget(dirfd(folder));
    return real.closedir(folder);
}

ENTRY int dirfd(DIR *folder)
{
    struct stream *stream = ours(folder);
    if (!stream) {
        real_ensure();
        return real.dirfd(folder);
    }
    pthread_mutex_lock(&stream->lock);
    if (stream->fd < 0)
        stream->fd = real.openat(AT_FDCWD, stream->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = stream->fd;
    pthread_mutex_unlock(&stream->lock);
    if (fd >= 0)
        table_forget(fd);
    return fd;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static struct dirent *next_entry(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    struct dirent *entry = NULL;
    if (stream->next < stream->length) {
        entry = (struct dirent *)(stream->entries + stream->next);
        stream->next += entry->d_reclen;
    }
    pthread_mutex_unlock(&stream->lock);
    return entry;
}

ENTRY struct dirent *readdir(DIR *folder)
{
    struct stream *stream = ours(folder);
    if (stream)
        return next_entry(stream);
    real_ensure();
    return real.readdir(folder);
}

ENTRY struct dirent64 *readdir64(DIR *folder)
{
    return (struct dirent64 *)readdir(folder);
}

/* Programs that are called old for it still call it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

ENTRY int readdir_r(DIR *folder, struct dirent *room, struct dirent **found)
{
    struct stream *stream = ours(folder);
    if (!stream) {
        real_ensure();
        return real.readdir_r(folder, room, found);
    }
    const struct dirent *entry = next_entry(stream);
    if (entry)
        memcpy(room, entry, entry->d_reclen < sizeof(*room) ? entry->d_reclen : sizeof(*room));
    *found = entry ? room : NULL;
    return 0;
}

ENTRY int readdir64_r(DIR *folder, struct dirent64 *room, struct dirent64 **found)
{
    return readdir_r(folder, (struct dirent *)room, (struct dirent **)found);
}

#pragma GCC diagnostic pop

ENTRY void seekdir(DIR *folder, long place)
{
    struct stream *stream = ours(folder);
    if (!stream) {
        real_ensure();
        real.seekdir(folder, place);
    } else if (place >= 0 && (size_t)place <= stream->length) {
        pthread_mutex_lock(&stream->lock);
        stream->next = (size_t)place;
        pthread_mutex_unlock(&stream->lock);
    }
}

ENTRY long telldir(DIR *folder)
{
    struct stream *stream = ours(folder);
    if (stream)
        return (long)stream->next;
    real_ensure();
    return real.telldir(folder);
}

ENTRY void rewinddir(DIR *folder)
{
    if (ours(folder)) {
        seekdir(folder, 0);
        return;
    }
    real_ensure();
    real.rewinddir(folder);
}

/* ---- scandir --------------------------------------------------------------------------------- */

typedef int filter(const struct dirent *);
typedef int order(const struct dirent **, const struct dirent **);

static int gather(struct stream *stream, struct dirent ***list, filter *wants)
{
    size_t count = 0, room = 0;
    struct dirent **found = NULL, *entry;
    while ((entry = next_entry(stream))) {
        if (wants && !wants(entry))
            continue;
        if (!array_grow(&found, &room, count + 1))
            goto fail;
        if (!(found[count] = malloc(entry->d_reclen)))
            goto fail;
        memcpy(found[count++], entry, entry->d_reclen);
    }
    *list = found ? found : calloc(1, sizeof(*found));
    return (int)count;
fail:
    while (count > 0)
        free(found[--count]);
    free(found);
    errno = ENOMEM;
    return -1;
}

ENTRY int scandirat(int at, const char *path, struct dirent ***list, filter *wants, order *compare)
{
    DIR *folder;
    if (!stream_open(at, path, &folder)) {
        real_ensure();
        return real.scandirat(at, path, list, wants, compare);
    }
    if (!folder)
        return -1;
    int count = gather(ours(folder), list, wants);
    closedir(folder);
    if (count > 0 && compare)
        qsort(*list, (size_t)count, sizeof(**list), (int (*)(const void *, const void *))compare);
    return count;
}

ENTRY int scandir(const char *path, struct dirent ***list, filter *wants, order *compare)
{
    return scandirat(AT_FDCWD, path, list, wants, compare);
}

ENTRY int scandir64(const char *path, struct dirent64 ***list,
                    int (*wants)(const struct dirent64 *),
                    int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
    return scandirat(AT_FDCWD, path, (struct dirent ***)list, (filter *)wants, (order *)compare);
}

ENTRY int scandirat64(int at, const char *path, struct dirent64 ***list,
                      int (*wants)(const struct dirent64 *),
                      int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
    return scandirat(at, path, (struct dirent ***)list, (filter *)wants, (order *)compare);
}
