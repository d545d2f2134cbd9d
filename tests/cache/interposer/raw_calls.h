/* SPDX-License-Identifier: BSD-3-Clause
 *
 * System calls as a program makes them that does without the C library: no library can see them.
 */
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __x86_64__
#error "written down for x86-64 only"
#endif

static inline long raw_call(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static inline int raw_open(const char *path, int flags)
{
    return (int)raw_call(SYS_openat, AT_FDCWD, (long)path, flags, 0);
}

static inline int raw_close(int fd)
{
    return (int)raw_call(SYS_close, fd, 0, 0, 0);
}
