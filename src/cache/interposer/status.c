/* SPDX-License-Identifier: BSD-3-Clause
 *
 * stat, access, readlink and their kin: for names in declared folders, and for stand-ins, the
 * answer is in the listing. All others ask the kernel.
 */
#include "cache/interposer/calls.h"
#include "cache/interposer/named.h"
#include "cache/interposer/real.h"
#include "cache/interposer/standin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int as_the_kernel(long result)
{
    if (result >= 0)
        return (int)result;
    errno = (int)-result;
    return -1;
}

static bool is_empty(const char *path, int flags)
{
    return (flags & AT_EMPTY_PATH) && (!path || path[0] == '\0');
}

/* ---- Finding out ----------------------------------------------------------------------------- */

/* What is known of it without the kernel. */
struct known {
    struct listing_status status;
    uint64_t device;
};

static bool find_open(int fd, struct known *known)
{
    struct description *description = standin_find(fd);
    if (!description)
        return false;
    known->status = description->status;
    known->device = description->file.device;
    table_unpin();
    return true;
}

/* 1: found; 0: ask the kernel; else a negative errno. */
static int find(int folder, const char *path, int flags, struct known *known)
{
    struct cache_name name;
    if (is_empty(path, flags) && folder >= 0)
        return find_open(folder, known);
    standin_realise_for(path);
    if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_DONT_SYNC)) ||
        !named_may_be(folder, path))
        return 0;
    int result = named_find(folder, path, !(flags & AT_SYMLINK_NOFOLLOW), &name);
    if (named_is_left(result))
        return 0;
    known->status = name.status;
    known->device = name.device;
    return result == 0 ? 1 : result;
}

/* ---- stat ------------------------------------------------------------------------------------ */

static void fill(struct stat *status, const struct known *known)
{
    const struct listing_status *from = &known->status;
    memset(status, 0, sizeof(*status));
    status->st_dev = known->device;
    status->st_ino = from->inode;
    status->st_mode = from->mode;
    status->st_nlink = from->links;
    status->st_uid = from->user;
    status->st_gid = from->group;
    status->st_rdev = from->special;
    status->st_size = (off_t)from->size;
    status->st_blksize = from->block_size;
    status->st_blocks = (blkcnt_t)from->blocks;
    status->st_atim = (struct timespec){from->read.seconds, from->read.nanoseconds};
    status->st_mtim = (struct timespec){from->written.seconds, from->written.nanoseconds};
    status->st_ctim = (struct timespec){from->changed.seconds, from->changed.nanoseconds};
}

static int status_at(int folder, const char *path, void *status, int flags)
{
    struct known known;
    int result = status ? find(folder, path, flags, &known) : 0;
    if (result == 0)
        return real.fstatat(folder, path, status, flags);
    if (result == 1)
        fill(status, &known);
    return as_the_kernel(result < 0 ? result : 0);
}

ENTRY int fstatat(int folder, const char *path, struct stat *status, int flags)
{
    return status_at(folder, path, status, flags);
}

ENTRY int stat(const char *path, struct stat *status)
{
    return status_at(AT_FDCWD, path, status, 0);
}

ENTRY int lstat(const char *path, struct stat *status)
{
    return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

ENTRY int fstat(int fd, struct stat *status)
{
    struct known known;
    if (!standin_any() || !status || !find_open(fd, &known))
        return real.fstat(fd, status);
    fill(status, &known);
    return 0;
}

ENTRY int fstatat64(int folder, const char *path, struct stat64 *status, int flags)
{
    return status_at(folder, path, status, flags);
}

ENTRY int stat64(const char *path, struct stat64 *status)
{
    return status_at(AT_FDCWD, path, status, 0);
}

ENTRY int lstat64(const char *path, struct stat64 *status)
{
    return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

ENTRY int fstat64(int fd, struct stat64 *status)
{
    return fstat(fd, (struct stat *)status);
}

/* ---- What programs linked with an older C library call --------------------------------------- */

int __xstat(int version, const char *path, struct stat *status);
int __lxstat(int version, const char *path, struct stat *status);
int __fxstat(int version, int fd, struct stat *status);
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);
int __xstat64(int version, const char *path, struct stat *status)
    __attribute__((alias("__xstat"), visibility("default")));
int __lxstat64(int version, const char *path, struct stat *status)
    __attribute__((alias("__lxstat"), visibility("default")));
int __fxstat64(int version, int fd, struct stat *status)
    __attribute__((alias("__fxstat"), visibility("default")));
int __fxstatat64(int version, int folder, const char *path, struct stat *status, int flags)
    __attribute__((alias("__fxstatat"), visibility("default")));

ENTRY int __xstat(int version, const char *path, struct stat *status)
{
    (void)version; /* on this machine there is one */
    return status_at(AT_FDCWD, path, status, 0);
}

ENTRY int __lxstat(int version, const char *path, struct stat *status)
{
    (void)version;
    return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

ENTRY int __fxstat(int version, int fd, struct stat *status)
{
    (void)version;
    return fstat(fd, status);
}

ENTRY int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags)
{
    (void)version;
    return status_at(folder, path, status, flags);
}

/* ---- statx ----------------------------------------------------------------------------------- */

static struct statx_timestamp stamp(int64_t seconds, int64_t nanoseconds)
{
    return (struct statx_timestamp){.tv_sec = seconds, .tv_nsec = (uint32_t)nanoseconds};
}

static void fill_statx(struct statx *status, const struct known *known)
{
    const struct listing_status *from = &known->status;
    *status = (struct statx){.stx_mask = from->mask,
                             .stx_blksize = from->block_size,
                             .stx_nlink = from->links,
                             .stx_uid = from->user,
                             .stx_gid = from->group,
                             .stx_mode = (uint16_t)from->mode,
                             .stx_ino = from->inode,
                             .stx_size = from->size,
                             .stx_blocks = from->blocks,
                             .stx_rdev_major = major(from->special),
                             .stx_rdev_minor = minor(from->special),
                             .stx_dev_major = major(known->device),
                             .stx_dev_minor = minor(known->device)};
    status->stx_atime = stamp(from->read.seconds, from->read.nanoseconds);
    status->stx_mtime = stamp(from->written.seconds, from->written.nanoseconds);
    status->stx_ctime = stamp(from->changed.seconds, from->changed.nanoseconds);
    if (from->mask & STATX_BTIME)
        status->stx_btime = stamp(from->born.seconds, from->born.nanoseconds);
}

ENTRY int statx(int folder, const char *path, int flags, unsigned mask, struct statx *status)
{
    struct known known;
    bool is_plain = status && !(mask & ~(STATX_BASIC_STATS | STATX_BTIME));
    if (!is_plain && is_empty(path, flags))
        standin_realise_at(folder);
    int result = is_plain ? find(folder, path, flags, &known) : 0;
    if (result == 0)
        return real.statx(folder, path, flags, mask, status);
    if (result == 1)
        fill_statx(status, &known);
    return as_the_kernel(result < 0 ? result : 0);
}

/* ---- access ---------------------------------------------------------------------------------- */

/* True: *result is the answer. What is not plainly permitted is the kernel's to say. */
static bool may_access(int folder, const char *path, int access, int flags, int *result)
{
    struct cache_name name;
    if ((access & ~(R_OK | X_OK)) || (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW)) ||
        !named_may_be(folder, path))
        return false;
    bool is_effective = (flags & AT_EACCESS) || getuid() == geteuid();
    int found = named_find(folder, path, !(flags & AT_SYMLINK_NOFOLLOW), &name);
    if (found == 0 && access != F_OK && (!is_effective || !named_permits(&name.status, access)))
        found = -EAGAIN;
    if (named_is_left(found))
        return false;
    *result = as_the_kernel(found);
    return true;
}

ENTRY int faccessat(int folder, const char *path, int access, int flags)
{
    int result;
    standin_realise_for(path);
    if (is_empty(path, flags))
        standin_realise_at(folder);
    if (may_access(folder, path, access, flags, &result))
        return result;
    real_ensure();
    return real.faccessat(folder, path, access, flags);
}

ENTRY int access(const char *path, int access)
{
    int result;
    standin_realise_for(path);
    if (may_access(AT_FDCWD, path, access, 0, &result))
        return result;
    return real.access(path, access);
}

ENTRY int euidaccess(const char *path, int access)
{
    return faccessat(AT_FDCWD, path, access, AT_EACCESS);
}

int eaccess(const char *path, int access)
    __attribute__((alias("euidaccess"), visibility("default")));

/* ---- readlink -------------------------------------------------------------------------------- */

ENTRY ssize_t readlinkat(int folder, const char *path, char *text, size_t room)
{
    struct cache_name name;
    standin_realise_for(path);
    int result = text && room > 0 && named_may_be(folder, path)
                     ? named_find(folder, path, false, &name)
                     : -EXDEV;
    if (named_is_left(result))
        return real.readlinkat(folder, path, text, room);
    if (result == 0 && !S_ISLNK(name.status.mode))
        result = -EINVAL;
    if (result < 0)
        return as_the_kernel(result);
    size_t length = strlen(name.target);
    length = length < room ? length : room;
    memcpy(text, name.target, length);
    return (ssize_t)length;
}

ENTRY ssize_t readlink(const char *path, char *text, size_t room)
{
    return readlinkat(AT_FDCWD, path, text, room);
}

/* ---- The twins of programs compiled with _FORTIFY_SOURCE ------------------------------------- */

ssize_t __readlink_chk(const char *path, char *text, size_t length, size_t room);
ssize_t __readlinkat_chk(int folder, const char *path, char *text, size_t length, size_t room);

ENTRY ssize_t __readlink_chk(const char *path, char *text, size_t length, size_t room)
{
    if (length <= room)
        return readlinkat(AT_FDCWD, path, text, length);
    real_ensure();
    return real.readlink_checked(path, text, length, room); /* ends the program */
}

ENTRY ssize_t __readlinkat_chk(int folder, const char *path, char *text, size_t length, size_t room)
{
    if (length <= room)
        return readlinkat(folder, path, text, length);
    real_ensure();
    return real.readlinkat_checked(folder, path, text, length, room);
}
