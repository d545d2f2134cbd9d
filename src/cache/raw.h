/* SPDX-License-Identifier: BSD-3-Clause
 *
 * System calls by number. The client's code may live in a library that puts its own pread, close or
 * mmap in front of the C library's: it must not call itself. Each returns -errno and leaves errno
 * alone.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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

/* What of a file's status tells whether it has changed; the rest is zero. Not the time of access:
 * to know that, a network file system asks its server after every read. */
static inline int raw_fstat_by(int fd, int flags, struct stat *status)
{
    struct statx found;
    int result = (int)RAW(SYS_statx, fd, "", (long)(AT_EMPTY_PATH | flags),
                          STATX_BASIC_STATS & ~STATX_ATIME, &found);
    if (result < 0)
        return result;
    *status = (struct stat){.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
                            .st_ino = found.stx_ino,
                            .st_mode = found.stx_mode,
                            .st_size = (off_t)found.stx_size,
                            .st_mtim = {found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec},
                            .st_ctim = {found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec}};
    return 0;
}

/* As this host knows it. */
static inline int raw_fstat(int fd, struct stat *status)
{
    return raw_fstat_by(fd, AT_STATX_SYNC_AS_STAT, status);
}

/* As the server knows it: somebody is known to have written lately. */
static inline int raw_fstat_now(int fd, struct stat *status)
{
    return raw_fstat_by(fd, AT_STATX_FORCE_SYNC, status);
}

/* The number of a namespace of this process, such as /proc/self/ns/pid; 0: not known. */
static inline uint64_t raw_namespace(const char *path)
{
    struct statx found;
    long result = RAW(SYS_statx, AT_FDCWD, path, (long)AT_STATX_SYNC_AS_STAT, STATX_INO, &found);
    return result < 0 ? 0 : found.stx_ino;
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
