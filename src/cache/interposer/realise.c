/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that want the kernel's descriptor of a file: a stand-in is made real before they are passed
 * on. In programs that have none, each costs one look.
 */
#include "cache/interposer/next.h"
#include "cache/interposer/real.h"
#include "cache/interposer/standin.h"

#include <errno.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

/* A function whose first argument is the descriptor. */
#define REAL_FIRST(type, name, parameters, fd, ...)                                                \
    ENTRY type name parameters                                                                     \
    {                                                                                              \
        standin_realise_at(fd);                                                                    \
        return NEXT(name)(fd, ##__VA_ARGS__);                                                      \
    }

REAL_FIRST(int, fsync, (int fd), fd)
REAL_FIRST(int, fdatasync, (int fd), fd)
REAL_FIRST(int, syncfs, (int fd), fd)
REAL_FIRST(int, fchmod, (int fd, mode_t mode), fd, mode)
REAL_FIRST(int, fchown, (int fd, uid_t user, gid_t group), fd, user, group)
REAL_FIRST(int, futimens, (int fd, const struct timespec times[2]), fd, times)
REAL_FIRST(int, futimes, (int fd, const struct timeval times[2]), fd, times)
REAL_FIRST(int, ftruncate, (int fd, off_t length), fd, length)
REAL_FIRST(int, ftruncate64, (int fd, off64_t length), fd, length)
REAL_FIRST(int, lockf, (int fd, int command, off_t length), fd, command, length)
REAL_FIRST(int, lockf64, (int fd, int command, off64_t length), fd, command, length)
REAL_FIRST(int, fstatfs, (int fd, struct statfs *status), fd, status)
REAL_FIRST(int, fstatfs64, (int fd, struct statfs64 *status), fd, status)
REAL_FIRST(int, fstatvfs, (int fd, struct statvfs *status), fd, status)
REAL_FIRST(int, fstatvfs64, (int fd, struct statvfs64 *status), fd, status)
REAL_FIRST(long, fpathconf, (int fd, int name), fd, name)
REAL_FIRST(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t room), fd, name,
           value, room)
REAL_FIRST(ssize_t, flistxattr, (int fd, char *list, size_t room), fd, list, room)
REAL_FIRST(int, fsetxattr, (int fd, const char *name, const void *value, size_t length, int flags),
           fd, name, value, length, flags)
REAL_FIRST(int, fremovexattr, (int fd, const char *name), fd, name)

/* ---- Terminals: a file is none --------------------------------------------------------------- */

static bool is_file(int fd)
{
    struct description *description = standin_find(fd);
    if (!description)
        return false;
    table_unpin();
    errno = ENOTTY;
    return true;
}

ENTRY int isatty(int fd)
{
    return is_file(fd) ? 0 : NEXT(isatty)(fd);
}

ENTRY int tcgetattr(int fd, struct termios *terminal)
{
    return is_file(fd) ? -1 : NEXT(tcgetattr)(fd, terminal);
}

ENTRY int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (request == TCGETS && is_file(fd))
        return -1;
    standin_realise_at(fd);
    if (request == FICLONE)
        standin_realise_at((int)(intptr_t)argument);
    else if (request == FICLONERANGE && argument)
        standin_realise_at((int)((const struct file_clone_range *)argument)->src_fd);
    return NEXT(ioctl)(fd, request, argument);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void realise_polled(const struct pollfd *fds, nfds_t count)
{
    for (nfds_t i = 0; standin_any() && fds && i < count; i++)
        standin_realise_at(fds[i].fd);
}

ENTRY int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    realise_polled(fds, count);
    return NEXT(poll)(fds, count, timeout_ms);
}

ENTRY int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask)
{
    realise_polled(fds, count);
    return NEXT(ppoll)(fds, count, timeout, mask);
}

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t room);

ENTRY int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room)
{
    realise_polled(fds, count);
    return NEXT(__poll_chk)(fds, count, timeout_ms, room);
}

ENTRY int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                      const sigset_t *mask, size_t room)
{
    realise_polled(fds, count);
    return NEXT(__ppoll_chk)(fds, count, timeout, mask, room);
}

static void realise_selected(int count, const fd_set *a, const fd_set *b, const fd_set *c)
{
    for (int fd = 0; standin_any() && fd < count && fd < FD_SETSIZE; fd++) {
        if ((a && FD_ISSET(fd, a)) || (b && FD_ISSET(fd, b)) || (c && FD_ISSET(fd, c)))
            standin_realise_at(fd);
    }
}

ENTRY int select(int count, fd_set *readers, fd_set *writers, fd_set *others,
                 struct timeval *timeout)
{
    realise_selected(count, readers, writers, others);
    return NEXT(select)(count, readers, writers, others, timeout);
}

ENTRY int pselect(int count, fd_set *readers, fd_set *writers, fd_set *others,
                  const struct timespec *timeout, const sigset_t *mask)
{
    realise_selected(count, readers, writers, others);
    return NEXT(pselect)(count, readers, writers, others, timeout, mask);
}

ENTRY int epoll_ctl(int poll, int operation, int fd, struct epoll_event *event)
{
    standin_realise_at(fd);
    return NEXT(epoll_ctl)(poll, operation, fd, event);
}

/* ---- Passing descriptors on ------------------------------------------------------------------ */

static void realise_sent(const struct msghdr *message)
{
    if (!standin_any() || !message || !message->msg_control)
        return;
    struct msghdr *header = (struct msghdr *)message; /* the macros do not know const */
    for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS ||
            item->cmsg_len < CMSG_LEN(0))
            continue;
        const int *fds = (const int *)CMSG_DATA(item);
        size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++)
            standin_realise_at(fds[i]);
    }
}

ENTRY ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    realise_sent(message);
    return NEXT(sendmsg)(socket, message, flags);
}

ENTRY int sendmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags)
{
    for (unsigned i = 0; standin_any() && messages && i < count; i++)
        realise_sent(&messages[i].msg_hdr);
    return NEXT(sendmmsg)(socket, messages, count, flags);
}

/* ---- New programs, whose beginning happens inside the C library ------------------------------ */

ENTRY int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const *arguments,
                      char *const *environment)
{
    standin_realise_all(false);
    return NEXT(posix_spawn)(pid, path, actions, attributes, arguments, environment);
}

ENTRY int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const *arguments,
                       char *const *environment)
{
    standin_realise_all(false);
    return NEXT(posix_spawnp)(pid, file, actions, attributes, arguments, environment);
}

/* The C library's system(), whose name nobody else should call. */
ENTRY int run_command(const char *command) __asm__("system");

ENTRY int run_command(const char *command)
{
    standin_realise_all(true);
    int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "system");
    return next(command);
}

ENTRY FILE *popen(const char *command, const char *mode)
{
    standin_realise_all(true);
    return NEXT(popen)(command, mode);
}
