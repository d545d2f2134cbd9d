/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The world: its clock, its actors, and the loop that takes one event after the other.
 */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "sim/engine/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int sim_create(struct sim **sim, uint64_t seed)
{
    struct sim *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for a simulated world");
    queue_init(&made->queue);
    random_seed(&made->random, seed);
    made->seed = seed;
    made->hash = seed;
    int result = fibers_open(made);
    if (result < 0) {
        sim_destroy(made);
        return result;
    }
    *sim = made;
    return 0;
}

void sim_destroy(struct sim *sim)
{
    if (!sim)
        return;
    fibers_close(sim);
    for (uint32_t i = 0; i < sim->actor_count; i++)
        free((char *)sim->actors[i].name);
    free(sim->actors);
    queue_free(&sim->queue);
    free(sim);
}

int sim_actor_add(struct sim *sim, const struct sim_actor *actor)
{
    char *name = strdup(actor->name);
    if (!name || !array_grow(&sim->actors, &sim->actor_room, (size_t)sim->actor_count + 1)) {
        free(name);
        return error_fail(-ENOMEM, "no memory for simulated actor %s", actor->name);
    }
    struct sim_actor *added = &sim->actors[sim->actor_count];
    *added = *actor;
    added->name = name;
    return (int)sim->actor_count++;
}

sim_ticket sim_post(struct sim *sim, sim_time when, struct sim_event event)
{
    ASSERT(when >= sim->now);
    ASSERT(event.actor < sim->actor_count);
    sim_ticket ticket = queue_push(&sim->queue, when, event);
    if (ticket == 0)
        sim_starve(sim);
    return ticket;
}

bool sim_cancel(struct sim *sim, sim_ticket ticket)
{
    return queue_cancel(&sim->queue, ticket);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* One multiplication for an event; the constants are odd, so that no field is lost at zero. */
static void hash_add(struct sim *sim, const struct sim_event *event)
{
    uint64_t who = (uint64_t)event->actor << 32 | event->kind;
    uint64_t first = sim->hash ^ (uint64_t)sim->now ^ 0x9e3779b97f4a7c15ULL;
    uint64_t second = who + event->argument * 0xff51afd7ed558ccdULL + 0xd1b54a32d192ed03ULL;
    sim->hash = mix(first, second) + sim->event_count;
}

static void log_print(const struct sim *sim, const struct sim_event *event)
{
    const struct sim_actor *actor = &sim->actors[event->actor];
    fprintf(sim->log, "%" PRId64 " %s ", sim->now, actor->name);
    if (actor->kinds && event->kind < actor->kind_count)
        fprintf(sim->log, "%s %" PRIu64 "\n", actor->kinds[event->kind], event->argument);
    else
        fprintf(sim->log, "%u %" PRIu64 "\n", event->kind, event->argument);
}

/* With a thousand controllers an event's memory is rarely in the cache. What is due next is known,
 * so that it can be fetched meanwhile. */
static void events_expect(const struct sim *sim)
{
    const struct sim_event *later = queue_glance(&sim->queue, 4);
    const struct sim_event *soon = queue_glance(&sim->queue, 2);
    if (later)
        __builtin_prefetch(later);
    if (!soon)
        return;
    const struct sim_actor *actor = &sim->actors[soon->actor];
    if (actor->expect)
        actor->expect(actor->context, soon->kind, soon->argument);
}

static void event_happen(struct sim *sim, sim_time when)
{
    struct sim_event event = queue_pop(&sim->queue);
    events_expect(sim);
    ASSERT(when >= sim->now); /* time never goes back */
    sim->now = when;
    sim->event_count++;
    hash_add(sim, &event);
    if (sim->log)
        log_print(sim, &event);
    const struct sim_actor *actor = &sim->actors[event.actor];
    actor->handle(actor->context, event.kind, event.argument);
}

int sim_run(struct sim *sim, sim_time until, uint64_t event_limit)
{
    ASSERT(until >= sim->now);
    ASSERT(!sim->fiber); /* a fiber that wants time to pass sleeps or waits */
    uint64_t count_end = event_limit ? sim->event_count + event_limit : UINT64_MAX;
    sim->is_stopped = false;
    for (;;) {
        sim_time when = queue_peek(&sim->queue);
        if (sim->failure < 0 && sim->failure != -ENOMEM)
            return sim->failure;
        if (sim->failure < 0 || (when == SIM_NEVER && sim->queue.pending > 0))
            return error_fail(-ENOMEM, "no memory for the simulation");
        if (when > until) {
            sim->now = until;
            return SIM_TIME;
        }
        if (when == SIM_NEVER)
            return SIM_IDLE;
        if (sim->event_count == count_end)
            return SIM_LIMIT;
        event_happen(sim, when);
        if (sim->is_stopped)
            return SIM_STOPPED;
    }
}

void sim_stop(struct sim *sim)
{
    sim->is_stopped = true;
}

void sim_fail(struct sim *sim, int code)
{
    sim->failure = code;
}

void sim_starve(struct sim *sim)
{
    sim->failure = -ENOMEM;
}

sim_time sim_now(const struct sim *sim)
{
    return sim->now;
}

uint64_t sim_seed(const struct sim *sim)
{
    return sim->seed;
}

uint64_t sim_event_count(const struct sim *sim)
{
    return sim->event_count;
}

size_t sim_pending(const struct sim *sim)
{
    return sim->queue.pending;
}

uint64_t sim_hash(const struct sim *sim)
{
    return sim->hash;
}

void sim_log_to(struct sim *sim, FILE *out)
{
    sim->log = out;
}

uint64_t sim_random(struct sim *sim)
{
    return random_next(&sim->random);
}

uint64_t sim_random_below(struct sim *sim, uint64_t limit)
{
    ASSERT(limit > 0);
    /* Scaling by the high half of a product; the bias is below limit / 2^64. */
    __extension__ unsigned __int128 product = (unsigned __int128)sim_random(sim) * limit;
    return (uint64_t)(product >> 64);
}

double sim_random_real(struct sim *sim)
{
    return (double)(sim_random(sim) >> 11) * 0x1p-53;
}

double sim_random_wait(struct sim *sim, double mean)
{
    return random_exponential(&sim->random) * mean;
}
