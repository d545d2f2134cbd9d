/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The guard: a small process that outlives a killed launcher just long enough to kill the job.
 *
 * If the launcher is killed, the kernel kills the ranks (PR_SET_PDEATHSIG), but not what they have
 * started, as in `rhinet run sh -c 'prog; true'`. The guard holds the other end of a pipe whose end
 * of file means that the launcher is gone, and then kills the ranks' process groups. It keeps
 * nothing else of the launcher open, so that nobody waits for it.
 */
#include "base/descriptor.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_COUNT_MAX 16 /* somebody who kills guards on purpose is not fought for ever */

static void close_all_but(int keep_fd)
{
    if (keep_fd > 0)
        close_range(0, (unsigned)keep_fd - 1, 0);
    close_range((unsigned)keep_fd + 1, ~0U, 0);
}

static void become_guard(int fd)
{
    static const char name[] = "rhinet-guard";
    prctl(PR_SET_NAME, name);
    setsid(); /* Ctrl-C is not for us */
    close_all_but(fd);
    (void)!chdir("/"); /* keep no file system busy */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void guard(int fd, int *groups, int group_max)
{
    int group_count = 0;
    int group;
    ssize_t length;
    while ((length = read(fd, &group, sizeof(group))) != 0) {
        if (length < 0 && errno != EINTR)
            break;
        if (length == sizeof(group) && group > 1 && group_count < group_max)
            groups[group_count++] = group;
    }
    for (int i = 0; i < group_count; i++)
        kill(-groups[i], SIGKILL);
}

void launch_guard_start(struct launch_guard *guard_process, int group_max)
{
    guard_process->pid = 0;
    guard_process->fd = -1;
    if (guard_process->start_count++ >= START_COUNT_MAX)
        return;
    int fds[2];
    int *groups = calloc((size_t)group_max, sizeof(groups[0]));
    if (!groups || pipe2(fds, O_CLOEXEC) != 0) {
        free(groups);
        return;
    }
    int pid = fork();
    if (pid == 0) {
        become_guard(fds[0]);
        guard(fds[0], groups, group_max);
        _exit(0);
    }
    free(groups);
    close(fds[0]);
    if (pid < 0) {
        close(fds[1]);
        return;
    }
    guard_process->pid = pid;
    guard_process->fd = fds[1];
}

void launch_guard_add(struct launch_guard *guard_process, int group)
{
    if (guard_process->fd >= 0)
        (void)!write(guard_process->fd, &group, sizeof(group)); /* if it died we start another */
}

static void forget(struct launch_guard *guard_process)
{
    descriptor_close(&guard_process->fd);
    guard_process->pid = 0;
}

bool launch_guard_died(struct launch_guard *guard_process)
{
    if (guard_process->pid == 0 || waitpid(guard_process->pid, NULL, WNOHANG) <= 0)
        return false;
    forget(guard_process);
    return true;
}

void launch_guard_stop(struct launch_guard *guard_process)
{
    int pid = guard_process->pid;
    if (pid == 0)
        return;
    kill(pid, SIGKILL);
    forget(guard_process); /* if the signal did not reach it, the end of file does */
    waitpid(pid, NULL, 0);
}
