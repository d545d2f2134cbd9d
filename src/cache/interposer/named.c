/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See named.h.
 */
#include "cache/interposer/named.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

int named_find(int folder, const char *path, bool follows, struct cache_name *name)
{
    char text[PATH_MAX];
    struct cache_client *client = scope_client();
    /* Attaching has told whether there are such folders. */
    if (!client || atomic_load_explicit(&scope_declares_nothing, memory_order_relaxed) ||
        !scope_absolute(folder, path, text) || !cache_name_is_declared(client, text))
        return -EXDEV;
    return cache_name_find(client, text, follows, name);
}

static bool is_in_group(uint32_t group)
{
    enum { GROUPS_MAX = 256 };
    gid_t groups[GROUPS_MAX];
    int error = errno;
    if (getegid() == group)
        return true;
    int count = getgroups(GROUPS_MAX, groups);
    for (int i = 0; i < count; i++) {
        if (groups[i] == group)
            return true;
    }
    errno = error;
    return count < 0;
}

bool named_permits(const struct listing_status *status, int access)
{
    uint32_t wanted = (uint32_t)access & 7;
    if (geteuid() == status->user)
        return (status->mode >> 6 & wanted) == wanted;
    bool by_others = (status->mode & wanted) == wanted;
    bool by_group = (status->mode >> 3 & wanted) == wanted;
    return by_others && (by_group || !is_in_group(status->group));
}

bool named_is_left(int result)
{
    if (result == -EXDEV) /* most calls of most programs: nothing to count, nobody to ask */
        return true;
    struct cache_client *client = scope_client();
    bool is_left = result == -EAGAIN;
    if (client)
        cache_name_count(client, is_left ? CACHE_NAMES_PAST : CACHE_NAMES);
    return is_left;
}
