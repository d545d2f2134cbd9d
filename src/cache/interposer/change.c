/* SPDX-License-Identifier: BSD-3-Clause
 *
 * truncate, rename, unlink: changes of a file by its name. Whoever has it open, on whichever node,
 * looks again at what it is. (Changes by a descriptor are told when that is opened for writing.)
 */
#include "cache/interposer/real.h"
#include "cache/interposer/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The file by this name before the change, if the cache may have it. */
struct before {
    struct cache_client *client; /* NULL: not ours */
    struct stat status;
};

static struct before look(int folder, const char *path, int flags)
{
    struct before before = {NULL, {0}};
    if (scope_status(folder, path, flags, &before.status))
        before.client = scope_client();
    return before;
}

static void tell(const struct before *before)
{
    int error = errno;
    if (before->client)
        cache_changed(before->client, &before->status);
    errno = error;
}

ENTRY int truncate(const char *path, off_t length)
{
    struct before before = look(AT_FDCWD, path, 0);
    if (before.client)
        cache_write_begin(before.client, &before.status);
    int result = real.truncate(path, length);
    int error = errno;
    if (before.client)
        cache_write_end(before.client, &before.status);
    errno = error;
    return result;
}

int truncate64(const char *path, off_t length)
    __attribute__((alias("truncate"), visibility("default")));

static int rename_at(int folder, const char *path, int to_folder, const char *to, unsigned flags)
{
    struct before moved = look(folder, path, AT_SYMLINK_NOFOLLOW);
    struct before replaced = look(to_folder, to, AT_SYMLINK_NOFOLLOW);
    int result = real.renameat2(folder, path, to_folder, to, flags);
    if (result == 0) {
        tell(&moved);
        tell(&replaced);
    }
    return result;
}

ENTRY int rename(const char *path, const char *to)
{
    return rename_at(AT_FDCWD, path, AT_FDCWD, to, 0);
}

ENTRY int renameat(int folder, const char *path, int to_folder, const char *to)
{
    return rename_at(folder, path, to_folder, to, 0);
}

ENTRY int renameat2(int folder, const char *path, int to_folder, const char *to, unsigned flags)
{
    return rename_at(folder, path, to_folder, to, flags);
}

ENTRY int unlinkat(int folder, const char *path, int flags)
{
    struct before before = look(folder, path, AT_SYMLINK_NOFOLLOW);
    int result = real.unlinkat(folder, path, flags);
    if (result == 0)
        tell(&before);
    return result;
}

ENTRY int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

ENTRY int remove(const char *path)
{
    struct before before = look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
    real_ensure();
    int result = real.remove(path);
    if (result == 0)
        tell(&before);
    return result;
}
