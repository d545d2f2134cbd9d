/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Having a cache line come before it is needed. These are hints: nothing changes but time.
 */
#pragma once

static inline void fetch_to_read(const void *line)
{
    __builtin_prefetch(line, 0, 3);
}

/* A plain look would fetch it for reading only, and claiming it would cost a second trip. Compilers
 * that do not know the processor would make this the other one. */
static inline void fetch_to_write(const void *line)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1, 3);
#endif
}
