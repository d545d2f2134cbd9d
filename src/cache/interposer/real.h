/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that ours stand in front of: the C library's, or those of the next preloaded
 * library. Before they have been looked up (calls out of other constructors, or while looking up),
 * those that are a system call are that system call.
 */
#pragma once

#include <aio.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <wchar.h>

/* What a program calls instead of the C library's function of this name. */
#define ENTRY __attribute__((visibility("default")))

struct real {
    /* Each of these is good at any time. */
    int (*openat)(int folder, const char *path, int flags, ...);
    ssize_t (*read)(int fd, void *buffer, size_t length);
    ssize_t (*pread)(int fd, void *buffer, size_t length, off_t offset);
    ssize_t (*readv)(int fd, const struct iovec *parts, int part_count);
    ssize_t (*preadv)(int fd, const struct iovec *parts, int part_count, off_t offset);
    ssize_t (*preadv2)(int fd, const struct iovec *parts, int part_count, off_t offset, int flags);
    off_t (*lseek)(int fd, off_t offset, int whence);
    int (*close)(int fd);
    int (*close_range)(unsigned first, unsigned last, int flags);
    int (*dup)(int fd);
    int (*dup2)(int fd, int target);
    int (*dup3)(int fd, int target, int flags);
    int (*fcntl)(int fd, int command, ...);
    int (*flock)(int fd, int operation);
    void *(*mmap)(void *address, size_t length, int protection, int flags, int fd, off_t offset);
    ssize_t (*sendfile)(int out, int in, off_t *offset, size_t length);
    ssize_t (*copy_file_range)(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
                               unsigned flags);
    ssize_t (*splice)(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
                      unsigned flags);
    ssize_t (*readahead)(int fd, off_t offset, size_t length);
    int (*truncate)(const char *path, off_t length);
    int (*renameat2)(int folder, const char *path, int to_folder, const char *to, unsigned flags);
    int (*unlinkat)(int folder, const char *path, int flags);
    int (*chdir)(const char *path);
    int (*fchdir)(int fd);
    int (*execve)(const char *path, char *const *arguments, char *const *environment);
    int (*unshare)(int flags);
    int (*fstat)(int fd, void *status);
    int (*fstatat)(int folder, const char *path, void *status, int flags);
    int (*statx)(int folder, const char *path, int flags, unsigned mask, void *status);
    int (*access)(const char *path, int access);
    ssize_t (*readlinkat)(int folder, const char *path, char *text, size_t room);

    /* These only after real_ensure(). */
    long (*syscall)(long number, ...);
    FILE *(*fopen)(const char *path, const char *mode);
    FILE *(*fdopen)(int fd, const char *mode);
    size_t (*fread)(void *data, size_t size, size_t count, FILE *stream);
    size_t (*fread_checked)(void *data, size_t room, size_t size, size_t count, FILE *stream);
    int (*fclose)(FILE *stream);
    FILE *(*freopen)(const char *path, const char *mode, FILE *stream);
    int (*posix_fadvise)(int fd, off_t offset, off_t length, int advice);
    int (*aio_read)(struct aiocb *request);
    pid_t (*fork_only)(void); /* _Fork */
    int (*clone)(int (*run)(void *), void *stack, int flags, void *argument, ...);
    int (*execvpe)(const char *file, char *const *arguments, char *const *environment);
    int (*fexecve)(int fd, char *const *arguments, char *const *environment);
    void (*exit_now)(int status) __attribute__((noreturn)); /* _exit */
    void (*closefrom)(int first);
    int (*daemon)(int keep_folder, int keep_output);
    int (*remove)(const char *path);
    DIR *(*opendir)(const char *path);
    int (*closedir)(DIR *folder);
    int (*dirfd)(DIR *folder);
    struct dirent *(*readdir)(DIR *folder);
    int (*readdir_r)(DIR *folder, struct dirent *room, struct dirent **found);
    void (*seekdir)(DIR *folder, long place);
    long (*telldir)(DIR *folder);
    void (*rewinddir)(DIR *folder);
    int (*scandirat)(int at, const char *path, struct dirent ***list,
                     int (*wants)(const struct dirent *),
                     int (*compare)(const struct dirent **, const struct dirent **));
    int (*faccessat)(int folder, const char *path, int access, int flags);
    ssize_t (*readlink_checked)(const char *path, char *text, size_t length, size_t room);
    ssize_t (*readlinkat_checked)(int folder, const char *path, char *text, size_t length,
                                  size_t room);
    ssize_t (*read_checked)(int fd, void *buffer, size_t length, size_t room);
    ssize_t (*pread_checked)(int fd, void *buffer, size_t length, off_t offset, size_t room);
    int (*open_checked)(const char *path, int flags);
    int (*openat_checked)(int folder, const char *path, int flags);
    wint_t (*fgetwc)(FILE *stream);
    wint_t (*ungetwc)(wint_t character, FILE *stream);
    wchar_t *(*fgetws)(wchar_t *text, int room, FILE *stream);
    int (*fwide)(FILE *stream, int mode);
};

extern struct real real;

/* Looks everything up, once. */
void real_ensure(void);
