/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sendfile, copy_file_range and splice out of a file of the cache, by way of memory. Where both
 * files are on one file system copy_file_range is left to it: it may copy without moving data.
 */
#include "cache/interposer/calls.h"
#include "cache/interposer/real.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 20 };

/* A copy under way. An offset that is not given is the descriptor's own. */
struct copy {
    int in, out;
    off_t *in_offset, *out_offset;
    size_t length;
    char *room;
    size_t room_length;
};

static ssize_t take(const struct copy *copy, size_t length, off_t at)
{
    return read_there(copy->in, copy->room, length < copy->room_length ? length : copy->room_length,
                      at);
}

static ssize_t put(const struct copy *copy, size_t length)
{
    if (!copy->out_offset)
        return write(copy->out, copy->room, length);
    ssize_t result = pwrite(copy->out, copy->room, length, *copy->out_offset);
    if (result > 0)
        *copy->out_offset += result;
    return result;
}

/* Moves the input's offset by what was written, not by what was read. */
static ssize_t run(const struct copy *copy)
{
    off_t start = copy->in_offset ? *copy->in_offset : descriptor_seek(copy->in, 0, SEEK_CUR);
    size_t done = 0;
    ssize_t result = start < 0 ? -1 : 0;
    while (start >= 0 && done < copy->length) {
        ssize_t got = take(copy, copy->length - done, start + (off_t)done);
        result = got > 0 ? put(copy, (size_t)got) : got;
        if (result <= 0)
            break;
        done += (size_t)result;
        if (result < got)
            break;
    }
    if (done == 0)
        return result;
    int error = errno;
    if (copy->in_offset)
        *copy->in_offset = start + (off_t)done;
    else
        descriptor_seek(copy->in, (off_t)done, SEEK_CUR);
    errno = error;
    return (ssize_t)done;
}

static ssize_t run_with_room(struct copy *copy)
{
    copy->room_length = copy->length < ROOM ? copy->length : ROOM;
    copy->room = real.mmap(NULL, copy->room_length, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy->room == MAP_FAILED)
        return -1;
    ssize_t result = run(copy);
    int error = errno;
    munmap(copy->room, copy->room_length);
    errno = error;
    return result;
}

ENTRY ssize_t sendfile(int out, int in, off_t *offset, size_t length)
{
    standin_realise_at(in);
    int flags = table_is_reader(in) && length > 0 ? real.fcntl(out, F_GETFL) : O_APPEND;
    if (flags < 0 || (flags & (O_APPEND | O_ACCMODE)) == O_RDONLY || (flags & O_APPEND) ||
        (offset && *offset < 0))
        return real.sendfile(out, in, offset, length);
    struct copy copy = {.in = in, .out = out, .in_offset = offset, .length = length};
    ssize_t result = run_with_room(&copy);
    return result < 0 && errno == ENOMEM ? real.sendfile(out, in, offset, length) : result;
}

ssize_t sendfile64(int out, int in, off_t *offset, size_t length)
    __attribute__((alias("sendfile"), visibility("default")));

static bool are_far(int in, int out)
{
    struct stat a, b;
    return fstat(in, &a) == 0 && fstat(out, &b) == 0 && S_ISREG(b.st_mode) && a.st_dev != b.st_dev;
}

ENTRY ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
                              unsigned flags)
{
    standin_realise_at(in);
    int out_flags = flags == 0 && length > 0 && table_is_reader(in) ? real.fcntl(out, F_GETFL)
                                                                    : O_APPEND;
    if (out_flags < 0 || (out_flags & O_APPEND) || (out_flags & O_ACCMODE) == O_RDONLY ||
        (in_offset && *in_offset < 0) || !are_far(in, out))
        return real.copy_file_range(in, in_offset, out, out_offset, length, flags);
    struct copy copy = {in, out, in_offset, out_offset, length, NULL, 0};
    return run_with_room(&copy);
}

/* How much an empty pipe takes without waiting; 0: it is not empty, or no pipe. */
static size_t pipe_room(int fd)
{
    int used, size = real.fcntl(fd, F_GETPIPE_SZ);
    return size > 0 && ioctl(fd, FIONREAD, &used) == 0 && used == 0 ? (size_t)size : 0;
}

ENTRY ssize_t splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
                     unsigned flags)
{
    standin_realise_at(in);
    int error = errno;
    size_t room = !out_offset && length > 0 && (!in_offset || *in_offset >= 0) &&
                          table_is_reader(in)
                      ? pipe_room(out)
                      : 0;
    errno = error;
    if (room == 0)
        return real.splice(in, in_offset, out, out_offset, length, flags);
    struct copy copy = {.in = in, .out = out, .in_offset = in_offset};
    copy.length = length < room ? length : room;
    return run_with_room(&copy);
}
