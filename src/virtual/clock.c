/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clocks and sleeps of the C library, in virtual time. The world begins on 1 January 2000 and its
 * monotonic clocks at 0, so that a program is the same each time. Clocks of processor time, timers
 * and waits with a time limit stay the machine's.
 */
#include "virtual/inside.h"

#include <errno.h>
#include <sys/time.h>
#include <unistd.h>

#define NS_PER_S  1000000000LL
#define BEGINNING (946684800LL * NS_PER_S) /* 2000-01-01 00:00:00 UTC */

/* ---- Clocks ---------------------------------------------------------------------------------- */

static bool is_of_world(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:
        return true;
    default:
        return false;
    }
}

int64_t virtual_now_ns(const struct virtual_time *time)
{
    virtual_enter();
    int64_t now = time->now_ns(time->context);
    virtual_leave();
    return now;
}

/* Since the epoch of that clock; < 0: it is not the world's. */
static int64_t now_of(const struct virtual_time *time, clockid_t clock)
{
    int64_t now = time && is_of_world(clock) ? virtual_now_ns(time) : -1;
    bool is_date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
    return now >= 0 && is_date ? now + BEGINNING : now;
}

static struct timespec split(int64_t time_ns)
{
    return (struct timespec){.tv_sec = time_ns / NS_PER_S, .tv_nsec = time_ns % NS_PER_S};
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *result)
{
    const struct virtual_time *time = virtual_time_for(__builtin_return_address(0));
    int64_t now = now_of(time, clock);
    if (now < 0)
        return NEXT(clock_gettime)(clock, result);
    *result = split(now);
    return 0;
}

SHOWN int clock_getres(clockid_t clock, struct timespec *result)
{
    const struct virtual_time *time = virtual_time_for(__builtin_return_address(0));
    if (!time || !is_of_world(clock))
        return NEXT(clock_getres)(clock, result);
    if (result)
        *result = (struct timespec){.tv_nsec = 1};
    return 0;
}

SHOWN int gettimeofday(struct timeval *restrict result, void *restrict zone)
{
    const struct virtual_time *time = virtual_time_for(__builtin_return_address(0));
    int64_t now = now_of(time, CLOCK_REALTIME);
    if (now < 0)
        return NEXT(gettimeofday)(result, zone);
    if (result)
        *result = (struct timeval){.tv_sec = now / NS_PER_S, .tv_usec = now % NS_PER_S / 1000};
    return 0;
}

SHOWN time_t time(time_t *result)
{
    const struct virtual_time *world = virtual_time_for(__builtin_return_address(0));
    int64_t now = now_of(world, CLOCK_REALTIME);
    if (now < 0)
        return NEXT(time)(result);
    if (result)
        *result = now / NS_PER_S;
    return now / NS_PER_S;
}

/* ---- Sleeps ---------------------------------------------------------------------------------- */

static void sleep_ns(const struct virtual_time *time, int64_t duration_ns)
{
    virtual_enter();
    if (duration_ns > 0)
        time->sleep(time->context, duration_ns);
    virtual_leave();
}

static bool is_duration(const struct timespec *wanted)
{
    return wanted->tv_nsec >= 0 && wanted->tv_nsec < NS_PER_S && wanted->tv_sec >= 0 &&
           wanted->tv_sec < INT64_MAX / NS_PER_S;
}

static int64_t whole(const struct timespec *wanted)
{
    return wanted->tv_sec * NS_PER_S + wanted->tv_nsec;
}

SHOWN int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    const struct virtual_time *time = virtual_time_for(__builtin_return_address(0));
    if (!time || !is_duration(wanted))
        return NEXT(nanosleep)(wanted, left);
    sleep_ns(time, whole(wanted));
    return 0;
}

SHOWN int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                          struct timespec *left)
{
    const struct virtual_time *time = virtual_time_for(__builtin_return_address(0));
    if (!time || !is_of_world(clock) || !is_duration(wanted))
        return NEXT(clock_nanosleep)(clock, flags, wanted, left);
    sleep_ns(time, whole(wanted) - (flags & TIMER_ABSTIME ? now_of(time, clock) : 0));
    return 0;
}

SHOWN int usleep(useconds_t duration)
{
    const struct virtual_time *time = virtual_time_for(__builtin_return_address(0));
    if (!time) {
        virtual_nap(); /* Open MPI waits for its launcher so */
        return NEXT(usleep)(duration);
    }
    sleep_ns(time, duration * 1000LL);
    return 0;
}

SHOWN unsigned sleep(unsigned duration)
{
    const struct virtual_time *time = virtual_time_for(__builtin_return_address(0));
    if (!time)
        return NEXT(sleep)(duration);
    sleep_ns(time, duration * NS_PER_S);
    return 0;
}
