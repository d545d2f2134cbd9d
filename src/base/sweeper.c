/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sweeper.h.
 */
#include "base/sweeper.h"

#include "base/clock.h"
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOKS_MAX 1000
#define PAUSE_NS  (5 * NS_PER_MS)

/* We have the reading end only, so that it ends when the other process is gone. */
static _Noreturn void sweep(int fd, sweeper_clean *clean, const void *context)
{
    char byte;
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    prctl(PR_SET_NAME, SWEEPER_NAME);
    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
    dup2(fd, STDIN_FILENO);
    close_range(1, ~0U, 0);
    (void)!chdir("/");
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < LOOKS_MAX && !clean(context); i++)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    _exit(0);
}

bool sweeper_start(struct sweeper *sweeper, sweeper_clean *clean, const void *context)
{
    int fds[2];
    *sweeper = SWEEPER_NONE;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    int pid = fork();
    if (pid == 0) {
        close(fds[1]);
        sweep(fds[0], clean, context);
    }
    close(fds[0]);
    if (pid < 0) {
        close(fds[1]);
        return false;
    }
    *sweeper = (struct sweeper){.pid = pid, .fd = fds[1]};
    return true;
}

void sweeper_end(struct sweeper *sweeper)
{
    descriptor_close(&sweeper->fd);
    while (sweeper->pid > 0 && waitpid(sweeper->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    sweeper->pid = 0;
}
