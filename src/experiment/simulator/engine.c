/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet bench engine`: how fast the engine is: events a second for several numbers of pending
 * events, beside one plain 4-ary heap (the far heap alone: all events beyond the wheel), and fiber
 * switches a second.
 */
#include "sim/engine/engine.h"

#include "base/clock.h"
#include "experiment/experiment.h"

#include <stdio.h>

#define EVENTS 5000000

struct load {
    struct sim *sim;
    uint32_t actor;
    uint64_t range;
};

static void again(void *context, uint32_t kind, uint64_t argument)
{
    struct load *load = context;
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
    double before = clock_cpu_seconds();
    sim_run(load.sim, SIM_NEVER, EVENTS);
    double seconds = clock_cpu_seconds() - before;
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
    double before = clock_cpu_seconds();
    sim_run(sim, SIM_NEVER, 0);
    double seconds = clock_cpu_seconds() - before;
    sim_destroy(sim);
    return EVENTS / 20 * 4 / seconds;
}

static int run(int count, char **words)
{
    printf("%10s %22s %22s\n", "pending", "within 2 us, /s", "within 2 s (heap), /s");
    for (uint64_t pending = 1; pending <= 100000; pending *= 10)
        printf("%10llu %22.0f %22.0f\n", (unsigned long long)pending,
               events_measure(pending, 2 * SIM_US), events_measure(pending, 2 * SIM_S));
    printf("fiber sleeps and resumes: %.0f /s\n", fibers_measure());
    return 0;
}

const struct cli_command cli_bench_engine = {
    .name = "engine", .help = "the simulator's queue of events, and its fibers", .run = run};
