/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals as a descriptor: the event loop reads them in turn with everything else, so no code ever
 * runs inside a signal handler.
 */
#include "base/descriptor.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Those that end the job, and SIGTSTP (Ctrl-Z). One that was ignored when we were started stays so:
 * that is how nohup and background jobs of a shell ask for it. */
static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int launch_signals_open(struct launch_signals *signals)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
        if (!is_ignored(watched[i]))
            sigaddset(&set, watched[i]);
    }
    /* An ignored SIGCHLD would have the kernel reap the ranks behind our back. */
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &usual, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, &signals->pipe_before);
    if (sigprocmask(SIG_BLOCK, &set, &signals->mask_before) != 0)
        return -errno;
    signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? -errno : 0;
}

void launch_signals_close(struct launch_signals *signals)
{
    descriptor_close(&signals->fd);
    sigaction(SIGPIPE, &signals->pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

int launch_signals_next(struct launch_signals *signals, int *pid)
{
    struct signalfd_siginfo info;
    if (read(signals->fd, &info, sizeof(info)) != sizeof(info))
        return 0;
    *pid = (int)info.ssi_pid;
    return (int)info.ssi_signo;
}
