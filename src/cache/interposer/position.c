/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See position.h. What is left of a race: a read that claims beyond the end gives the excess back,
 * and whoever asks for the offset in between sees it too far on. It takes two readers of one offset
 * that reach the end at the same moment, and a third that looks.
 */
#include "cache/interposer/position.h"

#include "cache/interposer/real.h"

#include <errno.h>
#include <unistd.h>

size_t position_length(const struct iovec *parts, int part_count)
{
    size_t length = 0;
    for (int i = 0; i < part_count; i++) {
        if (parts[i].iov_len > POSITION_LENGTH_MAX - length)
            return SIZE_MAX;
        length += parts[i].iov_len;
    }
    return length;
}

static ssize_t read_at(struct description *description, int fd, const struct iovec *parts,
                       int part_count, off_t offset)
{
    if (part_count == 1)
        return cache_file_read_checked(&description->file, fd, parts[0].iov_base, parts[0].iov_len,
                                       offset);
    return cache_file_readv_checked(&description->file, fd, parts, part_count, offset);
}

/* The first length bytes of the parts. */
static ssize_t read_some_at(struct description *description, int fd, const struct iovec *parts,
                            size_t length, off_t offset)
{
    struct iovec some[POSITION_PARTS_MAX];
    int count = 0;
    for (; length > 0; count++) {
        some[count] = parts[count];
        if (some[count].iov_len > length)
            some[count].iov_len = length;
        length -= some[count].iov_len;
    }
    return count > 0 ? read_at(description, fd, some, count, offset) : 0;
}

/* [end - length, end) is ours, but only got of it was there, or there was an error. */
static ssize_t settle(struct description *description, int fd, off_t end, size_t length,
                      ssize_t got)
{
    off_t excess = (off_t)length - (got > 0 ? got : 0);
    if (excess > 0)
        end = real.lseek(fd, -excess, SEEK_CUR);
    atomic_store_explicit(&description->guess, (uint64_t)end, memory_order_relaxed);
    return got;
}

static ssize_t read_then_claim(struct description *description, int fd, const struct iovec *parts,
                               int part_count)
{
    off_t start = real.lseek(fd, 0, SEEK_CUR);
    if (start < 0)
        return -errno;
    ssize_t got = read_at(description, fd, parts, part_count, start);
    if (got <= 0)
        return got;
    off_t end = real.lseek(fd, got, SEEK_CUR);
    if (end < 0)
        return -errno;
    if (end != start + got) { /* others were faster: what we claimed lies further on */
        size_t claimed = (size_t)got;
        got = read_some_at(description, fd, parts, claimed, end - (off_t)claimed);
        return settle(description, fd, end, claimed, got);
    }
    atomic_store_explicit(&description->guess, (uint64_t)end, memory_order_relaxed);
    return got;
}

ssize_t position_read(struct description *description, int fd, const struct iovec *parts,
                      int part_count)
{
    enum cache_file_state state = cache_file_check(&description->file, fd);
    if (state == CACHE_FILE_OTHER)
        table_forget(fd); /* closed behind our back; nothing of the new one may be moved */
    if (state != CACHE_FILE_SAME) {
        ssize_t got = real.readv(fd, parts, part_count);
        if (got < 0)
            return -errno;
        return state == CACHE_FILE_OTHER ? got : cache_file_read_past(&description->file, got);
    }
    size_t length = position_length(parts, part_count);
    uint64_t guess = atomic_load_explicit(&description->guess, memory_order_relaxed);
    if (guess + length > description->file.size)
        return read_then_claim(description, fd, parts, part_count);
    off_t end = real.lseek(fd, (off_t)length, SEEK_CUR);
    if (end < 0)
        return -errno;
    ssize_t got = read_at(description, fd, parts, part_count, end - (off_t)length);
    return settle(description, fd, end, length, got);
}
