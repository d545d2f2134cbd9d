/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fopen, fdopen, freopen: stdio calls the kernel from inside the C library, where nobody can stand
 * in between, so a file of the cache gets a stream whose read function is ours (fopencookie). The
 * stream has the real descriptor number in it, for fileno.
 */
#include "cache/interposer/calls.h"

#include "cache/interposer/real.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STREAMS = 1024 };

/* The C library's own flags of a stream, as they have been for ever. */
enum { NO_READS = 0x4, NO_WRITES = 0x8 };

struct cookie {
    int fd;
    int index;
    char buffer[];
};

/* Our streams, to know them again. A program with more of them gets plain ones. */
static _Atomic(FILE *) streams[STREAMS];

static _Atomic int stream_count;

bool stream_is_ours(FILE *stream)
{
    if (atomic_load_explicit(&stream_count, memory_order_relaxed) == 0 || !stream)
        return false;
    for (int i = 0; i < STREAMS; i++) {
        if (atomic_load_explicit(&streams[i], memory_order_relaxed) == stream)
            return true;
    }
    return false;
}

/* ---- The stream's functions ------------------------------------------------------------------ */

/* Only after freopen for writing. */
static ssize_t cookie_write(void *object, const char *buffer, size_t length)
{
    ssize_t result = write(((struct cookie *)object)->fd, buffer, length);
    return result < 0 ? 0 : result; /* 0 is what says error here */
}

static ssize_t cookie_read(void *object, char *buffer, size_t length)
{
    return read_here(((struct cookie *)object)->fd, buffer, length);
}

static int cookie_seek(void *object, off64_t *offset, int whence)
{
    off_t result = descriptor_seek(((struct cookie *)object)->fd, *offset, whence);
    if (result < 0)
        return -1;
    *offset = result;
    return 0;
}

static int cookie_close(void *object)
{
    struct cookie *cookie = object;
    atomic_store(&streams[cookie->index], NULL);
    atomic_fetch_sub(&stream_count, 1);
    int result = descriptor_close(cookie->fd), error = errno;
    free(cookie);
    errno = error;
    return result;
}

/* ---- Making one ------------------------------------------------------------------------------ */

/* A place in the list, or -1. It is taken with an address that no stream has. */
static int reserve(void)
{
    static char nobody;
    for (int i = 0; i < STREAMS; i++) {
        FILE *free_place = NULL;
        if (atomic_compare_exchange_strong(&streams[i], &free_place, (FILE *)&nobody))
            return i;
    }
    return -1;
}

/* As long as that of a plain stream: whoever looks at the offset behind a stream's back sees how
 * much it has read ahead. (On file systems that are shared it is large.) */
static size_t buffer_length(int fd)
{
    struct stat status;
    bool is_known = fstat(fd, &status) == 0 && status.st_blksize > 0;
    return is_known ? (size_t)status.st_blksize : BUFSIZ;
}

/* NULL: make a plain one. */
static FILE *stream_make(int fd)
{
    static const cookie_io_functions_t functions = {cookie_read, cookie_write, cookie_seek,
                                                    cookie_close};
    int index = reserve();
    size_t length = buffer_length(fd);
    struct cookie *cookie = index >= 0 ? malloc(sizeof(*cookie) + length) : NULL;
    FILE *stream = cookie ? fopencookie(cookie, "r+", functions) : NULL;
    if (!stream) {
        free(cookie);
        if (index >= 0)
            atomic_store(&streams[index], NULL);
        return NULL;
    }
    cookie->fd = fd;
    cookie->index = index;
    stream->_fileno = fd;
    stream->_flags |= NO_WRITES;
    setvbuf(stream, cookie->buffer, _IOFBF, length);
    atomic_store(&streams[index], stream);
    atomic_fetch_add(&stream_count, 1);
    return stream;
}

static bool only_reads(const char *mode)
{
    return mode && mode[0] == 'r' && !strpbrk(mode, "+,");
}

static FILE *stream_on(int fd, const char *mode)
{
    FILE *stream = table_is_reader(fd) ? stream_make(fd) : NULL;
    if (!stream)
        standin_realise_at(fd);
    return stream ? stream : real.fdopen(fd, mode);
}

static FILE *open_to_read(const char *path, const char *mode)
{
    int flags = O_RDONLY | (strchr(mode, 'e') ? O_CLOEXEC : 0);
    int fd = open_at(AT_FDCWD, path, flags, 0);
    if (fd < 0)
        return NULL;
    FILE *stream = stream_on(fd, mode);
    if (!stream) {
        int error = errno;
        descriptor_close(fd);
        errno = error;
    }
    return stream;
}

/* A plain stream was opened by this path. */
static FILE *noticed(FILE *stream, const char *path)
{
    if (!stream)
        return NULL;
    int error = errno, fd = fileno(stream);
    int flags = fd >= 0 ? real.fcntl(fd, F_GETFL) : -1;
    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
        open_noticed(fd, AT_FDCWD, path, flags);
    errno = error;
    return stream;
}

ENTRY FILE *fopen(const char *path, const char *mode)
{
    real_ensure();
    if (!atomic_load_explicit(&scope_is_on, memory_order_relaxed))
        return real.fopen(path, mode);
    if (only_reads(mode)) /* also where the path says no: a link may lead to the cache's files */
        return open_to_read(path, mode);
    return noticed(real.fopen(path, mode), path);
}

FILE *fopen64(const char *path, const char *mode)
    __attribute__((alias("fopen"), visibility("default")));

ENTRY FILE *fdopen(int fd, const char *mode)
{
    real_ensure();
    if (!only_reads(mode) || !table_is_reader(fd)) {
        standin_realise_at(fd);
        return real.fdopen(fd, mode);
    }
    if (strchr(mode, 'e'))
        real.fcntl(fd, F_SETFD, FD_CLOEXEC);
    return stream_on(fd, mode);
}

/* The C library closes a plain stream's descriptor by itself; ours comes back to cookie_close(). */
ENTRY int fclose(FILE *stream)
{
    real_ensure();
    struct description *taken = stream && !stream_is_ours(stream) ? table_take(fileno(stream))
                                                                  : NULL;
    int result = real.fclose(stream);
    table_taken(taken);
    return result;
}

/* ---- fread ----------------------------------------------------------------------------------- */

/* As stdio does for plain files, and not for streams like ours: what is longer than the buffer goes
 * straight to the reader, also after the end was seen. */
static size_t read_past_buffer(FILE *stream, char *data, size_t length)
{
    size_t room = (size_t)(stream->_IO_buf_end - stream->_IO_buf_base), done = 0;
    while (length - done >= room) {
        size_t ready = (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
        if (ready > 0 || stream->_IO_save_base) { /* the second: ungetc is in use */
            size_t got = real.fread(data + done, 1, ready > 0 ? ready : 1, stream);
            done += got;
            if (got == 0)
                return done;
            continue;
        }
        stream->_IO_read_base = stream->_IO_read_ptr = stream->_IO_read_end = stream->_IO_buf_base;
        stream->_IO_write_base = stream->_IO_write_ptr = stream->_IO_write_end =
            stream->_IO_buf_base;
        size_t whole = (length - done) - (length - done) % room;
        ssize_t got = read_here(stream->_fileno, data + done, whole);
        if (got <= 0) {
            stream->_flags |= got == 0 ? _IO_EOF_SEEN : _IO_ERR_SEEN;
            return done;
        }
        done += (size_t)got;
    }
    return length - done > 0 ? done + real.fread(data + done, 1, length - done, stream) : done;
}

ENTRY size_t fread(void *data, size_t size, size_t count, FILE *stream)
{
    size_t length;
    real_ensure();
    if (__builtin_mul_overflow(size, count, &length) ||
        length < (size_t)(stream->_IO_buf_end - stream->_IO_buf_base) || !stream_is_ours(stream) ||
        (stream->_flags & NO_READS))
        return real.fread(data, size, count, stream);
    flockfile(stream);
    size_t got = stream->_IO_buf_base ? read_past_buffer(stream, data, length)
                                      : real.fread(data, 1, length, stream);
    funlockfile(stream);
    return got == length ? count : got / size;
}

#undef fread_unlocked
size_t fread_unlocked(void *data, size_t size, size_t count, FILE *stream)
    __attribute__((alias("fread"), visibility("default")));

size_t __fread_chk(void *data, size_t room, size_t size, size_t count, FILE *stream);
size_t __fread_unlocked_chk(void *data, size_t room, size_t size, size_t count, FILE *stream)
    __attribute__((alias("__fread_chk"), visibility("default")));

ENTRY size_t __fread_chk(void *data, size_t room, size_t size, size_t count, FILE *stream)
{
    size_t length;
    if (!__builtin_mul_overflow(size, count, &length) && length <= room)
        return fread(data, size, count, stream);
    real_ensure();
    return real.fread_checked(data, room, size, count, stream); /* ends the program */
}

/* ---- freopen --------------------------------------------------------------------------------- */

/* What stdio's mode means to open, or -1. */
static int flags_of(const char *mode)
{
    int flags = mode[0] == 'r'   ? O_RDONLY
                : mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC
                : mode[0] == 'a' ? O_WRONLY | O_CREAT | O_APPEND
                                 : -1;
    if (flags < 0)
        return -1;
    if (strchr(mode, '+'))
        flags = (flags & ~O_ACCMODE) | O_RDWR;
    return flags | (strchr(mode, 'e') ? O_CLOEXEC : 0) | (strchr(mode, 'x') ? O_EXCL : 0);
}

/* Puts a newly opened file below the stream, under the number it had. */
static bool replace_below(FILE *stream, const char *path, int flags)
{
    int fd = fileno(stream);
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (!path)
        standin_realise_at(fd);
    int other = flags < 0 ? -1 : real.openat(AT_FDCWD, path ? path : link, flags, 0666);
    if (other < 0)
        return false;
    fflush(stream);
    clearerr(stream);
    struct description *taken = table_take(fd);
    if (other != fd) {
        real.dup3(other, fd, flags & O_CLOEXEC);
        real.close(other);
    }
    table_taken(taken);
    open_noticed(fd, AT_FDCWD, path ? path : link, flags);
    __fpurge(stream); /* what was read ahead is of the old file */
    return true;
}

/* One of ours cannot become a plain one: the C library would reach for wide characters that it has
 * not. So it stays what it is, and the file is replaced below it. */
static FILE *reopen_ours(const char *path, const char *mode, FILE *stream)
{
    int flags = flags_of(mode);
    if (!replace_below(stream, path, flags)) {
        int error = flags < 0 ? EINVAL : errno;
        fclose(stream);
        errno = error;
        return NULL;
    }
    stream->_flags &= ~(NO_READS | NO_WRITES);
    if ((flags & O_ACCMODE) == O_RDONLY)
        stream->_flags |= NO_WRITES;
    if ((flags & O_ACCMODE) == O_WRONLY)
        stream->_flags |= NO_READS;
    return stream;
}

ENTRY FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    real_ensure();
    if (stream_is_ours(stream))
        return reopen_ours(path, mode, stream);
    struct description *taken = table_take(stream ? fileno(stream) : -1);
    FILE *reopened = real.freopen(path, mode, stream);
    table_taken(taken);
    return noticed(reopened, path ? path : "/");
}

FILE *freopen64(const char *path, const char *mode, FILE *stream)
    __attribute__((alias("freopen"), visibility("default")));
