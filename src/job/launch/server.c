/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server of a NIC that has one (struct launch_server): a child of the launcher that holds one
 * end of a socket to each rank. It ends when all ranks have; if the launcher dies it dies with it.
 */
#include "base/clock.h"
#include "base/error.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_NS (5 * NS_PER_S) /* to finish when the ranks are gone */

bool launch_server_is_wanted(const struct launch_options *options)
{
    return options->server && options->nic && strstr(options->nic, options->server->nic);
}

/* The child's life. It must not keep the ranks' ends open, or it would never see them end. */
static _Noreturn void serve(struct launcher *launcher, void *state, const int *ends)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher->plan.launcher_pid)
        _exit(LAUNCH_STATUS_FAILED);
    sigprocmask(SIG_SETMASK, &launcher->signals.mask_before, NULL);
    for (int i = 0; i < launcher->options->size; i++)
        close(launcher->server.ends[i]);
    _exit(launcher->options->server->serve(state, ends) < 0 ? LAUNCH_STATUS_FAILED : 0);
}

static int pairs_make(int *ours, int *theirs, int count)
{
    for (int i = 0; i < count; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
            int error = -errno;
            while (i-- > 0)
                close(ours[i]); /* theirs are closed by launch_server_stop(), in any case */
            return error;
        }
        ours[i] = pair[0];
        theirs[i] = pair[1];
    }
    return 0;
}

int launch_server_start(struct launcher *launcher)
{
    struct launch_child_server *server = &launcher->server;
    int size = launcher->options->size;
    void *state = NULL;
    if (!launch_server_is_wanted(launcher->options))
        return 0;
    if (launcher->options->server->prepare(&state, launcher->options) < 0) {
        launch_say(launcher, "%s", rh_error_text());
        return -EINVAL;
    }
    int *ends = calloc((size_t)size, sizeof(int));
    server->ends = calloc((size_t)size, sizeof(int));
    int result = ends && server->ends ? pairs_make(ends, server->ends, size) : -ENOMEM;
    if (result == 0) {
        int pid = fork();
        if (pid == 0)
            serve(launcher, state, ends);
        server->pid = pid;
        result = pid < 0 ? -errno : 0;
        for (int i = 0; i < size; i++)
            close(ends[i]);
    }
    free(ends);
    launcher->options->server->release(state);
    if (result < 0)
        launch_say(launcher, "cannot start the server of NIC %s: %s%s",
                   launcher->options->server->nic, strerror(-result), launch_advice(result));
    return result;
}

void launch_server_given(struct launcher *launcher, int rank)
{
    if (launcher->server.ends[rank] > 0)
        close(launcher->server.ends[rank]);
    launcher->server.ends[rank] = 0;
}

void launch_server_stop(struct launcher *launcher)
{
    struct launch_child_server *server = &launcher->server;
    int64_t deadline_ns = clock_deadline_ns(END_NS);
    for (int i = 0; server->ends && i < launcher->options->size; i++)
        launch_server_given(launcher, i);
    free(server->ends);
    server->ends = NULL;
    if (server->pid <= 0)
        return;
    int end = 0;
    while (waitpid(server->pid, &end, WNOHANG) == 0) {
        if (clock_now_ns() >= deadline_ns)
            kill(server->pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    server->pid = 0;
    if (WIFEXITED(end) && WEXITSTATUS(end) != 0 && launcher->status == 0)
        launcher->status = LAUNCH_STATUS_FAILED; /* it has said why */
}
