/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See real.h. Also what the cache's client calls inside this library: the linker turns its pread()
 * and the like into __wrap_pread() (meson.build), or it would come back to us. Those are bare
 * system calls, so that a cancelled thread does not vanish half-way through.
 */
#include "cache/interposer/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The system call itself, with errno as everywhere. Not syscall(): a program calls ours for that,
 * and here it must be there before anything has been looked up. */
static long kernel(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
#ifdef __x86_64__
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return -1;
    }
#else
#error "the system call's registers are written down for x86-64 only"
#endif
    return result;
}

#define SIX(a, b, c, d, e, f, ...) (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define KERNEL(name, ...)          kernel(SYS_##name, SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0))

/* The variable argument of openat and fcntl, always taken: not given, it is not looked at
 * either. */
static long only_argument(va_list list)
{
    return va_arg(list, long);
}

static int early_openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    long mode = only_argument(list);
    va_end(list);
    return (int)KERNEL(openat, folder, path, flags, mode);
}

static int early_fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = only_argument(list);
    va_end(list);
    return (int)KERNEL(fcntl, fd, command, argument);
}

/* Defines what has no more to do than to ask the kernel. */
#define EARLY(type, name, parameters, call, ...)                                                   \
    static type early_##name parameters                                                            \
    {                                                                                              \
        return (type)KERNEL(call, __VA_ARGS__);                                                    \
    }

EARLY(ssize_t, read, (int fd, void *buffer, size_t length), read, fd, buffer, length)
EARLY(ssize_t, pread, (int fd, void *buffer, size_t length, off_t offset), pread64, fd, buffer,
      length, offset)
EARLY(ssize_t, readv, (int fd, const struct iovec *parts, int part_count), readv, fd, parts,
      part_count)
EARLY(ssize_t, preadv, (int fd, const struct iovec *parts, int part_count, off_t offset), preadv,
      fd, parts, part_count, offset)
EARLY(ssize_t, preadv2,
      (int fd, const struct iovec *parts, int part_count, off_t offset, int flags), preadv2, fd,
      parts, part_count, offset, 0, flags)
EARLY(off_t, lseek, (int fd, off_t offset, int whence), lseek, fd, offset, whence)
EARLY(int, close, (int fd), close, fd)
EARLY(int, close_range, (unsigned first, unsigned last, int flags), close_range, first, last, flags)
EARLY(int, dup, (int fd), dup, fd)
EARLY(int, dup2, (int fd, int target), dup2, fd, target)
EARLY(int, dup3, (int fd, int target, int flags), dup3, fd, target, flags)
EARLY(int, flock, (int fd, int operation), flock, fd, operation)
EARLY(void *, mmap, (void *address, size_t length, int protection, int flags, int fd, off_t offset),
      mmap, address, length, protection, flags, fd, offset)
EARLY(ssize_t, sendfile, (int out, int in, off_t *offset, size_t length), sendfile, out, in, offset,
      length)
EARLY(ssize_t, copy,
      (int in, off_t *in_offset, int out, off_t *out_offset, size_t length, unsigned flags),
      copy_file_range, in, in_offset, out, out_offset, length, flags)
EARLY(ssize_t, splice,
      (int in, off_t *in_offset, int out, off_t *out_offset, size_t length, unsigned flags), splice,
      in, in_offset, out, out_offset, length, flags)
EARLY(ssize_t, readahead, (int fd, off_t offset, size_t length), readahead, fd, offset, length)
EARLY(int, truncate, (const char *path, off_t length), truncate, path, length)
EARLY(int, renameat2, (int folder, const char *path, int to_folder, const char *to, unsigned flags),
      renameat2, folder, path, to_folder, to, flags)
EARLY(int, unlinkat, (int folder, const char *path, int flags), unlinkat, folder, path, flags)
EARLY(int, chdir, (const char *path), chdir, path)
EARLY(int, fchdir, (int fd), fchdir, fd)
EARLY(int, execve, (const char *path, char *const *arguments, char *const *environment), execve,
      path, arguments, environment)
EARLY(int, unshare, (int flags), unshare, flags)
EARLY(int, fstat, (int fd, void *status), fstat, fd, status)
EARLY(int, fstatat, (int folder, const char *path, void *status, int flags), newfstatat, folder,
      path, status, flags)
EARLY(int, statx, (int folder, const char *path, int flags, unsigned mask, void *status), statx,
      folder, path, flags, mask, status)
EARLY(int, access, (const char *path, int access), access, path, access)
EARLY(ssize_t, readlinkat, (int folder, const char *path, char *text, size_t room), readlinkat,
      folder, path, text, room)

struct real real = {
    .openat = early_openat,
    .read = early_read,
    .pread = early_pread,
    .readv = early_readv,
    .preadv = early_preadv,
    .preadv2 = early_preadv2,
    .lseek = early_lseek,
    .close = early_close,
    .close_range = early_close_range,
    .dup = early_dup,
    .dup2 = early_dup2,
    .dup3 = early_dup3,
    .fcntl = early_fcntl,
    .flock = early_flock,
    .mmap = early_mmap,
    .sendfile = early_sendfile,
    .copy_file_range = early_copy,
    .splice = early_splice,
    .readahead = early_readahead,
    .truncate = early_truncate,
    .renameat2 = early_renameat2,
    .unlinkat = early_unlinkat,
    .chdir = early_chdir,
    .fchdir = early_fchdir,
    .execve = early_execve,
    .unshare = early_unshare,
    .fstat = early_fstat,
    .fstatat = early_fstatat,
    .statx = early_statx,
    .access = early_access,
    .readlinkat = early_readlinkat,
};

/* ---- Looking up ------------------------------------------------------------------------------ */

/* Left as it is if nobody has it: an older C library. */
#define LOOK_UP(field, name)                                                                       \
    do {                                                                                           \
        void *found = dlsym(RTLD_NEXT, name);                                                      \
        if (found)                                                                                 \
            *(void **)&real.field = found;                                                         \
    } while (0)

/* Only those are looked up that do more than their system call: wait and may be cancelled. For the
 * rest the call itself is as good, and starting a program costs less. */
static void look_up_waiting(void)
{
    LOOK_UP(openat, "openat");
    LOOK_UP(read, "read");
    LOOK_UP(pread, "pread");
    LOOK_UP(readv, "readv");
    LOOK_UP(preadv, "preadv");
    LOOK_UP(preadv2, "preadv2");
    LOOK_UP(close, "close");
    LOOK_UP(fcntl, "fcntl");
    LOOK_UP(copy_file_range, "copy_file_range");
    LOOK_UP(splice, "splice");
}

static void look_up_others(void)
{
    LOOK_UP(syscall, "syscall");
    LOOK_UP(fopen, "fopen");
    LOOK_UP(fdopen, "fdopen");
    LOOK_UP(fread, "fread");
    LOOK_UP(fread_checked, "__fread_chk");
    LOOK_UP(fclose, "fclose");
    LOOK_UP(freopen, "freopen");
    LOOK_UP(posix_fadvise, "posix_fadvise");
    LOOK_UP(aio_read, "aio_read");
    LOOK_UP(fork_only, "_Fork");
    LOOK_UP(clone, "clone");
    LOOK_UP(execvpe, "execvpe");
    LOOK_UP(fexecve, "fexecve");
    LOOK_UP(exit_now, "_exit");
    LOOK_UP(closefrom, "closefrom");
    LOOK_UP(daemon, "daemon");
    LOOK_UP(remove, "remove");
    LOOK_UP(opendir, "opendir");
    LOOK_UP(closedir, "closedir");
    LOOK_UP(dirfd, "dirfd");
    LOOK_UP(readdir, "readdir");
    LOOK_UP(readdir_r, "readdir_r");
    LOOK_UP(seekdir, "seekdir");
    LOOK_UP(telldir, "telldir");
    LOOK_UP(rewinddir, "rewinddir");
    LOOK_UP(scandirat, "scandirat");
    LOOK_UP(faccessat, "faccessat");
    LOOK_UP(readlink_checked, "__readlink_chk");
    LOOK_UP(readlinkat_checked, "__readlinkat_chk");
    LOOK_UP(read_checked, "__read_chk");
    LOOK_UP(pread_checked, "__pread_chk");
    LOOK_UP(open_checked, "__open_2");
    LOOK_UP(openat_checked, "__openat_2");
    LOOK_UP(fgetwc, "fgetwc");
    LOOK_UP(ungetwc, "ungetwc");
    LOOK_UP(fgetws, "fgetws");
    LOOK_UP(fwide, "fwide");
}

void real_ensure(void)
{
    static _Atomic bool is_done;
    if (atomic_load_explicit(&is_done, memory_order_acquire))
        return;
    /* Two threads may both do it, with the same outcome. */
    look_up_others();
    look_up_waiting();
    atomic_store_explicit(&is_done, true, memory_order_release);
}

/* ---- For the client -------------------------------------------------------------------------- */

ssize_t __wrap_pread(int fd, void *buffer, size_t length, off_t offset);
ssize_t __wrap_preadv(int fd, const struct iovec *parts, int part_count, off_t offset);
ssize_t __wrap_read(int fd, void *buffer, size_t length);
off_t __wrap_lseek(int fd, off_t offset, int whence);
int __wrap_close(int fd);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fcntl(int fd, int command, ...);
long __wrap_syscall(long number, ...);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);

ssize_t __wrap_pread(int fd, void *buffer, size_t length, off_t offset)
{
    return early_pread(fd, buffer, length, offset);
}

ssize_t __wrap_preadv(int fd, const struct iovec *parts, int part_count, off_t offset)
{
    return early_preadv(fd, parts, part_count, offset);
}

ssize_t __wrap_read(int fd, void *buffer, size_t length)
{
    return early_read(fd, buffer, length);
}

off_t __wrap_lseek(int fd, off_t offset, int whence)
{
    return early_lseek(fd, offset, whence);
}

int __wrap_close(int fd)
{
    return early_close(fd);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    long mode = only_argument(list);
    va_end(list);
    return early_openat(AT_FDCWD, path, flags, mode);
}

int __wrap_fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = only_argument(list);
    va_end(list);
    return early_fcntl(fd, command, argument);
}

long __wrap_syscall(long number, ...)
{
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    return kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return early_mmap(address, length, protection, flags, fd, offset);
}
