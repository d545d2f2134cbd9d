/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet bench engine`: how fast the engine is: events a second for several numbers of pending
 * events, beside one plain 4-ary heap (the far heap alone: all events beyond the wheel), and fiber
 * switches a second.
 */
#include "sim/engine/engine.h"

#include "base/clock.h"
#include "cli/json_put.h"
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
    cli_progress("%llu pending events", (unsigned long long)pending);
    double before = clock_cpu_seconds();
    sim_run(load.sim, SIM_NEVER, EVENTS);
    double seconds = clock_cpu_seconds() - before;
    sim_destroy(load.sim);
    cli_progress_end();
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

#define PENDING_MAX 100000

static bool wants_json;
static const struct cli_option options[] = {
    CLI_FLAG("json", &wants_json, "print JSON instead of text"),
    CLI_OPTIONS_END,
};

static void measure_text(void)
{
    printf("%10s %22s %22s\n", "pending", "within 2 us, /s", "within 2 s (heap), /s");
    for (uint64_t pending = 1; pending <= PENDING_MAX; pending *= 10)
        printf("%10llu %22.0f %22.0f\n", (unsigned long long)pending,
               events_measure(pending, 2 * SIM_US), events_measure(pending, 2 * SIM_S));
    printf("fiber sleeps and resumes: %.0f /s\n", fibers_measure());
}

static int measure_json(void)
{
    json_t *document = json_object(), *rows = json_array();
    json_put_format(document, "bench-engine 1");
    for (uint64_t pending = 1; pending <= PENDING_MAX; pending *= 10) {
        json_t *row = json_object();
        json_put_number(row, "pending", pending);
        json_put_real(row, "near_per_s", events_measure(pending, 2 * SIM_US));
        json_put_real(row, "heap_per_s", events_measure(pending, 2 * SIM_S));
        json_array_append_new(rows, row);
    }
    json_object_set_new(document, "events", rows);
    json_put_real(document, "fiber_switches_per_s", fibers_measure());
    json_dumpf(document, stdout, JSON_INDENT(2));
    json_decref(document);
    putchar('\n');
    return 0;
}

static int run(int count, char **words)
{
    if (wants_json)
        return measure_json();
    measure_text();
    return 0;
}

const struct cli_command cli_bench_engine = {
    .name = "engine",
    .help = "the simulator's queue of events, and its fibers",
    .options = options,
    .run = run};
