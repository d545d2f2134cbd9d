/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See scope.h.
 */
#include "cache/interposer/scope.h"

#include "base/clock.h"
#include "base/likely.h"
#include "cache/client/named.h"
#include "cache/interposer/real.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* The folders, with colons between; `rhinet cache run` sets it. Without it the agent is asked. */
#define PATH_VARIABLE "RHINET_CACHE_PATH"
/* Those that are declared unchanging; set by `run`, `exec` and `env`. Which, the agent is asked;
 * without it there are none, and no stat is a reason to attach. */
#define DECLARED_VARIABLE "RHINET_CACHE_IMMUTABLE"
#define ATTACH_NAP_NS     (2 * NS_PER_MS)
#define ATTACH_NAPS       2500

enum attached { ATTACHED_NOT_YET, ATTACHED_BUSY, ATTACHED_YES, ATTACHED_NEVER };

_Atomic bool scope_is_on;
_Atomic bool scope_declares_nothing = true; /* until the environment has been read */

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
    const char *declared = getenv(DECLARED_VARIABLE);
    atomic_store(&scope_declares_nothing, scope.socket[0] == '\0' || !declared || !declared[0]);
    atomic_store(&scope_is_on, scope.socket[0] != '\0');
}

void scope_declares_no_more(void)
{
    if (table_is_vfork_child) /* its memory is the parent's, which sees what it saw */
        return;
    atomic_store(&scope_declares_nothing, true);
    standin_end();
}

/* This thread is the one: what it opens meanwhile, or a signal's handler in it, does not wait for
 * itself. */
static __thread bool is_attaching;

static void attach(void)
{
    int expected = ATTACHED_NOT_YET, error = errno;
    if (!atomic_compare_exchange_strong(&scope.attached, &expected, ATTACHED_BUSY))
        return;
    struct cache_client *client = NULL;
    is_attaching = true;
    bool is_good = cache_client_attach(&client, scope.socket) == 0;
    if (!is_good || !cache_client_declares(client))
        atomic_store(&scope_declares_nothing, true);
    atomic_store(&scope.client, client);
    atomic_store(&scope.attached, is_good ? ATTACHED_YES : ATTACHED_NEVER);
    if (!is_good)
        atomic_store(&scope_is_on, false);
    is_attaching = false;
    errno = error;
}

/* Another thread is attaching. Who writes must not miss that there is an agent to be told; so all
 * wait, not for ever. */
static void await_attached(void)
{
    struct timespec nap = {.tv_nsec = ATTACH_NAP_NS};
    for (int i = 0; i < ATTACH_NAPS; i++) {
        if (atomic_load_explicit(&scope.attached, memory_order_acquire) != ATTACHED_BUSY)
            return;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    }
}

void scope_forked(void)
{
    int expected = ATTACHED_BUSY; /* the thread that did it is not in the child */
    atomic_compare_exchange_strong(&scope.attached, &expected, ATTACHED_NOT_YET);
    is_attaching = false;
}

struct cache_client *scope_client(void)
{
    if (!atomic_load_explicit(&scope_is_on, memory_order_relaxed))
        return NULL;
    if (atomic_load_explicit(&scope.attached, memory_order_acquire) == ATTACHED_NOT_YET)
        attach();
    if (unlikely(atomic_load_explicit(&scope.attached, memory_order_acquire) == ATTACHED_BUSY) &&
        !is_attaching)
        await_attached();
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
    ssize_t length = real.readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
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

bool scope_absolute(int folder, const char *path, char *text)
{
    size_t length = strlen(path), used = 0;
    if (path[0] != '/') {
        char link[64];
        int error = errno;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
        ssize_t got = folder != AT_FDCWD ? real.readlinkat(AT_FDCWD, link, text, PATH_MAX - 1)
                      : getcwd(text, PATH_MAX - 1) ? (ssize_t)strlen(text)
                                                   : -1; /* this thread's */
        errno = error;
        if (got <= 0 || text[0] != '/')
            return false;
        used = (size_t)got;
        text[used++] = '/';
    }
    if (used + length + 1 > PATH_MAX)
        return false;
    memcpy(text + used, path, length + 1);
    return true;
}

/* Only its device, its type and how many names it has, which opening it has just brought: no server
 * is asked. */
static bool find_kind(int fd, struct stat *status)
{
    struct statx found;
    int error = errno;
    int result = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_NLINK,
                       &found);
    errno = error;
    if (result != 0)
        return false;
    *status = (struct stat){.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
                            .st_mode = found.stx_mode,
                            .st_nlink = found.stx_nlink};
    return true;
}

bool scope_leads_here(int fd, int flags)
{
    struct stat status;
    if (!atomic_load_explicit(&scope_is_on, memory_order_relaxed) ||
        (flags & (O_PATH | O_DIRECTORY)))
        return false;
    if (!find_kind(fd, &status) || !S_ISREG(status.st_mode))
        return false;
    /* Where it is says nothing about where its other names are; a writer that is told of for
     * nothing does no harm. */
    bool may_write = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
    bool has_more_names = may_write && status.st_nlink > 1;
    return cache_client_has(scope_client(), has_more_names ? -1 : fd, &status);
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
