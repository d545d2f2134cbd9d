/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls after which a path is another file, or its permissions another's (roots, namespaces,
 * users); and calls that change a file by a name that may be a descriptor's (/proc/self/fd/5,
 * AT_EMPTY_PATH). Before each of them stand-ins are made real.
 */
#include "cache/interposer/next.h"
#include "cache/interposer/real.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/standin.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

/* ---- Another sight --------------------------------------------------------------------------- */

#define OTHER_SIGHT(type, name, parameters, ...)                                                   \
    ENTRY type name parameters                                                                     \
    {                                                                                              \
        scope_declares_no_more();                                                                  \
        return NEXT(name)(__VA_ARGS__);                                                            \
    }

OTHER_SIGHT(int, chroot, (const char *path), path)
OTHER_SIGHT(int, setns, (int fd, int kind), fd, kind)
OTHER_SIGHT(int, setuid, (uid_t user), user)
OTHER_SIGHT(int, setgid, (gid_t group), group)
OTHER_SIGHT(int, seteuid, (uid_t user), user)
OTHER_SIGHT(int, setegid, (gid_t group), group)
OTHER_SIGHT(int, setreuid, (uid_t user, uid_t effective), user, effective)
OTHER_SIGHT(int, setregid, (gid_t group, gid_t effective), group, effective)
OTHER_SIGHT(int, setresuid, (uid_t user, uid_t effective, uid_t saved), user, effective, saved)
OTHER_SIGHT(int, setresgid, (gid_t group, gid_t effective, gid_t saved), group, effective, saved)
OTHER_SIGHT(int, setfsuid, (uid_t user), user)
OTHER_SIGHT(int, setfsgid, (gid_t group), group)
OTHER_SIGHT(int, setgroups, (size_t count, const gid_t *groups), count, groups)
OTHER_SIGHT(int, initgroups, (const char *user, gid_t group), user, group)

/* ---- Names that may be a descriptor's -------------------------------------------------------- */

#define BY_NAME(type, name, parameters, path, ...)                                                 \
    ENTRY type name parameters                                                                     \
    {                                                                                              \
        standin_realise_for(path);                                                                 \
        return NEXT(name)(path, ##__VA_ARGS__);                                                    \
    }

BY_NAME(int, chmod, (const char *path, mode_t mode), path, mode)
BY_NAME(int, chown, (const char *path, uid_t user, gid_t group), path, user, group)
BY_NAME(int, utime, (const char *path, const struct utimbuf *times), path, times)
BY_NAME(int, utimes, (const char *path, const struct timeval times[2]), path, times)
BY_NAME(int, statfs, (const char *path, struct statfs *status), path, status)
BY_NAME(int, statfs64, (const char *path, struct statfs64 *status), path, status)
BY_NAME(int, statvfs, (const char *path, struct statvfs *status), path, status)
BY_NAME(int, statvfs64, (const char *path, struct statvfs64 *status), path, status)
BY_NAME(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t room), path,
        name, value, room)
BY_NAME(ssize_t, listxattr, (const char *path, char *list, size_t room), path, list, room)
BY_NAME(int, setxattr,
        (const char *path, const char *name, const void *value, size_t length, int flags), path,
        name, value, length, flags)
BY_NAME(int, removexattr, (const char *path, const char *name), path, name)

/* A path seen from a descriptor, which may be the file itself. */
static void realise_at(int fd, const char *path)
{
    if (path && path[0])
        standin_realise_for(path);
    else
        standin_realise_at(fd);
}

ENTRY int fchmodat(int folder, const char *path, mode_t mode, int flags)
{
    realise_at(folder, path);
    return NEXT(fchmodat)(folder, path, mode, flags);
}

ENTRY int fchownat(int folder, const char *path, uid_t user, gid_t group, int flags)
{
    realise_at(folder, path);
    return NEXT(fchownat)(folder, path, user, group, flags);
}

ENTRY int utimensat(int folder, const char *path, const struct timespec times[2], int flags)
{
    realise_at(folder, path);
    return NEXT(utimensat)(folder, path, times, flags);
}

ENTRY int futimesat(int folder, const char *path, const struct timeval times[2])
{
    realise_at(folder, path);
    return NEXT(futimesat)(folder, path, times);
}

ENTRY int linkat(int folder, const char *path, int to_folder, const char *to, int flags)
{
    realise_at(folder, path);
    return NEXT(linkat)(folder, path, to_folder, to, flags);
}

ENTRY int name_to_handle_at(int folder, const char *path, struct file_handle *handle, int *mount,
                            int flags)
{
    realise_at(folder, path);
    return NEXT(name_to_handle_at)(folder, path, handle, mount, flags);
}
