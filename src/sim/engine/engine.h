/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event engine: virtual time in picoseconds, and a queue of what happens when.
 *
 * Everything that acts in a simulated world is an actor with a number. An event is (time, actor,
 * kind, argument): no pointers, so that the list of events is the same in every run and can be
 * hashed, printed and compared. Events at the same time happen in the order in which they were
 * posted. All chance comes from one stream, so a seed replays a run.
 *
 * One world belongs to one thread; a process may have many worlds. Nothing here is global.
 * Host programs run as fibers of the world; see sim/engine/fiber.h, which this header includes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef int64_t sim_time; /* picoseconds since the world began */

#define SIM_NS    1000LL
#define SIM_US    (1000 * SIM_NS)
#define SIM_MS    (1000 * SIM_US)
#define SIM_S     (1000 * SIM_MS)
#define SIM_NEVER INT64_MAX

struct sim;

/* What happens at the event's time. Runs to its end without waiting; may post events. */
typedef void (*sim_handler)(void *context, uint32_t kind, uint64_t argument);

struct sim_actor {
    const char *name; /* for people; is copied */
    sim_handler handle;
    /* An event is due soon: may fetch the memory that it will need into the cache, and nothing
     * else. May be NULL. */
    sim_handler expect;
    void *context;
    const char *const *kinds; /* names of the kinds, for the event log; NULL: numbers are printed */
    uint32_t kind_count;
};

struct sim_event {
    uint32_t actor;
    uint32_t kind;
    uint64_t argument; /* never a pointer, nor anything else that differs between runs */
};

/* Names one posted event, so that it can be cancelled. 0 names none. */
typedef uint64_t sim_ticket;

enum sim_end {
    SIM_IDLE,    /* no event is left */
    SIM_TIME,    /* the time asked for is reached */
    SIM_STOPPED, /* somebody called sim_stop() */
    SIM_LIMIT    /* as many events as allowed have happened */
};

/* -ENOMEM. */
int sim_create(struct sim **sim, uint64_t seed);

/* Fibers that have not ended are forgotten, with whatever they hold. */
void sim_destroy(struct sim *sim);

/* Returns the actor's number, or -ENOMEM. context must outlive the world. */
int sim_actor_add(struct sim *sim, const struct sim_actor *actor);

/* `when` must not be in the past. When memory runs out the world stops: sim_run() tells. */
sim_ticket sim_post(struct sim *sim, sim_time when, struct sim_event event);

/* Takes an event back; false if it has happened or was cancelled already. */
bool sim_cancel(struct sim *sim, sim_ticket ticket);

/* Lets time pass until `until` (SIM_NEVER: until nothing is left), for at most event_limit events
 * (0: any number). Returns an enum sim_end, or -ENOMEM. Time is `until` afterwards only if that was
 * reached. */
int sim_run(struct sim *sim, sim_time until, uint64_t event_limit);

/* Ends sim_run() after the event that is happening now. */
void sim_stop(struct sim *sim);

/* The same, because the world cannot go on: sim_run() returns this code. Whoever calls it has said
 * why, by error_fail(). */
void sim_fail(struct sim *sim, int code);

/* The same, because something of the simulated world has no memory: sim_run() returns -ENOMEM. */
void sim_starve(struct sim *sim);

sim_time sim_now(const struct sim *sim);
uint64_t sim_seed(const struct sim *sim);
uint64_t sim_event_count(const struct sim *sim); /* that have happened */
size_t sim_pending(const struct sim *sim);       /* that are still to happen */

/* Of all events so far. Two runs with the same seed have the same. */
uint64_t sim_hash(const struct sim *sim);

/* Prints every event from now on, one a line; NULL: no more. */
void sim_log_to(struct sim *sim, FILE *out);

/* The one stream of chance. */
uint64_t sim_random(struct sim *sim);
uint64_t sim_random_below(struct sim *sim, uint64_t limit); /* 0 … limit - 1; limit is not 0 */
double sim_random_real(struct sim *sim);                    /* 0 <= x < 1 */
double sim_random_wait(struct sim *sim, double mean);       /* exponentially distributed, > 0 */

#include "sim/engine/fiber.h"
