/* SPDX-License-Identifier: BSD-3-Clause
 *
 * read, pread, readv, preadv, preadv2 and their checked twins. A descriptor that is not in the
 * table costs one load.
 */
#include "cache/interposer/calls.h"

#include "cache/interposer/position.h"
#include "cache/interposer/real.h"
#include "cache/interposer/standin.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

static ssize_t as_the_kernel(ssize_t result)
{
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

/* What is odd is for the kernel to judge. */
static bool is_plain(const void *buffer, size_t length)
{
    return buffer && length > 0 && length <= POSITION_LENGTH_MAX;
}

static bool are_plain(const struct iovec *parts, int part_count)
{
    if (!parts || part_count < 1 || part_count > POSITION_PARTS_MAX)
        return false;
    size_t length = position_length(parts, part_count);
    return length > 0 && length != SIZE_MAX;
}

#define OWN_OFFSET (-1)

/* Of a file without the kernel's descriptor; -EAGAIN: it has one. What is odd gets one. */
static ssize_t ask_standin(int fd, const struct iovec *parts, int part_count, off_t offset)
{
    struct description *description = standin_find(fd);
    if (!description)
        return -EAGAIN;
    ssize_t result = -EAGAIN;
    if (!parts || offset < OWN_OFFSET)
        standin_realise(description);
    else if (offset == OWN_OFFSET)
        result = standin_read(description, fd, parts, part_count);
    else
        result = standin_pread(description, parts, part_count, offset);
    table_unpin();
    return result;
}

ssize_t read_here(int fd, void *buffer, size_t length)
{
    struct iovec whole = {buffer, length};
    ssize_t known = standin_any()
                        ? ask_standin(fd, is_plain(buffer, length) ? &whole : NULL, 1, OWN_OFFSET)
                        : -EAGAIN;
    if (known != -EAGAIN)
        return as_the_kernel(known);
    struct description *description = is_plain(buffer, length) ? table_reader(fd) : NULL;
    if (!description)
        return real.read(fd, buffer, length);
    struct iovec part = {buffer, length};
    ssize_t result = position_read(description, fd, &part, 1);
    table_unpin();
    return as_the_kernel(result);
}

ssize_t read_there(int fd, void *buffer, size_t length, off_t offset)
{
    struct iovec whole = {buffer, length};
    bool is_good = is_plain(buffer, length) && offset >= 0;
    ssize_t known = standin_any() ? ask_standin(fd, is_good ? &whole : NULL, 1, offset) : -EAGAIN;
    if (known != -EAGAIN)
        return as_the_kernel(known);
    struct description *description = is_plain(buffer, length) && offset >= 0 ? table_reader(fd)
                                                                              : NULL;
    if (!description)
        return real.pread(fd, buffer, length, offset);
    ssize_t result = cache_file_read(&description->file, fd, buffer, length, offset);
    table_unpin();
    return as_the_kernel(result);
}

ENTRY ssize_t read(int fd, void *buffer, size_t length)
{
    if (!table_has(fd))
        return real.read(fd, buffer, length);
    pthread_testcancel(); /* as the kernel's; a hit would never be one */
    return read_here(fd, buffer, length);
}

ENTRY ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
    if (!table_has(fd))
        return real.pread(fd, buffer, length, offset);
    pthread_testcancel();
    return read_there(fd, buffer, length, offset);
}

ENTRY ssize_t readv(int fd, const struct iovec *parts, int part_count)
{
    bool is_good = table_has(fd) && are_plain(parts, part_count);
    ssize_t known = standin_any() ? ask_standin(fd, is_good ? parts : NULL, part_count, OWN_OFFSET)
                                  : -EAGAIN;
    if (known != -EAGAIN)
        return as_the_kernel(known);
    struct description *description = is_good ? table_reader(fd) : NULL;
    if (!description)
        return real.readv(fd, parts, part_count);
    ssize_t result = position_read(description, fd, parts, part_count);
    table_unpin();
    return as_the_kernel(result);
}

ENTRY ssize_t preadv(int fd, const struct iovec *parts, int part_count, off_t offset)
{
    bool is_good = table_has(fd) && offset >= 0 && are_plain(parts, part_count);
    ssize_t known = standin_any() ? ask_standin(fd, is_good ? parts : NULL, part_count, offset)
                                  : -EAGAIN;
    if (known != -EAGAIN)
        return as_the_kernel(known);
    struct description *description = is_good ? table_reader(fd) : NULL;
    if (!description)
        return real.preadv(fd, parts, part_count, offset);
    ssize_t result = cache_file_readv(&description->file, fd, parts, part_count, offset);
    table_unpin();
    return as_the_kernel(result);
}

ENTRY ssize_t preadv2(int fd, const struct iovec *parts, int part_count, off_t offset, int flags)
{
    if (flags != 0 || offset < -1)
        standin_realise_at(fd);
    if (flags != 0 || !table_has(fd) || offset < -1)
        return real.preadv2(fd, parts, part_count, offset, flags);
    return offset == -1 ? readv(fd, parts, part_count) : preadv(fd, parts, part_count, offset);
}

ssize_t pread64(int fd, void *buffer, size_t length, off_t offset)
    __attribute__((alias("pread"), visibility("default")));
ssize_t preadv64(int fd, const struct iovec *parts, int part_count, off_t offset)
    __attribute__((alias("preadv"), visibility("default")));
ssize_t preadv64v2(int fd, const struct iovec *parts, int part_count, off_t offset, int flags)
    __attribute__((alias("preadv2"), visibility("default")));

/* ---- The twins of programs compiled with _FORTIFY_SOURCE ------------------------------------ */

ssize_t __read_chk(int fd, void *buffer, size_t length, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t length, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t length, off_t offset, size_t room)
    __attribute__((alias("__pread_chk"), visibility("default")));

ENTRY ssize_t __read_chk(int fd, void *buffer, size_t length, size_t room)
{
    if (length <= room)
        return read(fd, buffer, length);
    real_ensure();
    return real.read_checked(fd, buffer, length, room); /* ends the program */
}

ENTRY ssize_t __pread_chk(int fd, void *buffer, size_t length, off_t offset, size_t room)
{
    if (length <= room)
        return pread(fd, buffer, length, offset);
    real_ensure();
    return real.pread_checked(fd, buffer, length, offset, room);
}
