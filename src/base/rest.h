/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resting between two looks at something that another thread or process has nearly done.
 *
 *   struct rest rest = {0};
 *   while (!is_done())
 *       rest_once(&rest);
 *
 * The core is given away first, because the other one may be waiting for it. That does not help for
 * ever: Linux 6.18, and 6.12 from its 63rd release on, may give it back to those who yield for
 * minutes, and keep out all who do not. So a longer wait sleeps. Safe in signal handlers.
 */
#pragma once

#include "base/clock.h"

#include <sched.h>

#define REST_YIELDS 100
#define REST_NS     (50 * NS_PER_US)
#define REST_MIN_NS (100 * NS_PER_US)
#define REST_MAX_NS (4 * NS_PER_MS)

struct rest {
    unsigned times;
};

static inline void rest_once(struct rest *rest)
{
    struct timespec nap = {.tv_nsec = REST_NS};
    if (rest->times < REST_YIELDS) {
        rest->times++;
        sched_yield();
    } else {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    }
}

/* How long to rest before the next look at what others do in their own time, if a look costs a
 * trip: the longer it has been waited for, the rarer. */
static inline int64_t rest_between_ns(int64_t waited_ns)
{
    int64_t share_ns = waited_ns / 8;
    return share_ns < REST_MIN_NS ? REST_MIN_NS : share_ns > REST_MAX_NS ? REST_MAX_NS : share_ns;
}
