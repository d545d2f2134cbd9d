/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See place.h.
 *
 * The user's folder is likely to be in /tmp, where others can put something of that name first. So
 * it is opened without following links, and must be our own and closed to others.
 */
#include "cache/agent/place.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/settings.h"
#include "cache/cache_layer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL           "/tmp/rhinet-cache-%u/default"
#define SOCKET_NAME     "agent"
#define TRIES           100
#define LOCK_TRIES      200
#define LOCK_PAUSE_NS   (5 * NS_PER_MS)
#define FOLDER_TEXT_MAX (256 + PLACE_NAME_MAX)

/* ---- Names ---------------------------------------------------------------------------------- */

static bool is_good_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > PLACE_NAME_MAX || name[0] == '.' || name[0] == '-')
        return false;
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
            return false;
    }
    return true;
}

/* With the user's number for %u; %h stays. */
static bool write_user(const char *setting, char *text, size_t room)
{
    size_t used = 0;
    for (; *setting; setting++) {
        bool is_user = setting[0] == '%' && setting[1] == 'u';
        int length = is_user ? snprintf(text + used, room - used, "%u", geteuid())
                             : snprintf(text + used, room - used, "%c", *setting);
        used += (size_t)length;
        if (used >= room)
            return false;
        setting += is_user;
    }
    return true;
}

static bool append(char *text, const char *before, const char *after)
{
    return snprintf(text, CACHE_NAME_MAX, "%s/%s", before, after) < CACHE_NAME_MAX;
}

/* What the setting says, or with another name. */
static int write_folder(const struct settings *settings, const char *name, char *text)
{
    const char *setting = setting_text(settings, SETTING_CACHE_SERVICE);
    if (strcmp(setting, "auto") == 0)
        setting = USUAL;
    const char *slash = strrchr(setting, '/');
    if (setting[0] != '/' || slash == setting)
        return error_fail(RH_EINVALID, "%s=%s: expected an absolute path, FOLDER/NAME",
                          setting_spec(SETTING_CACHE_SERVICE)->name, setting);
    if (!name)
        name = slash + 1;
    if (!is_good_name(name))
        return error_fail(RH_EINVALID,
                          "\"%s\" is no name for a cache: up to %d letters, digits, and . _ - "
                          "inside",
                          name, PLACE_NAME_MAX);
    snprintf(text, FOLDER_TEXT_MAX, "%.*s/%s", (int)(slash - setting), setting, name);
    return 0;
}

int place_find(struct place *place, const struct settings *settings, const char *name)
{
    char text[FOLDER_TEXT_MAX], folder[CACHE_NAME_MAX];
    *place = (struct place){.lock_fd = -1};
    int result = write_folder(settings, name, text);
    if (result < 0)
        return result;
    if (!write_user(text, folder, sizeof(folder)) ||
        !append(place->variable, folder, SOCKET_NAME) ||
        !cache_name_expand(folder, place->folder, sizeof(place->folder)) ||
        !append(place->socket, place->folder, SOCKET_NAME))
        return error_fail(RH_EINVALID,
                          "%s: the path of a socket has %d characters at most, and %s/" SOCKET_NAME
                          " has more; choose a shorter one",
                          setting_spec(SETTING_CACHE_SERVICE)->name, CACHE_NAME_MAX - 1, text);
    const char *slash = strrchr(place->folder, '/');
    memcpy(place->name, slash + 1, strlen(slash + 1) + 1);
    memcpy(place->top, place->folder, (size_t)(slash - place->folder));
    return 0;
}

/* ---- Folders -------------------------------------------------------------------------------- */

/* Open a folder that must be our own. The descriptor; RH_EREFUSED; or -ENOENT, which says nothing:
 * it is not there. */
static int open_own(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0 || fstat(fd, &status) < 0) {
        int result = error_fail(RH_EREFUSED, "the cache's folder %s cannot be used: %s", path,
                                strerror(errno));
        descriptor_close(&fd);
        return result;
    }
    if (status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return fd;
    close(fd);
    if (status.st_uid != geteuid())
        return error_fail(RH_EREFUSED,
                          "the cache's folder %s belongs to user %u, not to you; remove it, or "
                          "set RHINET_CACHE_SERVICE to another, on all hosts",
                          path, status.st_uid);
    return error_fail(RH_EREFUSED, "the cache's folder %s is open to others; chmod 700 %s", path,
                      path);
}

/* The same, made if it is not there. */
static int make_own(const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_fail(RH_EREFUSED, "the cache's folder %s cannot be made: %s", path,
                          strerror(errno));
    return open_own(path);
}

static bool is_still_there(const char *path, int fd)
{
    struct stat there, held;
    return lstat(path, &there) == 0 && fstat(fd, &held) == 0 && there.st_ino == held.st_ino &&
           there.st_dev == held.st_dev;
}

/* Whoever looks at the place, or cleans it, has the lock for a moment. 0, or an errno. */
static int lock_patiently(int fd)
{
    struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return errno;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return EWOULDBLOCK;
}

int place_take(struct place *place)
{
    for (int i = 0; i < TRIES; i++) { /* a service that just ends removes what we have made */
        int top = make_own(place->top);
        if (top == -ENOENT)
            continue;
        if (top < 0)
            return top;
        close(top);
        int fd = make_own(place->folder);
        if (fd == -ENOENT || (fd < 0 && access(place->top, F_OK) != 0))
            continue;
        if (fd < 0)
            return fd;
        int error = lock_patiently(fd);
        if (error && error != EWOULDBLOCK) {
            close(fd);
            return error_fail(RH_EREFUSED, "the cache's folder %s cannot be locked: %s",
                              place->folder, strerror(error));
        }
        if (error) {
            close(fd);
            return error_fail(RH_EREFUSED,
                              "a cache with the name %s runs here already; `rhinet cache stop "
                              "--name %s` ends it, --name gives another name",
                              place->name, place->name);
        }
        if (is_still_there(place->folder, fd)) {
            place->lock_fd = fd;
            return 0;
        }
        close(fd);
    }
    return error_fail(RH_EREFUSED, "the cache's folder %s vanishes as soon as it is made",
                      place->folder);
}

/* The folder's descriptor with the lock, -EWOULDBLOCK, or as open_own(). */
static int try_lock(const struct place *place, int kind)
{
    int fd = open_own(place->top);
    if (fd < 0)
        return fd;
    close(fd);
    fd = open_own(place->folder);
    if (fd >= 0 && flock(fd, kind | LOCK_NB) != 0) {
        close(fd);
        return -EWOULDBLOCK;
    }
    return fd;
}

int place_is_served(const struct place *place)
{
    int fd = try_lock(place, LOCK_SH); /* those who look do not hinder each other */
    if (fd >= 0)
        close(fd);
    return fd == -EWOULDBLOCK ? 1 : fd == -ENOENT || fd >= 0 ? 0 : fd;
}

static void remove_all(const struct place *place)
{
    unlink(place->socket);
    rmdir(place->folder);
    rmdir(place->top); /* unless there are others */
}

void place_clean(const struct place *place)
{
    int fd = try_lock(place, LOCK_EX);
    if (fd < 0)
        return;
    remove_all(place);
    close(fd);
}

void place_leave(struct place *place)
{
    if (place->lock_fd < 0)
        return;
    remove_all(place);
    descriptor_close(&place->lock_fd);
}
