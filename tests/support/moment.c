/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See moment.h.
 */
#include "moment.h"

#include <pthread.h>
#include <rhinet/rma.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct moment_ops *simulated;

void moment_set(const struct moment_ops *ops)
{
    simulated = ops;
}

static struct rh_job *own_job;

static void job_sleep_ns(int64_t duration_ns)
{
    uint64_t never = 0;
    struct rh_wait wait = {&never, RH_NOT_EQUAL, 0, rh_rank(own_job), duration_ns};
    (void)rh_wait_word(own_job, &wait);
}

static void job_sleep_us(unsigned duration_us)
{
    job_sleep_ns(duration_us * 1000LL);
}

static int64_t job_now_ns(void)
{
    job_sleep_ns(100); /* whoever looks at the clock until memory changes lets time pass */
    return rh_clock_ns(own_job);
}

void moment_of_job(struct rh_job *job)
{
    static const struct moment_ops ops = {.sleep_us = job_sleep_us, .now_ns = job_now_ns};
    if (!strstr(rh_nic_name(job), "martini") || simulated)
        return;
    own_job = job;
    moment_set(&ops);
}

bool moment_is_simulated(void)
{
    return simulated && simulated->die;
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
    if (moment_is_simulated())
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
    if (moment_is_simulated()) {
        simulated->die_soon(after_us);
        return;
    }
    if (pthread_create(&killer, NULL, killer_main, (void *)(uintptr_t)after_us) != 0)
        abort();
    pthread_detach(killer);
}
