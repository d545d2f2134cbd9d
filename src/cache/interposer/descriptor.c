/* SPDX-License-Identifier: BSD-3-Clause
 *
 * close, dup, fcntl and lseek with their kin: what becomes of descriptor numbers and offsets.
 */
#include "cache/interposer/calls.h"

#include "cache/interposer/real.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"
#include "cache/interposer/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Closing --------------------------------------------------------------------------------- */

int descriptor_close(int fd)
{
    struct description *taken = table_take(fd);
    int result = real.close(fd);
    table_taken(taken);
    table_forget(fd); /* a dup2 of another thread may have come between */
    return result;
}

ENTRY int close(int fd)
{
    return descriptor_close(fd);
}

/* One by one, so that each writer's end is told when it is closed. The rest is the caller's. */
static void close_known(unsigned first, unsigned last)
{
    unsigned end = table_is_vfork_child ? 0 : table_end();
    for (unsigned fd = first; fd < end && fd <= last; fd++) {
        if (table_has((int)fd))
            descriptor_close((int)fd);
        else
            table_forget((int)fd);
    }
}

ENTRY int close_range(unsigned first, unsigned last, int flags)
{
    if (flags & CLOSE_RANGE_UNSHARE)
        table_abandon(); /* this thread's descriptors are not the process's any more */
    else if (!(flags & CLOSE_RANGE_CLOEXEC) && first <= last)
        close_known(first, last);
    return real.close_range(first, last, flags);
}

ENTRY void closefrom(int first)
{
    real_ensure();
    close_known(first > 0 ? (unsigned)first : 0, ~0u);
    real.closefrom(first);
}

/* ---- Duplicating ----------------------------------------------------------------------------- */

ENTRY int dup(int fd)
{
    int copy = real.dup(fd);
    if (copy >= 0) {
        table_forget(copy);
        table_duplicate(fd, copy);
    }
    return copy;
}

/* target is about to become another number for fd; not if fd is bad, for then nothing happens. */
static struct description *take_target(int fd, int target)
{
    bool is_known = fd != target && table_has(target) && real.fcntl(fd, F_GETFD) >= 0;
    return is_known ? table_take(target) : NULL;
}

ENTRY int dup2(int fd, int target)
{
    struct description *taken = take_target(fd, target);
    int copy = real.dup2(fd, target);
    table_taken(taken);
    if (copy >= 0)
        table_duplicate(fd, copy);
    return copy;
}

ENTRY int dup3(int fd, int target, int flags)
{
    struct description *taken = take_target(fd, target);
    int copy = real.dup3(fd, target, flags);
    table_taken(taken);
    if (copy >= 0)
        table_duplicate(fd, copy);
    return copy;
}

/* ---- fcntl, locks ---------------------------------------------------------------------------- */

/* Whoever gets a lock wants to see what others wrote before they gave it back. */
static bool is_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
           command == F_OFD_SETLKW;
}

/* The flags of a stand-in, which are not the kernel's; -1: let it say. */
static int ask_standin(int fd, int command)
{
    struct description *description = standin_find(fd);
    if (!description)
        return -1;
    int result = -1;
    if (command == F_GETFL)
        result = (description->open_flags & (O_NOATIME | O_NONBLOCK)) | STANDIN_LARGE;
    else if (command != F_GETFD && command != F_SETFD && command != F_DUPFD &&
             command != F_DUPFD_CLOEXEC)
        standin_realise(description);
    table_unpin();
    return result;
}

ENTRY int fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long); /* where there is none, the kernel does not look */
    va_end(list);
    int known = ask_standin(fd, command);
    if (known >= 0)
        return known;
    int result = real.fcntl(fd, command, argument);
    if (result < 0)
        return result;
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        table_forget(result);
        table_duplicate(fd, result);
    } else if (command == F_SETFL && (argument & O_DIRECT) && table_reader(fd)) {
        table_unpin();
        table_forget(fd); /* direct reads have rules of their own */
    } else if (is_lock(command)) {
        table_renew(fd);
    }
    return result;
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl"), visibility("default")));

ENTRY int flock(int fd, int operation)
{
    standin_realise_at(fd);
    int result = real.flock(fd, operation);
    if (result == 0 && !(operation & LOCK_UN))
        table_renew(fd);
    return result;
}

/* ---- Offsets --------------------------------------------------------------------------------- */

off_t descriptor_seek(int fd, off_t offset, int whence)
{
    struct description *standin = standin_find(fd);
    if (standin) {
        off_t moved = standin_seek(standin, offset, whence);
        table_unpin();
        if (moved >= 0)
            return moved;
        if (moved != -EAGAIN) {
            errno = (int)-moved;
            return -1;
        }
    }
    off_t result = real.lseek(fd, offset, whence);
    struct description *description = result >= 0 ? table_reader(fd) : NULL;
    if (description) {
        atomic_store_explicit(&description->guess, (uint64_t)result, memory_order_relaxed);
        table_unpin();
    }
    return result;
}

ENTRY off_t lseek(int fd, off_t offset, int whence)
{
    return descriptor_seek(fd, offset, whence);
}

off_t lseek64(int fd, off_t offset, int whence)
    __attribute__((alias("lseek"), visibility("default")));

/* ---- The same without a function of its own ------------------------------------------------- */

/* Whether a system call makes a process with descriptors of its own, as fork does. */
static bool is_fork(long number, const long *arguments)
{
    if (number == SYS_clone3) {
        const struct clone_args *wanted = (const struct clone_args *)arguments[0]; /* NOLINT */
        return wanted && !(wanted->flags & (CLONE_FILES | CLONE_VM));
    }
    return number == SYS_fork ||
           (number == SYS_clone && !(arguments[0] & (CLONE_FILES | CLONE_VM)));
}

/* After it a path may be another file, or another's. */
static bool changes_sight(long number)
{
    static const long numbers[] = {SYS_chroot,    SYS_setns,    SYS_pivot_root, SYS_setuid,
                                   SYS_setgid,    SYS_setreuid, SYS_setregid,   SYS_setresuid,
                                   SYS_setresgid, SYS_setfsuid, SYS_setfsgid,   SYS_setgroups,
                                   SYS_capset};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (number == numbers[i])
            return true;
    }
    return false;
}

/* Has descriptors in what its arguments point to. */
static bool points_to_descriptors(long number)
{
    return number == SYS_poll || number == SYS_ppoll || number == SYS_select ||
           number == SYS_pselect6 || number == SYS_sendmsg || number == SYS_sendmmsg;
}

/* Any argument may be a descriptor; one too many made real does no harm. */
static void realise_for(long number, const long *arguments)
{
    if (changes_sight(number))
        scope_declares_no_more();
    if (number == SYS_io_uring_setup || number == SYS_io_setup)
        standin_end();
    if (points_to_descriptors(number))
        standin_realise_all(false);
    if (number == SYS_execve || number == SYS_execveat)
        standin_realise_all(true);
    for (int i = 0; standin_any() && i < 6; i++) {
        if (arguments[i] >= 0 && arguments[i] < TABLE_SIZE)
            standin_realise_at((int)arguments[i]);
    }
}

ENTRY long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    switch (number) {
    case SYS_close:
        return descriptor_close((int)a[0]);
    case SYS_close_range:
        return close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
    case SYS_dup2:
        return dup2((int)a[0], (int)a[1]);
    case SYS_dup3:
        return dup3((int)a[0], (int)a[1], (int)a[2]);
    default:
        break;
    }
    realise_for(number, a);
    real_ensure();
    if (!is_fork(number, a))
        return real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    process_fork_begins();
    long result = real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result == 0)
        process_forked();
    else
        writers_fork_ends();
    return result;
}
