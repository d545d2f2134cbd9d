/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See scope.h.
 */
#include "cache/interposer/scope.h"

#include "cache/interposer/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The folders, with colons between; `rhinet cache run` sets it. Without it the agent is asked. */
#define PATH_VARIABLE "RHINET_CACHE_PATH"

enum attached { ATTACHED_NOT_YET, ATTACHED_BUSY, ATTACHED_YES, ATTACHED_NEVER };

_Atomic bool scope_is_on;

static struct {
    _Atomic int attached;
    _Atomic int folder; /* the current one; enum table_folder */
    _Atomic(struct cache_client *) client;
    char paths[PATH_MAX];  /* as the variable has it */
    char socket[PATH_MAX]; /* programs change their environment */
} scope;

static void copy_variable(char *text, const char *name)
{
    const char *value = getenv(name);
    if (value && strlen(value) < PATH_MAX)
        memcpy(text, value, strlen(value) + 1);
}

void scope_begin(void)
{
    if (getauxval(AT_SECURE))
        return;
    copy_variable(scope.socket, CACHE_SOCKET_VARIABLE);
    copy_variable(scope.paths, PATH_VARIABLE);
    atomic_store(&scope_is_on, scope.socket[0] != '\0');
}

static void attach(void)
{
    int expected = ATTACHED_NOT_YET, error = errno;
    if (!atomic_compare_exchange_strong(&scope.attached, &expected, ATTACHED_BUSY))
        return; /* another thread does it, and this file is not cached */
    struct cache_client *client = NULL;
    bool is_good = cache_client_attach(&client, scope.socket) == 0;
    atomic_store(&scope.client, client);
    atomic_store(&scope.attached, is_good ? ATTACHED_YES : ATTACHED_NEVER);
    if (!is_good)
        atomic_store(&scope_is_on, false);
    errno = error;
}

struct cache_client *scope_client(void)
{
    if (!atomic_load_explicit(&scope_is_on, memory_order_relaxed))
        return NULL;
    if (atomic_load_explicit(&scope.attached, memory_order_acquire) == ATTACHED_NOT_YET)
        attach();
    return atomic_load_explicit(&scope.client, memory_order_acquire);
}

static bool is_below(const char *path, const char *folder, size_t length)
{
    while (length > 1 && folder[length - 1] == '/')
        length--;
    return length > 0 && strncmp(path, folder, length) == 0 &&
           (path[length] == '/' || path[length] == '\0' || length == 1);
}

static bool covers(const char *path)
{
    if (scope.paths[0] == '\0') {
        struct cache_client *client = scope_client();
        return client && cache_client_covers(client, path);
    }
    for (const char *folder = scope.paths; *folder;) {
        size_t length = strcspn(folder, ":");
        if (is_below(path, folder, length))
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* Whether a cached path is the folder, above it or below it. Where it cannot be told: yes. */
static enum table_folder judge(const char *path)
{
    if (path[0] != '/' || scope.paths[0] == '\0' || covers(path))
        return TABLE_FOLDER_NEAR;
    size_t length = strlen(path);
    for (const char *folder = scope.paths; *folder;) {
        if (is_below(folder, path, length))
            return TABLE_FOLDER_NEAR;
        folder += strcspn(folder, ":");
        folder += *folder == ':';
    }
    return TABLE_FOLDER_FAR;
}

static bool is_current_far(void)
{
    int folder = atomic_load_explicit(&scope.folder, memory_order_relaxed);
    if (folder == TABLE_FOLDER_UNKNOWN) {
        char path[PATH_MAX];
        int error = errno;
        folder = getcwd(path, sizeof(path)) ? judge(path) : TABLE_FOLDER_NEAR;
        atomic_store_explicit(&scope.folder, folder, memory_order_relaxed);
        errno = error;
    }
    return folder == TABLE_FOLDER_FAR;
}

void scope_moved(void)
{
    atomic_store_explicit(&scope.folder, TABLE_FOLDER_UNKNOWN, memory_order_relaxed);
}

static enum table_folder look_at_folder(int fd)
{
    char link[64], path[PATH_MAX];
    int error = errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    errno = error;
    if (length <= 0)
        return TABLE_FOLDER_UNKNOWN;
    path[length] = '\0';
    return judge(path);
}

/* Found out once for each folder, and kept until its number is closed or becomes another file's. */
static bool is_far(int fd)
{
    if ((unsigned)fd >= TABLE_SIZE || table_is_vfork_child)
        return false;
    uint8_t folder = atomic_load_explicit(&table_folders[fd], memory_order_relaxed);
    if (folder == TABLE_FOLDER_UNKNOWN) {
        folder = look_at_folder(fd);
        table_folder_note(fd, folder);
    }
    return folder == TABLE_FOLDER_FAR;
}

void scope_pass_on(int fd, int folder)
{
    if ((unsigned)fd < TABLE_SIZE && !table_is_vfork_child &&
        (folder == AT_FDCWD ? is_current_far() : is_far(folder)))
        table_folder_note(fd, TABLE_FOLDER_FAR);
}

bool scope_may_cover(int folder, const char *path)
{
    if (!atomic_load_explicit(&scope_is_on, memory_order_relaxed) || !path)
        return false;
    if (path[0] == '/')
        return covers(path) || strstr(path, "..");
    if (strstr(path, ".."))
        return true;
    return folder == AT_FDCWD ? !is_current_far() : !is_far(folder);
}

bool scope_leads_here(int fd, int flags)
{
    struct stat status;
    if (!atomic_load_explicit(&scope_is_on, memory_order_relaxed) ||
        (flags & (O_PATH | O_DIRECTORY)))
        return false;
    int error = errno;
    bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    errno = error;
    return is_file && cache_client_has(scope_client(), fd, &status);
}

/* A name that is not covered may be a link to a file that is. */
static bool is_led_here(int folder, const char *path, struct stat *status)
{
    int error = errno;
    bool is_there = atomic_load_explicit(&scope_is_on, memory_order_relaxed) && path &&
                    fstatat(folder, path, status, 0) == 0 && S_ISREG(status->st_mode);
    errno = error;
    return is_there && cache_client_has(scope_client(), -1, status);
}

bool scope_status(int folder, const char *path, int flags, struct stat *status)
{
    if (!scope_may_cover(folder, path))
        return !(flags & AT_SYMLINK_NOFOLLOW) && is_led_here(folder, path, status);
    int error = errno;
    bool is_there = fstatat(folder, path, status, flags) == 0 && S_ISREG(status->st_mode);
    errno = error;
    return is_there;
}
