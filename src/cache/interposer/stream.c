/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fopen, fdopen, freopen: stdio calls the kernel from inside the C library, where nobody can stand
 * in between, so a file of the cache gets a stream whose read function is ours (fopencookie). The
 * stream has the real descriptor number in it, for fileno.
 */
#include "cache/interposer/stream.h"

#include "cache/interposer/descriptor.h"
#include "cache/interposer/open.h"
#include "cache/interposer/read.h"
#include "cache/interposer/real.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STREAMS = 1024 };

struct cookie {
    int fd;
    int index;
    char buffer[STREAM_BUFFER];
};

/* Our streams, to know them again. A program with more of them gets plain ones. */
static _Atomic(FILE *) streams[STREAMS];

bool stream_is_ours(FILE *stream)
{
    for (int i = 0; i < STREAMS; i++) {
        if (atomic_load_explicit(&streams[i], memory_order_relaxed) == stream)
            return stream != NULL;
    }
    return false;
}

/* ---- The stream's functions ------------------------------------------------------------------ */

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

/* NULL: make a plain one. */
static FILE *stream_make(int fd)
{
    static const cookie_io_functions_t functions = {cookie_read, NULL, cookie_seek, cookie_close};
    int index = reserve();
    struct cookie *cookie = index >= 0 ? malloc(sizeof(*cookie)) : NULL;
    FILE *stream = cookie ? fopencookie(cookie, "r", functions) : NULL;
    if (!stream) {
        free(cookie);
        if (index >= 0)
            atomic_store(&streams[index], NULL);
        return NULL;
    }
    cookie->fd = fd;
    cookie->index = index;
    stream->_fileno = fd;
    setvbuf(stream, cookie->buffer, _IOFBF, sizeof(cookie->buffer));
    atomic_store(&streams[index], stream);
    return stream;
}

static bool only_reads(const char *mode)
{
    return mode && mode[0] == 'r' && !strpbrk(mode, "+,");
}

static bool is_reader(int fd)
{
    bool is = table_has(fd) && table_reader(fd);
    if (is)
        table_unpin();
    return is;
}

static FILE *stream_on(int fd, const char *mode)
{
    FILE *stream = is_reader(fd) ? stream_make(fd) : NULL;
    return stream ? stream : real.fdopen(fd, mode);
}

static FILE *open_to_read(const char *path, const char *mode)
{
    int flags = O_RDONLY | (strchr(mode, 'e') ? O_CLOEXEC : 0);
    int fd = real.openat(AT_FDCWD, path, flags);
    if (fd < 0)
        return NULL;
    open_noticed(fd, AT_FDCWD, path, flags);
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
    if (!scope_may_cover(AT_FDCWD, path))
        return real.fopen(path, mode);
    if (only_reads(mode))
        return open_to_read(path, mode);
    return noticed(real.fopen(path, mode), path);
}

FILE *fopen64(const char *path, const char *mode)
    __attribute__((alias("fopen"), visibility("default")));

ENTRY FILE *fdopen(int fd, const char *mode)
{
    real_ensure();
    if (!only_reads(mode) || !is_reader(fd))
        return real.fdopen(fd, mode);
    if (strchr(mode, 'e'))
        real.fcntl(fd, F_SETFD, FD_CLOEXEC);
    return stream_on(fd, mode);
}

/* ---- freopen --------------------------------------------------------------------------------- */

/* One of ours cannot become a plain one: the C library would reach for wide characters that it has
 * not. So it stays what it is, and what it reads is replaced below it; a mode that writes is
 * refused, as stdio may for a change of mode. */
static FILE *reopen_ours(const char *path, const char *mode, FILE *stream)
{
    int fd = fileno(stream);
    if (!only_reads(mode)) {
        fclose(stream);
        errno = EBADF;
        return NULL;
    }
    if (!path) {
        rewind(stream);
        return stream;
    }
    int flags = O_RDONLY | (strchr(mode, 'e') ? O_CLOEXEC : 0);
    int other = real.openat(AT_FDCWD, path, flags);
    if (other < 0) {
        int error = errno;
        fclose(stream);
        errno = error;
        return NULL;
    }
    fflush(stream);
    clearerr(stream);
    table_forget(fd);
    real.dup3(other, fd, flags & O_CLOEXEC);
    real.close(other);
    open_noticed(fd, AT_FDCWD, path, flags);
    fseeko(stream, 0, SEEK_SET);
    return stream;
}

ENTRY FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    real_ensure();
    if (stream_is_ours(stream))
        return reopen_ours(path, mode, stream);
    int fd = stream ? fileno(stream) : -1;
    table_forget(fd);
    return noticed(real.freopen(path, mode, stream), path ? path : "/");
}

FILE *freopen64(const char *path, const char *mode, FILE *stream)
    __attribute__((alias("freopen"), visibility("default")));
