/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One process, from clone to exec.
 *
 * The child borrows our memory until it executes the program (as vfork and posix_spawn do): nothing
 * is copied, which is what makes 64 starts fast, and it can leave its error where we read it. Until
 * then it may make system calls and nothing else. posix_spawn itself cannot set the signal that a
 * child gets when its parent dies, nor limits, nor cores.
 */
#include "job/launch/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE (256 * 1024)

struct birth {
    const struct launch_plan *plan;
    const struct launch_child *child;
    int error; /* of the child, in memory that we share with it */
};

static int set_stdio(const struct launch_child *child)
{
    for (int fd = 0; fd < 3; fd++) {
        if (child->stdio[fd] >= 0 && dup2(child->stdio[fd], fd) < 0)
            return -errno;
    }
    /* The only descriptors of ours that outlive the exec, besides those above. */
    if (child->server_fd > 0 && fcntl(child->server_fd, F_SETFD, 0) != 0)
        return -errno;
    return child->manager_fd < 0 || fcntl(child->manager_fd, F_SETFD, 0) == 0 ? 0 : -errno;
}

static int be_born(void *argument)
{
    struct birth *birth = argument;
    const struct launch_plan *plan = birth->plan;
    const struct launch_child *child = birth->child;
    int pid = getpid();
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != plan->launcher_pid)
        return LAUNCH_STATUS_FAILED; /* it died before the line above took effect */
    /* Announced by ourselves and before we can have children, so that the guard misses none. */
    if (child->guard_fd >= 0)
        (void)!write(child->guard_fd, &pid, sizeof(pid));
    birth->error = set_stdio(child);
    if (birth->error)
        return LAUNCH_STATUS_FAILED;
    if (child->core >= 0)
        launch_core_bind(child->core);
    setrlimit(RLIMIT_NOFILE, &plan->descriptors);
    sigaction(SIGPIPE, &plan->signals->pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &plan->signals->mask_before, NULL);
    /* The bare call: in a coverage build the compiler puts __gcov_execve in place of execve, which
     * takes a lock of the coverage runtime, in our memory. A child that is killed while it has that
     * lock leaves it locked for us, and the next one waits for it for ever, and we for that one. */
    syscall(SYS_execve, plan->path, plan->argv, plan->environment);
    birth->error = -errno;
    return LAUNCH_STATUS_NOT_FOUND;
}

int launch_spawn(const struct launch_plan *plan, const struct launch_child *child, int *pid,
                 bool *is_exec_error)
{
    struct birth birth = {.plan = plan, .child = child};
    char setting[48], server[64];
    if (plan->path_error) {
        *is_exec_error = true;
        return plan->path_error;
    }
    snprintf(setting, sizeof(setting), "RHINET_MANAGER_FD=%d", child->manager_fd);
    if (child->manager_fd >= 0)
        plan->environment[0] = setting;
    snprintf(server, sizeof(server), "%s=%d", child->server_variable, child->server_fd);
    if (child->server_fd > 0)
        plan->environment[plan->environment_end] = server;
    *is_exec_error = false;
    char *stack = malloc(STACK_SIZE);
    if (!stack)
        return -ENOMEM;
    int result = clone(be_born, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
    if (result < 0) {
        result = -errno;
    } else if (birth.error) {
        waitpid(result, NULL, 0);
        *is_exec_error = true;
        result = birth.error;
    } else {
        *pid = result;
        result = 0;
    }
    if (child->manager_fd >= 0)
        plan->environment[0] = NULL;
    if (child->server_fd > 0)
        plan->environment[plan->environment_end] = NULL;
    free(stack);
    return result;
}
