/* SPDX-License-Identifier: BSD-3-Clause
 *
 * open, openat, creat and their twins. The kernel opens, and so decides about permissions; we look
 * at what it has opened.
 */
#include "cache/interposer/calls.h"

#include "cache/interposer/real.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void open_noticed(int fd, int folder, const char *path, int flags)
{
    table_forget(fd); /* if it was closed behind our back */
    if (!scope_may_cover(folder, path) && !scope_leads_here(fd, flags)) {
        /* Not if it may have come by a symbolic link. */
        if ((flags & O_DIRECTORY) && (flags & O_NOFOLLOW) && !strchr(path, '/'))
            scope_pass_on(fd, folder);
        return;
    }
    struct cache_client *client = scope_client();
    if (client)
        table_adopt(client, fd, flags);
}

static void look_at_inherited(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = real.readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
    int flags = real.fcntl(fd, F_GETFL);
    if (length <= 0 || flags < 0)
        return;
    path[length] = '\0';
    open_noticed(fd, AT_FDCWD, path, flags);
}

/* What a program has from the one before it. It may write to each of them. */
void open_inherited(void)
{
    char room[1024] __attribute__((aligned(8)));
    int error = errno;
    int folder = real.openat(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (ssize_t got; folder >= 0 && (got = getdents64(folder, room, sizeof(room))) > 0;) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(room + at);
            at += entry->d_reclen;
            if (entry->d_name[0] != '.')
                look_at_inherited((int)strtol(entry->d_name, NULL, 10));
        }
    }
    if (folder >= 0)
        real.close(folder);
    errno = error;
}

int open_at(int folder, const char *path, int flags, mode_t mode)
{
    int known;
    standin_realise_for(path);
    if (!atomic_load_explicit(&scope_declares_nothing, memory_order_relaxed) &&
        standin_open(folder, path, flags, &known))
        return known;
    int fd = real.openat(folder, path, flags, mode);
    if (fd >= 0)
        open_noticed(fd, folder, path, flags);
    return fd;
}

static bool needs_mode(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The mode, which is only there if the flags say so. */
#define MODE_AFTER(flags)                                                                          \
    ({                                                                                             \
        mode_t after = 0;                                                                          \
        if (needs_mode(flags)) {                                                                   \
            va_list list;                                                                          \
            va_start(list, flags);                                                                 \
            after = va_arg(list, mode_t);                                                          \
            va_end(list);                                                                          \
        }                                                                                          \
        after;                                                                                     \
    })

ENTRY int open(const char *path, int flags, ...)
{
    return open_at(AT_FDCWD, path, flags, MODE_AFTER(flags));
}

ENTRY int openat(int folder, const char *path, int flags, ...)
{
    return open_at(folder, path, flags, MODE_AFTER(flags));
}

ENTRY int creat(const char *path, mode_t mode)
{
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open"), visibility("default")));
int __open(const char *path, int flags, ...) __attribute__((alias("open"), visibility("default")));
int __open64(const char *path, int flags, ...)
    __attribute__((alias("open"), visibility("default")));
int openat64(int folder, const char *path, int flags, ...)
    __attribute__((alias("openat"), visibility("default")));
int creat64(const char *path, mode_t mode) __attribute__((alias("creat"), visibility("default")));

/* ---- The twins of programs compiled with _FORTIFY_SOURCE ------------------------------------ */

int __open_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __open64_2(const char *path, int flags)
    __attribute__((alias("__open_2"), visibility("default")));
int __openat64_2(int folder, const char *path, int flags)
    __attribute__((alias("__openat_2"), visibility("default")));

ENTRY int __open_2(const char *path, int flags)
{
    if (!needs_mode(flags))
        return open_at(AT_FDCWD, path, flags, 0);
    real_ensure();
    return real.open_checked(path, flags); /* ends the program */
}

ENTRY int __openat_2(int folder, const char *path, int flags)
{
    if (!needs_mode(flags))
        return open_at(folder, path, flags, 0);
    real_ensure();
    return real.openat_checked(folder, path, flags);
}
