/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time that never jumps, and deadlines made of it.
 */
#pragma once

#include "base/deadline.h"

#include <stdint.h>
#include <time.h>

#define NS_PER_S  1000000000LL
#define NS_PER_MS 1000000LL
#define NS_PER_US 1000LL

static inline int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The processor's time that this process has used: the machine may be busy with other things. */
static inline double clock_cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* The moment timeout_ns from now; see deadline.h. */
static inline int64_t clock_deadline_ns(int64_t timeout_ns)
{
    return deadline_after_ns(clock_now_ns(), timeout_ns);
}

/* Tell the core that we spin: saves power, and leaves the loop sooner when the line arrives. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}
