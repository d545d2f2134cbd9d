/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See unmount.h. The process is this program under another name, so that it shares no memory, no
 * thread, no terminal and no standard descriptor with the server.
 */
#include "cache/mount/unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME "rhinet-cache-unmount"
#define DONE (-2) /* in place of a mount's number */

/* The number of the mount that is seen at a place; -1: none. Asks no server: that may be dead. */
static int mount_number(const char *place)
{
    char name[64], line[256];
    int number = -1, fd = open(place, O_PATH | O_CLOEXEC);
    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    FILE *file = fd < 0 ? NULL : fopen(name, "re");
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "mnt_id: %d", &number) != 1)
        continue;
    if (file)
        fclose(file);
    if (fd >= 0)
        close(fd);
    return number;
}

/* ---- The server's side ----------------------------------------------------------------------- */

/* The environment without LD_PRELOAD: it reads no files that are cached. NULL: no memory. */
static char **plain_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **plain = calloc(count + 1, sizeof(*plain));
    for (size_t i = 0; plain && i < count; i++) {
        if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
            plain[kept++] = environ[i];
    }
    return plain;
}

static int spawn(char *const *words)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    char **environment = plain_environment();
    if (!environment)
        return ENOMEM;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int result = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return result;
}

int unmount_prepare(const char *place, int *teller)
{
    char path[PATH_MAX], numbers[2][16], name[] = NAME;
    char *words[] = {name, numbers[0], numbers[1], path, NULL};
    int tell[2];
    if (!realpath(place, path))
        return errno;
    int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (process < 0)
        return errno;
    if (pipe2(tell, O_CLOEXEC | O_NONBLOCK) < 0) {
        int error = errno;
        close(process);
        return error;
    }
    /* These two are handed on. */
    int result = fcntl(process, F_SETFD, 0) < 0 || fcntl(tell[0], F_SETFD, 0) < 0 ? errno : 0;
    snprintf(numbers[0], sizeof(numbers[0]), "%d", process);
    snprintf(numbers[1], sizeof(numbers[1]), "%d", tell[0]);
    if (result == 0)
        result = spawn(words);
    close(process);
    close(tell[0]);
    *teller = tell[1];
    if (result != 0)
        close(tell[1]);
    return result;
}

static void tell(int teller, int number)
{
    (void)!write(teller, &number, sizeof(number)); /* there is room for two of them */
}

void unmount_tell_mounted(int teller, const char *place)
{
    tell(teller, mount_number(place));
}

void unmount_tell_done(int teller)
{
    tell(teller, DONE);
}

/* ---- The process ----------------------------------------------------------------------------- */

/* Whether a server of this kind made the mount: its line ends "- fuse... SOURCE options". */
static bool is_ours(int wanted)
{
    int number;
    char *line = NULL, source[32];
    size_t room = 0;
    bool is_so = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && !is_so && getline(&line, &room, file) >= 0) {
        const char *kind = strstr(line, " - fuse");
        if (sscanf(line, "%d", &number) == 1 && number == wanted && kind &&
            sscanf(kind, " - %*s %31s", source) == 1)
            is_so = strcmp(source, MOUNT_SOURCE) == 0;
    }
    free(line);
    if (file)
        fclose(file);
    return is_so;
}

static int unmount(char *place)
{
    char program[] = "fusermount3", options[] = "-uqz", end[] = "--";
    char *words[] = {program, options, end, place, NULL};
    if (umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        return 0;
    execvp(program, words); /* who is not root is helped */
    return 1;
}

/* What the server has told, in its last words. -1: nothing. */
static int told(int listener)
{
    int number = -1;
    while (read(listener, &number, sizeof(number)) == sizeof(number))
        continue;
    return number;
}

/* The server's mount, where it stands: by its number, or if the server did not live to tell it, by
 * who made it. */
static int unmount_what_is_left(int number, char *place)
{
    int seen = number == DONE ? -1 : mount_number(place);
    if (seen < 0 || (number >= 0 && seen != number) || !is_ours(seen))
        return 0;
    return unmount(place);
}

bool unmount_is_meant(int argc, char **argv, int *status)
{
    int listener;
    if (argc != 4 || strcmp(argv[0], NAME) != 0)
        return false;
    struct pollfd process = {.fd = -1, .events = POLLIN};
    *status = 2;
    if (sscanf(argv[1], "%d", &process.fd) != 1 || sscanf(argv[2], "%d", &listener) != 1)
        return true;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++)
        signal(signals[i], SIG_IGN); /* it ends after the server, not before */
    while (poll(&process, 1, -1) < 0 && errno == EINTR)
        continue;
    *status = unmount_what_is_left(told(listener), argv[3]);
    return true;
}
