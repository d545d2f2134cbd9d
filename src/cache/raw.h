/* SPDX-License-Identifier: BSD-3-Clause
 *
 * System calls by number. The client's code may live in a library that puts its own pread, close or
 * mmap in front of the C library's: it must not call itself. Each returns -errno and leaves errno
 * alone.
 */
#ifndef CACHE_RAW_H
#define CACHE_RAW_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define RAW(...)                                                                                   \
    ({                                                                                             \
        int errno_before = errno;                                                                  \
        long raw_result = syscall(__VA_ARGS__);                                                    \
        if (raw_result == -1)                                                                      \
            raw_result = -errno;                                                                   \
        errno = errno_before;                                                                      \
        raw_result;                                                                                \
    })

static inline ssize_t raw_pread(int fd, void *buffer, size_t length, off_t offset)
{
    return RAW(SYS_pread64, fd, buffer, length, offset);
}

static inline ssize_t raw_preadv(int fd, const struct iovec *parts, int part_count, off_t offset)
{
    return RAW(SYS_preadv, fd, parts, (long)part_count, (long)offset, 0L);
}

static inline int raw_fstat(int fd, struct stat *status)
{
    return (int)RAW(SYS_fstat, fd, status);
}

static inline ssize_t raw_readlink(const char *path, char *text, size_t room)
{
    return RAW(SYS_readlinkat, AT_FDCWD, path, text, room);
}

static inline void raw_close(int fd)
{
    (void)RAW(SYS_close, fd);
}

/* NULL if it cannot be mapped. */
static inline void *raw_map(size_t length, int protection, int flags, int fd)
{
    long result = RAW(SYS_mmap, NULL, length, (long)protection, (long)flags, (long)fd, 0L);
    return result < 0 && result > -4096 ? NULL : (void *)result; /* NOLINT */
}

static inline void raw_unmap(void *base, size_t length)
{
    (void)RAW(SYS_munmap, base, length);
}

/* Sleep while *word is value, at most timeout_ns. Also returns early, for no reason. */
static inline void raw_futex_wait(const void *word, uint32_t value, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
                               .tv_nsec = timeout_ns % 1000000000};
    (void)RAW(SYS_futex, word, (long)FUTEX_WAIT, (long)value, &timeout, NULL, 0L);
}

static inline void raw_futex_wake(const void *word, int count)
{
    (void)RAW(SYS_futex, word, (long)FUTEX_WAKE, (long)count, NULL, NULL, 0L);
}

#endif
