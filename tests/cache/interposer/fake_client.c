/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cache's client without an agent, for tests of what stands on it: a file is copied into memory
 * when it is opened and served from there until its status changes. Bytes served are counted in the
 * file that FAKE_COUNT names, so that a test can tell that the cache was used at all.
 */
#include "cache/client/named.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct cache_client {
    _Atomic uint64_t *count;
};

static struct cache_client fake;

/* A copy of a file; kept for ever, as tests are short. */
struct copy {
    struct copy *next;
    struct stat status;
    char *data;
};

static _Atomic(struct copy *) copies;

int cache_client_attach(struct cache_client **client, const char *name)
{
    (void)name;
    const char *path = getenv("FAKE_COUNT");
    int fd = path ? open(path, O_RDWR) : -1;
    if (fd >= 0) {
        void *word = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        fake.count = word == MAP_FAILED ? NULL : word;
        close(fd);
    }
    *client = &fake;
    return 0;
}

void cache_client_detach(struct cache_client *client)
{
    (void)client;
}

bool cache_client_covers(const struct cache_client *client, const char *path)
{
    (void)client, (void)path;
    return true;
}

bool cache_client_has(const struct cache_client *client, int fd, const struct stat *status)
{
    (void)client, (void)fd, (void)status;
    return false; /* what the path does not tell is not the cache's */
}

ssize_t cache_file_read_past(const struct cache_file *file, ssize_t got)
{
    (void)file;
    return got;
}

void cache_file_mapped_past(const struct cache_file *file, uint64_t length)
{
    (void)file, (void)length;
}

bool cache_client_is_alive(const struct cache_client *client)
{
    return client != NULL;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0 &&
           memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) == 0;
}

static struct copy *copy_make(int fd, const struct stat *status)
{
    struct copy *copy = mmap(NULL, sizeof(*copy) + (size_t)status->st_size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return NULL;
    copy->status = *status;
    copy->data = (char *)(copy + 1);
    struct stat after;
    if (pread(fd, copy->data, (size_t)status->st_size, 0) != status->st_size ||
        fstat(fd, &after) != 0 || !is_same(status, &after))
        return NULL;
    copy->next = atomic_load(&copies);
    while (!atomic_compare_exchange_weak(&copies, &copy->next, copy))
        ;
    return copy;
}

static bool is_below(int fd)
{
    char link[64], path[4096];
    const char *folder = getenv("FAKE_PATH");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    return folder && length > 0 && (size_t)length > strlen(folder) &&
           strncmp(path, folder, strlen(folder)) == 0;
}

int cache_file_open(struct cache_client *client, struct cache_file *file, int fd)
{
    struct stat status;
    memset(file, 0, sizeof(*file));
    if (fstat(fd, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_size == 0 || !is_below(fd))
        return -EOPNOTSUPP;
    struct copy *copy = atomic_load(&copies);
    while (copy && !is_same(&copy->status, &status))
        copy = copy->next;
    if (!copy)
        copy = copy_make(fd, &status);
    if (!copy)
        return -EAGAIN;
    *file = (struct cache_file){.client = client, .size = (uint64_t)status.st_size};
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->id[0] = (uint64_t)(uintptr_t)copy;
    return 0;
}

static ssize_t read_kernel(int fd, void *buffer, size_t length, off_t offset)
{
    ssize_t result = pread(fd, buffer, length, offset);
    return result < 0 ? -errno : result;
}

enum cache_file_state cache_file_check(struct cache_file *file, int fd)
{
    struct stat status;
    const struct copy *copy = (struct copy *)(uintptr_t)file->id[0];
    if (!copy || fstat(fd, &status) != 0 || status.st_dev != file->device ||
        status.st_ino != file->inode)
        return CACHE_FILE_OTHER;
    return is_same(&status, &copy->status) ? CACHE_FILE_SAME : CACHE_FILE_CHANGED;
}

ssize_t cache_file_read_checked(struct cache_file *file, int fd, void *buffer, size_t length,
                                off_t offset)
{
    int error = errno;
    ssize_t result = 0;
    const struct copy *copy = (struct copy *)(uintptr_t)file->id[0];
    if ((uint64_t)offset < file->size) {
        size_t there = file->size - (uint64_t)offset;
        result = (ssize_t)(length < there ? length : there);
        memcpy(buffer, copy->data + offset, (size_t)result);
        if (fake.count)
            atomic_fetch_add(fake.count, (uint64_t)result);
    }
    if ((size_t)result < length) {
        ssize_t rest = read_kernel(fd, (char *)buffer + result, length - (size_t)result,
                                   offset + result);
        result = rest < 0 && result == 0 ? rest : result + (rest > 0 ? rest : 0);
    }
    errno = error;
    return result;
}

ssize_t cache_file_read(struct cache_file *file, int fd, void *buffer, size_t length, off_t offset)
{
    int error = errno;
    ssize_t result = cache_file_check(file, fd) == CACHE_FILE_SAME
                         ? cache_file_read_checked(file, fd, buffer, length, offset)
                         : read_kernel(fd, buffer, length, offset);
    errno = error;
    return result;
}

static ssize_t read_all(struct cache_file *file, int fd, const struct iovec *parts, int part_count,
                        off_t offset)
{
    ssize_t done = 0;
    for (int i = 0; i < part_count; i++) {
        ssize_t got = cache_file_read(file, fd, parts[i].iov_base, parts[i].iov_len, offset + done);
        if (got < 0)
            return done > 0 ? done : got;
        done += got;
        if ((size_t)got < parts[i].iov_len)
            break;
    }
    return done;
}

ssize_t cache_file_readv(struct cache_file *file, int fd, const struct iovec *parts, int part_count,
                         off_t offset)
{
    return read_all(file, fd, parts, part_count, offset);
}

ssize_t cache_file_readv_checked(struct cache_file *file, int fd, const struct iovec *parts,
                                 int part_count, off_t offset)
{
    return read_all(file, fd, parts, part_count, offset);
}

bool cache_file_is_near(const struct cache_file *file, off_t offset, size_t length)
{
    (void)offset, (void)length;
    return file->client != NULL;
}

void cache_file_advise(struct cache_file *file, int fd, off_t offset, off_t length, int advice)
{
    (void)file, (void)fd, (void)offset, (void)length, (void)advice;
}

void cache_file_ask_server(int fd)
{
    (void)fd; /* its copy is of a file that is near */
}

void cache_file_close(struct cache_file *file)
{
    memset(file, 0, sizeof(*file));
}

int cache_write_begin(struct cache_client *client, const struct stat *status)
{
    (void)client, (void)status;
    return 0;
}

int cache_write_end(struct cache_client *client, const struct stat *status)
{
    (void)client, (void)status;
    return 0;
}

int cache_write_last(struct cache_client *client, const struct stat *status)
{
    (void)client, (void)status;
    return 0;
}

int cache_changed(struct cache_client *client, const struct stat *status)
{
    (void)client, (void)status;
    return 0;
}

/* ---- Declared folders: there are none ------------------------------------------------------- */

bool cache_client_declares(const struct cache_client *client)
{
    (void)client;
    return false;
}

bool cache_name_is_declared(const struct cache_client *client, const char *path)
{
    (void)client, (void)path;
    return false;
}

int cache_name_find(struct cache_client *client, const char *path, bool follows,
                    struct cache_name *name)
{
    (void)client, (void)path, (void)follows, (void)name;
    return -EAGAIN;
}

int cache_named_open(struct cache_client *client, struct cache_file *file,
                     const struct cache_name *name)
{
    (void)client, (void)file, (void)name;
    return -EAGAIN;
}

ssize_t cache_named_read(struct cache_file *file, const char *path, void *buffer, size_t length,
                         off_t offset)
{
    (void)file, (void)path, (void)buffer, (void)length, (void)offset;
    return -EAGAIN;
}

int cache_names_list(struct cache_client *client, const struct cache_name *folder,
                     struct cache_names *names)
{
    (void)client, (void)folder, (void)names;
    return -EAGAIN;
}

void cache_name_count(struct cache_client *client, enum cache_counter which)
{
    (void)client, (void)which;
}
