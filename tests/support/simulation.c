/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See simulation.h.
 */
#include "simulation.h"

#include "check.h"
#include "moment.h"
#include "sim/engine/engine.h"

#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>

#define LIMIT_NS (20000LL * 1000000000)

static struct simulated *job;
static struct check **checks; /* by rank, of those that do not run */
static const struct simulation_options *running;

struct simulated *simulation_job(void)
{
    return job;
}

static void switched(void *context, int rank)
{
    (void)context;
    checks[rank] = check_swap(checks[rank]);
}

static void simulated_sleep_us(unsigned duration_us)
{
    simulated_sleep(job, duration_us * 1000LL);
}

/* Looking at the clock takes time, too: programs that look at memory until then see it change. */
static int64_t now_ns(void)
{
    simulated_sleep(job, 100);
    return simulated_now_ns(job);
}

static void die(void)
{
    simulated_die(job);
}

static void die_soon(unsigned after_us)
{
    if (simulated_kill_after(job, simulated_rank(job), after_us * 1000LL) < 0)
        abort();
}

static int rank_main(struct rh_job *rank, void *context)
{
    (void)context;
    return running->rank_main(rank, running->context);
}

static int run_once(const struct simulation_options *options, struct simulated_report *report)
{
    static const struct moment_ops ops = {simulated_sleep_us, now_ns, die, die_soon};
    struct simulated_options simulated = {.size = options->size,
                                          .spec = {.seed = options->seed},
                                          .faults = options->faults,
                                          .environment = options->environment,
                                          .rank_main = rank_main,
                                          .leaves_itself = options->leaves_itself,
                                          .switched = switched,
                                          .limit_ns = LIMIT_NS,
                                          .handle = &job};
    checks = calloc((size_t)options->size, sizeof(struct check *));
    if (!checks)
        return RH_ENOSPACE;
    running = options;
    moment_set(&ops);
    int result = simulated_run(&simulated, report);
    moment_set(NULL);
    free(checks);
    if (report->unfinished > 0)
        fprintf(stderr, "simulation: seed %llu: %s\n", (unsigned long long)options->seed,
                rh_error_text());
    return result;
}

int simulation_run(const struct simulation_options *options, struct simulated_report *report)
{
    struct simulated_report again;
    int result = run_once(options, report);
    if (result != 0 || !options->is_hashed)
        return result;
    result = run_once(options, &again);
    if (result == 0 && again.hash != report->hash) {
        fprintf(stderr, "simulation: seed %llu: the second run differs: %llu and %llu events\n",
                (unsigned long long)options->seed, (unsigned long long)report->events,
                (unsigned long long)again.events);
        return RH_ECORRUPT;
    }
    return result;
}
