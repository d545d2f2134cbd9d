/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One process: which file its program's name means, looked up once for all ranks and before any is
 * started, so that a mistyped name starts nothing; then from clone to exec.
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
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE (256 * 1024)
#define PATH_USUAL "/usr/local/bin:/usr/bin:/bin" /* as a shell without PATH */

/* ---- Which file a program's name means ------------------------------------------------------ */

static int check_executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    return eaccess(path, X_OK) == 0 ? 0 : -errno;
}

static int copy_path(char *path, size_t path_size, const char *folder, int folder_length,
                     const char *program)
{
    const char *slash = folder_length > 0 ? "/" : "";
    int length = snprintf(path, path_size, "%.*s%s%s", folder_length, folder, slash, program);
    return length < 0 || (size_t)length >= path_size ? -ENAMETOOLONG : 0;
}

int launch_path_find(const char *program, char *path, size_t path_size)
{
    if (program[0] == '\0')
        return -ENOENT;
    if (strchr(program, '/')) {
        int result = copy_path(path, path_size, "", 0, program);
        return result ? result : check_executable(path);
    }
    const char *folders = getenv("PATH");
    if (!folders)
        folders = PATH_USUAL;
    int refused = -ENOENT; /* what to say if a file was there but none could be executed */
    for (;;) {
        int length = (int)strcspn(folders, ":");
        int result = copy_path(path, path_size, folders, length, program);
        if (result == 0)
            result = check_executable(path);
        if (result == 0)
            return 0;
        if (result == -EACCES && access(path, F_OK) == 0) /* not merely a closed folder */
            refused = result;
        if (folders[length] == '\0')
            return refused;
        folders += length + 1;
    }
}

int launch_path_refuse(const char *who, const char *program, int error)
{
    const char *reason = strerror(-error);
    if (error == -ENOENT && !strchr(program, '/'))
        reason = "no such program in PATH; write ./NAME for one in this folder";
    else if (error == -ENOENT && access(program, F_OK) == 0)
        reason = "the interpreter or loader that it names does not exist";
    else if (error == -EACCES)
        reason = "it is not executable for this user (see chmod +x)";
    else if (error == -ENOEXEC)
        reason = "it is no program for this machine, and has no #! line";
    fprintf(stderr, "%s: cannot execute \"%s\": %s\n", who, program, reason);
    return error == -ENOENT || error == -ENOTDIR ? LAUNCH_STATUS_NOT_FOUND
                                                 : LAUNCH_STATUS_NOT_EXECUTABLE;
}

/* ---- From clone to exec --------------------------------------------------------------------- */

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
