/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deadlines: a moment of some clock in nanoseconds, the machine's (clock.h) or a simulated one. A
 * time-out too long for that means for ever, and stays it.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#define DEADLINE_NEVER INT64_MAX

/* The moment timeout_ns after now_ns. */
static inline int64_t deadline_after_ns(int64_t now_ns, int64_t timeout_ns)
{
    return timeout_ns > DEADLINE_NEVER - now_ns ? DEADLINE_NEVER : now_ns + timeout_ns;
}

/* How long until then: a time-out for a part of what has to end by then. 0: it is over. */
static inline int64_t deadline_left_ns(int64_t deadline_ns, int64_t now_ns)
{
    if (deadline_ns <= now_ns)
        return 0;
    return deadline_ns == DEADLINE_NEVER ? DEADLINE_NEVER : deadline_ns - now_ns;
}

/* The same for a step that must not take longer than most_ns. */
static inline int64_t deadline_slice_ns(int64_t deadline_ns, int64_t now_ns, int64_t most_ns)
{
    int64_t left_ns = deadline_left_ns(deadline_ns, now_ns);
    return left_ns < most_ns ? left_ns : most_ns;
}

/* The same as poll(2) and epoll_wait(2) want it: -1 for ever, and rounded up, so that nobody wakes
 * before it is over and then has nothing to wait for. */
static inline int deadline_left_ms(int64_t deadline_ns, int64_t now_ns)
{
    int64_t left_ns = deadline_left_ns(deadline_ns, now_ns);
    if (left_ns == DEADLINE_NEVER)
        return -1;
    int64_t left_ms = left_ns / 1000000 + (left_ns % 1000000 > 0);
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}
