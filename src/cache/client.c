/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See client.h. So far without an agent: every read goes to the kernel.
 */
#include "cache/client.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int cache_client_attach(struct cache_client **client, const char *name)
{
    (void)name;
    *client = NULL;
    return -ENOENT;
}

void cache_client_detach(struct cache_client *client)
{
    (void)client;
}

bool cache_client_covers(const struct cache_client *client, const char *path)
{
    return client && path[0] != '/';
}

bool cache_client_is_alive(const struct cache_client *client)
{
    return client != NULL;
}

int cache_file_open(struct cache_client *client, struct cache_file *file, int fd)
{
    (void)client, (void)fd;
    memset(file, 0, sizeof(*file));
    return -EOPNOTSUPP;
}

ssize_t cache_file_read(struct cache_file *file, int fd, void *buffer, size_t length, off_t offset)
{
    (void)file;
    int before = errno;
    ssize_t result = pread(fd, buffer, length, offset);
    if (result < 0)
        result = -errno;
    errno = before;
    return result;
}

ssize_t cache_file_readv(struct cache_file *file, int fd, const struct iovec *parts, int part_count,
                         off_t offset)
{
    (void)file;
    int before = errno;
    ssize_t result = preadv(fd, parts, part_count, offset);
    if (result < 0)
        result = -errno;
    errno = before;
    return result;
}

bool cache_file_is_near(const struct cache_file *file, off_t offset, size_t length)
{
    (void)file, (void)offset, (void)length;
    return false;
}

void cache_file_advise(struct cache_file *file, int fd, off_t offset, off_t length, int advice)
{
    (void)file, (void)fd, (void)offset, (void)length, (void)advice;
}

void cache_file_close(struct cache_file *file)
{
    memset(file, 0, sizeof(*file));
}

int cache_write_begin(struct cache_client *client, int fd)
{
    (void)client, (void)fd;
    return -EXDEV;
}

int cache_write_end(struct cache_client *client, int fd)
{
    (void)client, (void)fd;
    return -EXDEV;
}

int cache_write_begin_status(struct cache_client *client, const struct stat *status)
{
    (void)client, (void)status;
    return -EXDEV;
}

int cache_write_end_status(struct cache_client *client, const struct stat *status)
{
    (void)client, (void)status;
    return -EXDEV;
}

int cache_changed(struct cache_client *client, const struct stat *status)
{
    (void)client, (void)status;
    return -EXDEV;
}

const char *cache_counter_name(enum cache_counter which)
{
    static const char *const names[CACHE_COUNTER_COUNT] = {
        [CACHE_LOCAL_HITS] = "local_hits",
        [CACHE_LOCAL_BYTES] = "local_bytes",
        [CACHE_REMOTE_HITS] = "remote_hits",
        [CACHE_REMOTE_BYTES] = "remote_bytes",
        [CACHE_LOADS] = "loads",
        [CACHE_LOAD_BYTES] = "load_bytes",
        [CACHE_MISSES] = "misses",
        [CACHE_READ_AHEADS] = "read_aheads",
        [CACHE_EVICTIONS] = "evictions",
        [CACHE_SINGLETS_KEPT] = "singlets_kept",
        [CACHE_FALLBACKS] = "fallbacks",
        [CACHE_FALLBACK_BYTES] = "fallback_bytes",
        [CACHE_RETRIES] = "retries",
        [CACHE_STALE_CELLS] = "stale_cells",
        [CACHE_TAKEOVERS] = "takeovers",
        [CACHE_CHECKSUM_ERRORS] = "checksum_errors",
        [CACHE_LOAD_ERRORS] = "load_errors",
        [CACHE_CHANGED_FILES] = "changed_files",
    };
    return names[which];
}

void cache_client_counters(const struct cache_client *client, uint64_t values[CACHE_COUNTER_COUNT])
{
    (void)client;
    memset(values, 0, CACHE_COUNTER_COUNT * sizeof(values[0]));
}
