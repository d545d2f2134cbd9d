/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fibers: programs that live in virtual time. A fiber runs until it sleeps or waits; meanwhile
 * virtual time stands still, so what a program computes costs nothing unless it says so with
 * fiber_sleep(). Included by sim/engine/engine.h.
 *
 * A fiber's stack is of fixed size and ends in a guard page: overrunning it is a fault, never
 * silent damage. Fibers of one world run in one thread.
 */
#pragma once

#include "sim/engine/engine.h"

struct fiber;

struct fiber_spec {
    const char *name; /* for people; is copied */
    void (*body)(void *argument);
    void *argument;
    size_t stack_size; /* 0: FIBER_STACK_DEFAULT; rounded up to whole pages */
};

#define FIBER_STACK_DEFAULT (256 * 1024)
#define FIBER_STACK_MIN     (16 * 1024)

/* What fibers wait for. Starts as zero, apart from the name. */
struct sim_condition {
    const char *name; /* for people: what the waiters wait for; may be NULL */
    struct fiber *first, *last;
};

/* Makes a fiber; it starts at the present time, after what is already due. *fiber may be NULL if
 * nobody wants to know. It frees itself at its end. -ENOMEM. */
int fiber_create(struct sim *sim, const struct fiber_spec *spec, struct fiber **fiber);

/* The fiber that runs now, or NULL. */
struct fiber *fiber_current(const struct sim *sim);
const char *fiber_name(const struct fiber *fiber);

/* Only inside a fiber: lets time pass. 0: lets everybody else act who is due now. */
void fiber_sleep(struct sim *sim, sim_time duration);

/* Only inside a fiber: waits for a signal until `deadline` (a time, or SIM_NEVER). Returns 0 or
 * -ETIMEDOUT. As with any condition, look again whether what you wait for is true. */
int fiber_wait(struct sim *sim, struct sim_condition *condition, sim_time deadline);

/* Wakes all waiters, at the present time, in the order in which they came. */
void sim_condition_signal(struct sim *sim, struct sim_condition *condition);

/* Fibers that have not ended. When sim_run() is idle and there are some, they wait for ever. */
size_t fiber_count(const struct sim *sim);

/* One line for each: name, what it waits for, since when. */
void fiber_list_print(const struct sim *sim, FILE *out);
