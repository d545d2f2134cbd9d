/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast the engine is: events a second for several numbers of pending events, beside one plain
 * 4-ary heap (the far heap alone: all events beyond the wheel), and fiber switches a second.
 * Not a test: prints, and asserts nothing about time.
 */
#include "sim/engine/engine.h"

#include <stdlib.h>
#include <time.h>

#define EVENTS 5000000

/* The processor's time that we have used: the machine may be busy with other things. */
static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct load {
    struct sim *sim;
    uint32_t actor;
    uint64_t range;
};

static void again(void *context, uint32_t kind, uint64_t argument)
{
    struct load *load = context;
    (void)kind;
    sim_time after = 1 + (sim_time)sim_random_below(load->sim, load->range);
    sim_post(load->sim, sim_now(load->sim) + after, (struct sim_event){load->actor, 0, argument});
}

static double events_measure(uint64_t pending, uint64_t range)
{
    struct load load = {.range = range};
    if (sim_create(&load.sim, 1) < 0)
        return 0;
    struct sim_actor actor = {.name = "load", .handle = again, .context = &load};
    load.actor = (uint32_t)sim_actor_add(load.sim, &actor);
    for (uint64_t i = 0; i < pending; i++)
        again(&load, 0, i);
    double before = cpu_seconds();
    sim_run(load.sim, SIM_NEVER, EVENTS);
    double seconds = cpu_seconds() - before;
    sim_destroy(load.sim);
    return EVENTS / seconds;
}

static void hop(void *argument)
{
    struct sim *sim = argument;
    for (int i = 0; i < EVENTS / 20; i++)
        fiber_sleep(sim, 10 * SIM_NS);
}

static double fibers_measure(void)
{
    struct sim *sim;
    if (sim_create(&sim, 1) < 0)
        return 0;
    struct fiber_spec spec = {.name = "hop", .body = hop, .argument = sim};
    for (int i = 0; i < 4; i++)
        fiber_create(sim, &spec, NULL);
    double before = cpu_seconds();
    sim_run(sim, SIM_NEVER, 0);
    double seconds = cpu_seconds() - before;
    sim_destroy(sim);
    return EVENTS / 20 * 4 / seconds;
}

int main(void)
{
    printf("%10s %22s %22s\n", "pending", "within 2 us, /s", "within 2 s (heap), /s");
    for (uint64_t pending = 1; pending <= 100000; pending *= 10)
        printf("%10llu %22.0f %22.0f\n", (unsigned long long)pending,
               events_measure(pending, 2 * SIM_US), events_measure(pending, 2 * SIM_S));
    printf("fiber sleeps and resumes: %.0f /s\n", fibers_measure());
    return 0;
}
