/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See moment.h.
 */
#include "moment.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct moment_ops *simulated;

void moment_set(const struct moment_ops *ops)
{
    simulated = ops;
}

bool moment_is_simulated(void)
{
    return simulated != NULL;
}

void moment_sleep_us(unsigned duration_us)
{
    struct timespec left = {.tv_sec = duration_us / 1000000,
                            .tv_nsec = (long)(duration_us % 1000000) * 1000};
    if (simulated)
        simulated->sleep_us(duration_us);
    else
        nanosleep(&left, NULL);
}

int64_t moment_now_ns(void)
{
    struct timespec now;
    if (simulated)
        return simulated->now_ns();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void moment_die(void)
{
    if (simulated)
        simulated->die();
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void *killer_main(void *argument)
{
    moment_sleep_us((unsigned)(uintptr_t)argument);
    moment_die();
}

void moment_die_soon(unsigned after_us)
{
    pthread_t killer;
    if (simulated) {
        simulated->die_soon(after_us);
        return;
    }
    if (pthread_create(&killer, NULL, killer_main, (void *)(uintptr_t)after_us) != 0)
        abort();
    pthread_detach(killer);
}
