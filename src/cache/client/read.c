/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See client.h: reading. The way of a hit is cache_file_read() -> cache_file_check(), then
 * read_inside() -> copy_part(), without a lock and with one system call.
 */
#include "cache/client/state.h"
#include "cache/raw.h"

#include "base/likely.h"

#include <string.h>

#define TRIES_MAX 4
#define READ_MAX  0x7ffff000u /* the kernel gives no more at once */

static bool is_off(const struct cache_file *file)
{
    return !file->client || __atomic_load_n(&file->is_off, __ATOMIC_RELAXED);
}

static bool is_same_content(const struct cache_file *file, const struct stat *status)
{
    return (uint64_t)status->st_size == file->size &&
           cache_time_ns(&status->st_mtim) == file->mtime_ns &&
           cache_time_ns(&status->st_ctim) == file->ctime_ns;
}

static enum cache_file_state not_now(const struct cache_file *file)
{
    cache_count(file->client->control, cache_stripe(), CACHE_FALLBACKS, 1);
    return CACHE_FILE_CHANGED;
}

static enum cache_file_state turn_off(struct cache_file *file)
{
    __atomic_store_n(&file->is_off, 1, __ATOMIC_RELAXED);
    cache_count(file->client->control, cache_stripe(), CACHE_CHANGED_FILES, 1);
    return not_now(file);
}

/* Something was written where this file's word is. Is the file still what it was? */
static enum cache_file_state check_again(struct cache_file *file, int fd, uint64_t word)
{
    struct stat status;
    if (cache_watch_writers(word) > 0)
        return not_now(file); /* perhaps it is another file, and later it is fine again */
    if (raw_fstat_now(fd, &status) < 0 || !is_same_content(file, &status))
        return turn_off(file);
    __atomic_store_n(&file->seen, word, __ATOMIC_RELAXED);
    return CACHE_FILE_SAME;
}

enum cache_file_state cache_file_check(struct cache_file *file, int fd)
{
    struct stat status;
    if (is_off(file))
        return CACHE_FILE_CHANGED;
    uint64_t word = cache_watch_word(file->client, file->watch);
    if (raw_fstat(fd, &status) < 0 || status.st_ino != file->inode || status.st_dev != file->device)
        return CACHE_FILE_OTHER;
    if (!is_same_content(file, &status))
        return turn_off(file);
    if (!cache_agent_is_ready(file->client))
        return not_now(file);
    return likely(word == __atomic_load_n(&file->seen, __ATOMIC_RELAXED))
               ? CACHE_FILE_SAME
               : check_again(file, fd, word);
}

static void count_hit(struct cache_file *file, uint64_t length)
{
    struct cache_client *client = file->client;
    struct cache_counters *counters = &client->control->counters[cache_stripe() % CACHE_STRIPES];
    atomic_fetch_add_explicit(&counters->value[CACHE_LOCAL_HITS], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters->value[CACHE_LOCAL_BYTES], length, memory_order_relaxed);
    if (file->stat_index == 0)
        return;
    struct cache_file_stat *stat = &cache_file_stats(client->control,
                                                     &client->shape)[file->stat_index - 1];
    atomic_fetch_add_explicit(&stat->hits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stat->hit_bytes, length, memory_order_relaxed);
}

/* A part of a read that lies within one block. */
struct part {
    uint64_t block;
    uint64_t within;
    size_t length;
};

static struct part part_at(const struct cache_file *file, uint64_t offset, size_t length)
{
    struct part part = {.block = offset / file->block_length,
                        .within = offset % file->block_length};
    uint64_t room = file->block_length - part.within;
    part.length = length < room ? length : room;
    return part;
}

/* Copy from the arena; false: it is not there, or was given up while we copied. */
static bool copy_part(struct cache_file *file, const struct part *part, void *buffer)
{
    struct cache_client *client = file->client;
    const struct cache_arena *arena = &client->arena;
    uint64_t id[2], token;
    cache_block_id(file->id, part->block, id);
    uint32_t slot = cache_index_find(arena, id, &token);
    if (slot == CACHE_NO_SLOT)
        return false;
    const char *bytes = cache_slot_bytes(arena, slot, part->within, part->length);
    if (!bytes)
        return false;
    memcpy(buffer, bytes, part->length);
    if (!cache_slot_stands(&arena->slots[slot], token)) {
        cache_count(client->control, cache_stripe(), CACHE_RETRIES, 1);
        return false;
    }
    _Atomic uint8_t *touched = &cache_touched(client->control, &client->shape)[slot];
    if (!atomic_load_explicit(touched, memory_order_relaxed))
        atomic_store_explicit(touched, 1, memory_order_relaxed);
    return true;
}

/* Have the agent get the block. */
static int ask_for(struct cache_file *file, int fd, uint64_t block)
{
    struct cache_wish wish = {.kind = CACHE_FETCH, .file_id = file->id, .block = block, .count = 1};
    int result = file->stat_index == 0 ? -ENOENT : cache_ask(file->client, &wish);
    if (result != -ENOENT)
        return result; /* else the agent does not know the file, or not any more */
    result = cache_introduce(file->client, fd);
    if (result < 0)
        return result;
    file->stat_index = cache_find_stat(file->client, file->id);
    return cache_ask(file->client, &wish);
}

static bool read_part_slow(struct cache_file *file, int fd, const struct part *part, void *buffer)
{
    cache_count(file->client->control, cache_stripe(), CACHE_MISSES, 1);
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        if (ask_for(file, fd, part->block) < 0)
            return false;
        if (copy_part(file, part, buffer))
            return true;
    }
    return false;
}

ssize_t cache_file_read_past(const struct cache_file *file, ssize_t got)
{
    if (file->client && got > 0)
        cache_count(file->client->control, cache_stripe(), CACHE_FALLBACK_BYTES, (uint64_t)got);
    return got;
}

/* The kernel's turn, for a file that could have been served. */
static ssize_t fall_back(struct cache_file *file, int fd, void *buffer, size_t length, off_t offset)
{
    return cache_file_read_past(file, raw_pread(fd, buffer, length, offset));
}

/* How much of a read the cache may serve; 0: the kernel has the say, at the end of the file and for
 * what makes no sense. */
static size_t length_inside(const struct cache_file *file, size_t length, off_t offset)
{
    if (is_off(file) || offset < 0 || (uint64_t)offset >= file->size)
        return 0;
    uint64_t left = file->size - (uint64_t)offset;
    if (length > READ_MAX)
        length = READ_MAX;
    return length < left ? length : (size_t)left;
}

/* Part by part, each from one block; from where the cache cannot go on, the kernel does. */
static ssize_t read_inside(struct cache_file *file, int fd, char *buffer, size_t length,
                           off_t offset)
{
    size_t done = 0;
    while (done < length) {
        struct part part = part_at(file, (uint64_t)offset + done, length - done);
        if (unlikely(!copy_part(file, &part, buffer + done)) &&
            !read_part_slow(file, fd, &part, buffer + done))
            break;
        count_hit(file, part.length);
        done += part.length;
    }
    if (unlikely(done < length)) {
        cache_count(file->client->control, cache_stripe(), CACHE_FALLBACKS, 1);
        ssize_t rest = fall_back(file, fd, buffer + done, length - done, offset + (off_t)done);
        if (rest < 0 && done == 0)
            return rest;
        done += rest > 0 ? (size_t)rest : 0;
    }
    if (done > 0)
        cache_ahead(file, (uint64_t)offset, done);
    return (ssize_t)done;
}

ssize_t cache_file_read_checked(struct cache_file *file, int fd, void *buffer, size_t length,
                                off_t offset)
{
    size_t inside = length_inside(file, length, offset);
    if (inside == 0)
        return fall_back(file, fd, buffer, length, offset);
    return read_inside(file, fd, buffer, inside, offset);
}

ssize_t cache_file_read(struct cache_file *file, int fd, void *buffer, size_t length, off_t offset)
{
    size_t inside = length_inside(file, length, offset);
    if (inside == 0)
        return fall_back(file, fd, buffer, length, offset);
    enum cache_file_state state = cache_file_check(file, fd);
    if (state == CACHE_FILE_OTHER)
        return raw_pread(fd, buffer, length, offset);
    if (state != CACHE_FILE_SAME)
        return fall_back(file, fd, buffer, length, offset);
    return read_inside(file, fd, buffer, inside, offset);
}

ssize_t cache_file_readv_checked(struct cache_file *file, int fd, const struct iovec *parts,
                                 int part_count, off_t offset)
{
    size_t total = 0, done = 0;
    if (part_count <= 0 || part_count > 1024)
        return cache_file_read_past(file, raw_preadv(fd, parts, part_count, offset));
    for (int i = 0; i < part_count; i++) {
        if (parts[i].iov_len > READ_MAX - total) /* or too much for the kernel: let it say */
            return cache_file_read_past(file, raw_preadv(fd, parts, part_count, offset));
        total += parts[i].iov_len;
    }
    for (int i = 0; i < part_count; i++) {
        if (parts[i].iov_len == 0)
            continue;
        ssize_t got = cache_file_read_checked(file, fd, parts[i].iov_base, parts[i].iov_len,
                                              offset + (off_t)done);
        if (got < 0)
            return done > 0 ? (ssize_t)done : got;
        done += (size_t)got;
        if ((size_t)got < parts[i].iov_len)
            break;
    }
    return (ssize_t)done;
}

ssize_t cache_file_readv(struct cache_file *file, int fd, const struct iovec *parts, int part_count,
                         off_t offset)
{
    enum cache_file_state state = cache_file_check(file, fd);
    if (state == CACHE_FILE_OTHER)
        return raw_preadv(fd, parts, part_count, offset);
    if (state != CACHE_FILE_SAME)
        return cache_file_read_past(file, raw_preadv(fd, parts, part_count, offset));
    return cache_file_readv_checked(file, fd, parts, part_count, offset);
}

bool cache_file_is_near(const struct cache_file *file, off_t offset, size_t length)
{
    if (is_off(file) || offset < 0 || (uint64_t)offset + length > file->size)
        return false;
    if (cache_watch_word(file->client, file->watch) != file->seen)
        return false;
    uint64_t first = (uint64_t)offset / file->block_length;
    uint64_t end = ((uint64_t)offset + length + file->block_length - 1) / file->block_length;
    for (uint64_t block = first; block < end; block++) {
        if (!cache_block_is_here(file, block))
            return false;
    }
    return true;
}
