/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which files are cached, and opening them: for reading, or to tell the others that somebody
 * writes; see client.h.
 */
#include "cache/client/state.h"
#include "cache/raw.h"

#include <string.h>

/* ---- Which files ---------------------------------------------------------------------------- */

static bool is_below(const char *path, const struct cache_path *top)
{
    uint32_t length = top->length;
    if (length == 1) /* the root */
        return true;
    return strncmp(path, top->text, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool cache_client_covers(const struct cache_client *client, const char *path)
{
    if (!client)
        return false;
    if (path[0] != '/')
        return true;
    for (uint32_t i = 0; i < client->card->path_count && i < CACHE_PATHS_MAX; i++) {
        if (is_below(path, &client->card->path[i]))
            return true;
    }
    return false;
}

static const struct cache_device *find_device(const struct cache_client *client, uint64_t device)
{
    for (unsigned i = 0; i < CACHE_DEVICES_MAX; i++) {
        const struct cache_device *entry = &client->card->device[i];
        /* acquire: pairs with the release in files/mounts.c, after the rest of the entry */
        uint64_t known = atomic_load_explicit(&entry->device, memory_order_acquire);
        if (known == device)
            return entry;
        if (known == 0)
            break;
    }
    return NULL;
}

/* Where the kernel says that fd is. */
static bool is_covered_place(const struct cache_client *client, int fd)
{
    char link[32] = "/proc/self/fd/";
    char path[4096];
    char digits[12];
    size_t at = strlen(link), count = 0;
    for (unsigned rest = (unsigned)fd; rest > 0 || count == 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        link[at++] = digits[--count];
    ssize_t length = raw_readlink(link, path, sizeof(path) - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return path[0] == '/' && cache_client_covers(client, path);
}

/* The device of a file that may be cached, or NULL. */
static const struct cache_device *cached_device(const struct cache_client *client, int fd,
                                                const struct stat *status)
{
    const struct cache_device *device = find_device(client, status->st_dev);
    if (!S_ISREG(status->st_mode) || !device)
        return NULL;
    bool is_part = atomic_load_explicit(&device->is_part, memory_order_relaxed);
    return !is_part || fd < 0 || is_covered_place(client, fd) ? device : NULL;
}

bool cache_client_has(const struct cache_client *client, int fd, const struct stat *status)
{
    return client && cached_device(client, fd, status) != NULL;
}

/* A file that changed a moment ago may change again within the same tick of the file system's
 * clock, and look the same. */
static bool is_settled(const struct cache_client *client, const struct stat *status)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t newest = cache_time_ns(&status->st_ctim);
    if (cache_time_ns(&status->st_mtim) > newest)
        newest = cache_time_ns(&status->st_mtim);
    return cache_time_ns(&now) - newest >= client->card->settle_ns;
}

/* ---- Reading -------------------------------------------------------------------------------- */

uint32_t cache_find_stat(const struct cache_client *client, const uint64_t id[2])
{
    struct cache_file_stat *stats = cache_file_stats(client->control, &client->shape);
    uint32_t mask = client->shape.file_count - 1;
    for (uint32_t step = 0; step < 8; step++) {
        uint32_t index = ((uint32_t)id[0] + step) & mask;
        if (atomic_load_explicit(&stats[index].id[0], memory_order_relaxed) == id[0] &&
            atomic_load_explicit(&stats[index].id[1], memory_order_relaxed) == id[1])
            return index + 1;
    }
    return 0;
}

void cache_file_fill(struct cache_client *client, struct cache_file *file,
                     const struct stat *status, const struct cache_watched *watched)
{
    struct cache_key key = cache_key_of(watched->file_system, status);
    file->client = client;
    cache_key_id(&key, file->id);
    file->size = key.size;
    file->device = status->st_dev;
    file->inode = key.inode;
    file->mtime_ns = key.mtime_ns;
    file->ctime_ns = key.ctime_ns;
    file->block_length = client->shape.block_length;
    file->stat_index = cache_find_stat(client, file->id);
    file->window = 1;
    file->watch = watched->watch;
    file->seen = watched->word;
}

int cache_file_open(struct cache_client *client, struct cache_file *file, int fd)
{
    struct stat status;
    memset(file, 0, sizeof(*file));
    if (!cache_client_is_alive(client))
        return -ESHUTDOWN;
    int result = raw_fstat(fd, &status);
    if (result < 0)
        return result;
    const struct cache_device *device = cached_device(client, fd, &status);
    if (!device)
        return -EOPNOTSUPP;
    uint64_t file_system = atomic_load_explicit(&device->file_system, memory_order_relaxed);
    uint32_t watch = cache_watch_index(&client->shape, file_system, status.st_ino);
    uint64_t word = cache_watch_word(client, watch);
    /* 0: nobody of the job has written the file until now; what the status was before holds. Else
     * this host need not have heard of it, and the server is asked, now that the word is known: who
     * begins to write from here on is noticed at the next read. */
    result = word == 0 ? 0 : raw_fstat_now(fd, &status);
    if (result < 0)
        return result;
    if (status.st_size == 0)
        return -EAGAIN;
    bool is_written = cache_watch_writers(word) > 0;
    if (is_written || !is_settled(client, &status)) {
        cache_count(client->control, cache_stripe(),
                    is_written ? CACHE_BYPASS_WRITTEN : CACHE_BYPASS_NEW, 1);
        return -EAGAIN;
    }
    struct cache_watched watched = {.file_system = file_system, .watch = watch, .word = word};
    cache_file_fill(client, file, &status, &watched);
    return 0;
}

void cache_file_mapped_past(const struct cache_file *file, uint64_t length)
{
    cache_count(file->client->control, cache_stripe(), CACHE_BYPASS_MAPPED, 1);
    cache_count(file->client->control, cache_stripe(), CACHE_BYPASS_MAPPED_BYTES, length);
}

void cache_file_ask_server(int fd)
{
    struct stat status;
    (void)raw_fstat_now(fd, &status);
}

void cache_file_close(struct cache_file *file)
{
    memset(file, 0, sizeof(*file));
}

/* ---- Writers -------------------------------------------------------------------------------- */

static int tell(struct cache_client *client, const struct stat *status,
                enum cache_request_kind kind)
{
    if (!client)
        return -ESHUTDOWN;
    const struct cache_device *device = find_device(client, status->st_dev);
    if (!S_ISREG(status->st_mode) || !device)
        return -EXDEV;
    uint64_t file_system = atomic_load_explicit(&device->file_system, memory_order_relaxed);
    struct cache_wish wish = {
        .kind = kind, .block = cache_watch_index(&client->shape, file_system, status->st_ino)};
    if (kind == CACHE_WRITE_LAST && client->is_foreign)
        return cache_ask_last(client, wish.block);
    return cache_ask(client, &wish);
}

int cache_write_begin(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_WRITE_BEGIN);
}

int cache_write_end(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_WRITE_END);
}

int cache_write_last(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_WRITE_LAST);
}

int cache_changed(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_CHANGED);
}
