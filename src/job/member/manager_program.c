/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting the manager program, which serves an open job: a program of its own, so that it has
 * nothing of ours, neither memory nor descriptors nor threads.
 */
#include "base/descriptor.h"
#include "base/error.h"
#include "job/member/parts.h"
#include "job/open_job.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM   "rhinet-manager"
#define PATH_ROOM 4096

extern char **environ;

/* ---- Where it is ----------------------------------------------------------------------------- */

static const char is_anchor; /* has an address in this library */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* Seen from the folder of the library, or program, that this code is a part of: as built, as
 * installed with the library, and with a program that has the library inside. */
static bool find_beside(char path[PATH_ROOM])
{
    static const char *const places[] = {"", "/rhinet", "/../" RHINET_LIBDIR "/rhinet", "/..",
                                         "/../rhinet"}; /* the last two: a provider's */
    Dl_info info;
    const char *slash = dladdr(&is_anchor, &info) ? strrchr(info.dli_fname, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, PATH_ROOM, "%.*s%s/" PROGRAM, (int)(slash - info.dli_fname), info.dli_fname,
                 places[i]);
        if (is_program(path))
            return true;
    }
    return false;
}

static int find_program(const struct settings *settings, char path[PATH_ROOM])
{
    const char *said = setting_text(settings, SETTING_MANAGER_PROGRAM);
    if (said[0] && getauxval(AT_SECURE) == 0) {
        snprintf(path, PATH_ROOM, "%s", said);
        return is_program(path) ? 0
                                : error_fail(RH_EUNSUP,
                                             "RHINET_MANAGER_PATH is \"%s\", which cannot be "
                                             "run: %s",
                                             said, strerror(errno));
    }
    if (find_beside(path))
        return 0;
    return error_fail(RH_EUNSUP,
                      "an open job needs the program " PROGRAM
                      ", which is not where it belongs, in rhinet/ beside librhinet.so; install "
                      "it, or say by RHINET_MANAGER_PATH where it is");
}

/* ---- Starting -------------------------------------------------------------------------------- */

static int fill_actions(posix_spawn_file_actions_t *actions, const int fds[2])
{
    int result = 0;
    for (int fd = 0; fd < 3 && result == 0; fd++)
        result = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
    if (result == 0)
        result = posix_spawn_file_actions_adddup2(actions, fds[0], OPEN_JOB_LISTEN_FD);
    if (result == 0)
        result = posix_spawn_file_actions_adddup2(actions, fds[1], OPEN_JOB_REPORT_FD);
    if (result == 0)
        result = posix_spawn_file_actions_addclosefrom_np(actions, OPEN_JOB_REPORT_FD + 1);
    return result;
}

static void fill_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
}

/* Its process, or a negative errno value. fds: where the listening socket and the report are, both
 * out of the way of where they are to be. */
static int spawn(const char *path, char *const *arguments, const int fds[2])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int pid = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    fill_attributes(&attributes);
    int result = fill_actions(&actions, fds);
    if (result == 0)
        result = posix_spawn(&pid, path, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return result != 0 ? -result : pid;
}

static int spawn_with(const char *path, char *const *arguments, int listen_fd, int report_fd)
{
    int fds[2] = {fcntl(listen_fd, F_DUPFD_CLOEXEC, 16), fcntl(report_fd, F_DUPFD_CLOEXEC, 16)};
    int result = fds[0] < 0 || fds[1] < 0 ? -errno : spawn(path, arguments, fds);
    descriptor_close(&fds[0]);
    descriptor_close(&fds[1]);
    if (result >= 0)
        return result;
    return error_fail(RH_ENOSPACE,
                      "cannot start %s: %s; is a limit on processes or descriptors (ulimit -u, -n) "
                      "reached?",
                      path, strerror(-result));
}

/* The program forks once more, so that what serves is nobody's child: a program that waits for any
 * child must not meet it. The first one ends at once, or is of no use. */
static int await_report(const char *path, int pid, int report_fd)
{
    char report[MANAGER_REPORT_BYTES];
    int result = manager_report_read(report_fd, report);
    if (result < 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (result == 0 && report[0] != '+')
        result = error_fail(RH_EREFUSED, "%s: %s", path, report[0] ? report + 1 : "it has died");
    return result;
}

int manager_program_start(const struct settings *settings, const char *nic, int listen_fd)
{
    char path[PATH_ROOM], ranks[16];
    int fds[2];
    int result = find_program(settings, path);
    if (result < 0)
        return result;
    snprintf(ranks, sizeof(ranks), "%d", (int)setting_number(settings, SETTING_OPEN_RANKS));
    char word[] = OPEN_JOB_WORD;
    char *arguments[] = {path, word, (char *)(uintptr_t)nic, ranks, program_invocation_short_name,
                         NULL};
    if (pipe2(fds, O_CLOEXEC) != 0)
        return error_fail(RH_ENOSPACE, "cannot make a pipe: %s", strerror(errno));
    int pid = spawn_with(path, arguments, listen_fd, fds[1]);
    close(fds[1]);
    result = pid < 0 ? pid : await_report(path, pid, fds[0]);
    close(fds[0]);
    return result;
}
