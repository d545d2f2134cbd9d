/* SPDX-License-Identifier: BSD-3-Clause
 *
 * posix_fadvise, readahead: for a file of the cache they go to the cache, not to the kernel, which
 * would load the file a second time. And aio_read.
 */
#include "cache/interposer/calls.h"
#include "cache/interposer/real.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

ENTRY int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
    if (advice == POSIX_FADV_WILLNEED)
        standin_realise_at(fd);
    struct description *description = advice >= POSIX_FADV_NORMAL && advice <= POSIX_FADV_NOREUSE &&
                                              length >= 0
                                          ? table_reader(fd)
                                          : NULL;
    if (!description) {
        real_ensure();
        return real.posix_fadvise(fd, offset, length, advice);
    }
    cache_file_advise(&description->file, fd, offset, length, advice);
    table_unpin();
    return 0;
}

int posix_fadvise64(int fd, off_t offset, off_t length, int advice)
    __attribute__((alias("posix_fadvise"), visibility("default")));

ENTRY ssize_t readahead(int fd, off_t offset, size_t length)
{
    standin_realise_at(fd);
    struct description *description = offset >= 0 ? table_reader(fd) : NULL;
    if (!description)
        return real.readahead(fd, offset, length);
    cache_file_advise(&description->file, fd, offset, (off_t)length, POSIX_FADV_WILLNEED);
    table_unpin();
    return 0;
}

/* Done at once, which the interface allows; a request that wants to be told of the end is left to
 * the C library, whose threads read from the kernel. */
ENTRY int aio_read(struct aiocb *request)
{
    if (!table_has(request->aio_fildes) || request->aio_sigevent.sigev_notify != SIGEV_NONE) {
        standin_realise_at(request->aio_fildes);
        real_ensure();
        return real.aio_read(request);
    }
    int error = errno;
    ssize_t result = read_there(request->aio_fildes, (void *)request->aio_buf, request->aio_nbytes,
                                request->aio_offset);
    request->__return_value = result;
    request->__error_code = result < 0 ? errno : 0;
    errno = error;
    return 0;
}

int aio_read64(struct aiocb64 *request) __attribute__((alias("aio_read"), visibility("default")));
