/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fibers: starting, sleeping, waiting, ending. A fiber is resumed by an event whose argument is its
 * number, so that fibers are part of the event log like everything else.
 */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "sim/engine/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum fiber_event { FIBER_RESUME, FIBER_TIMEOUT };
static const char *const event_names[] = {"resume", "timeout"};

struct fiber {
    struct sim *sim;
    char *name;
    uint32_t number;
    struct context context;
    void (*body)(void *argument);
    void *argument;
    bool is_ended;
    sim_time since; /* it sleeps or waits */

    /* While it waits: */
    struct sim_condition *condition;
    struct fiber *next, *previous;
    sim_ticket timeout;
    bool is_timed_out;
};

static void fiber_free(struct sim *sim, struct fiber *fiber)
{
    context_destroy(&fiber->context);
    struct stack *stack = &fiber->context.stack;
    bool is_usual = stack->size == FIBER_STACK_DEFAULT;
    if (is_usual && sim->spare_count < sizeof(sim->spare) / sizeof(sim->spare[0]))
        sim->spare[sim->spare_count++] = *stack;
    else
        stack_destroy(stack);
    sim->table[fiber->number] = NULL;
    sim->fiber_count--;
    free(fiber->name);
    free(fiber);
}

static void fiber_resume(struct sim *sim, struct fiber *fiber)
{
    ASSERT(!sim->fiber);
    sim->fiber = fiber;
    context_switch(&sim->main, &fiber->context, false);
    sim->fiber = NULL;
    if (fiber->is_ended)
        fiber_free(sim, fiber);
}

static void condition_leave(struct fiber *fiber)
{
    struct sim_condition *condition = fiber->condition;
    *(fiber->previous ? &fiber->previous->next : &condition->first) = fiber->next;
    *(fiber->next ? &fiber->next->previous : &condition->last) = fiber->previous;
    fiber->condition = NULL;
}

static void fibers_handle(void *context, uint32_t kind, uint64_t argument)
{
    struct sim *sim = context;
    struct fiber *fiber = sim->table[argument];
    ASSERT(fiber);
    if (kind == FIBER_TIMEOUT) {
        condition_leave(fiber);
        fiber->is_timed_out = true;
    }
    fiber_resume(sim, fiber);
}

static void fibers_expect(void *context, uint32_t kind, uint64_t argument)
{
    const struct sim *sim = context;
    const struct fiber *fiber = sim->table[argument];
    __builtin_prefetch(fiber);
    __builtin_prefetch((const char *)fiber + 64);
}

int fibers_open(struct sim *sim)
{
    context_adopt(&sim->main);
    int actor = sim_actor_add(sim, &(struct sim_actor){
                                       .name = "fiber",
                                       .handle = fibers_handle,
                                       .expect = fibers_expect,
                                       .context = sim,
                                       .kinds = event_names,
                                       .kind_count = 2,
                                   });
    if (actor < 0)
        return actor;
    sim->fiber_actor = (uint32_t)actor;
    return 0;
}

void fibers_close(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->table_count; i++) {
        if (sim->table[i])
            fiber_free(sim, sim->table[i]);
    }
    for (uint32_t i = 0; i < sim->spare_count; i++)
        stack_destroy(&sim->spare[i]);
    free(sim->table);
}

/* Where every fiber begins and ends. */
static void fiber_main(void *argument)
{
    struct fiber *fiber = argument;
    struct sim *sim = fiber->sim;
    context_begin(&sim->main);
    fiber->body(fiber->argument);
    fiber->is_ended = true;
    context_switch(&fiber->context, &sim->main, true);
}

static int number_take(struct sim *sim, uint32_t *number)
{
    for (uint32_t i = sim->table_count; sim->fiber_count < sim->table_count && i-- > 0;) {
        if (!sim->table[i]) {
            *number = i;
            return 0;
        }
    }
    if (!array_grow(&sim->table, &sim->table_room, (size_t)sim->table_count + 1))
        return error_fail(-ENOMEM, "no memory for %u fibers", sim->table_count + 1);
    sim->table[sim->table_count] = NULL;
    *number = sim->table_count++;
    return 0;
}

static int stack_take(struct sim *sim, size_t size, struct stack *stack)
{
    if (size == 0)
        size = FIBER_STACK_DEFAULT;
    if (size < FIBER_STACK_MIN)
        size = FIBER_STACK_MIN;
    if (size == FIBER_STACK_DEFAULT && sim->spare_count > 0) {
        *stack = sim->spare[--sim->spare_count];
        return 0;
    }
    return stack_create(stack, size);
}

int fiber_create(struct sim *sim, const struct fiber_spec *spec, struct fiber **fiber)
{
    struct stack stack = {0};
    struct fiber *made = calloc(1, sizeof(*made));
    char *name = strdup(spec->name);
    int result = made && name ? 0 : error_fail(-ENOMEM, "no memory for a fiber");
    if (result == 0)
        result = number_take(sim, &made->number);
    if (result == 0)
        result = stack_take(sim, spec->stack_size, &stack);
    if (result < 0) {
        free(made);
        free(name);
        return result;
    }
    made->sim = sim;
    made->name = name;
    made->body = spec->body;
    made->argument = spec->argument;
    made->since = sim->now;
    context_make(&made->context, &stack, fiber_main, made);
    sim->table[made->number] = made;
    sim->fiber_count++;
    sim_post(sim, sim->now, (struct sim_event){sim->fiber_actor, FIBER_RESUME, made->number});
    if (fiber)
        *fiber = made;
    return 0;
}

struct fiber *fiber_current(const struct sim *sim)
{
    return sim->fiber;
}

const char *fiber_name(const struct fiber *fiber)
{
    return fiber->name;
}

static void fiber_pause(struct fiber *fiber)
{
    fiber->since = fiber->sim->now;
    context_switch(&fiber->context, &fiber->sim->main, false);
}

void fiber_sleep(struct sim *sim, sim_time duration)
{
    struct fiber *fiber = sim->fiber;
    ASSERT(fiber);
    ASSERT(duration >= 0);
    sim_post(sim, sim->now + duration,
             (struct sim_event){sim->fiber_actor, FIBER_RESUME, fiber->number});
    fiber_pause(fiber);
}

int fiber_wait(struct sim *sim, struct sim_condition *condition, sim_time deadline)
{
    struct fiber *fiber = sim->fiber;
    ASSERT(fiber);
    if (deadline <= sim->now)
        return -ETIMEDOUT;
    fiber->condition = condition;
    fiber->next = NULL;
    fiber->previous = condition->last;
    *(condition->last ? &condition->last->next : &condition->first) = fiber;
    condition->last = fiber;
    fiber->is_timed_out = false;
    fiber->timeout = 0;
    if (deadline != SIM_NEVER)
        fiber->timeout = sim_post(
            sim, deadline, (struct sim_event){sim->fiber_actor, FIBER_TIMEOUT, fiber->number});
    fiber_pause(fiber);
    return fiber->is_timed_out ? -ETIMEDOUT : 0;
}

void sim_condition_signal(struct sim *sim, struct sim_condition *condition)
{
    while (condition->first) {
        struct fiber *fiber = condition->first;
        condition_leave(fiber);
        sim_cancel(sim, fiber->timeout);
        sim_post(sim, sim->now, (struct sim_event){sim->fiber_actor, FIBER_RESUME, fiber->number});
    }
}

size_t fiber_count(const struct sim *sim)
{
    return sim->fiber_count;
}

void fiber_list_print(const struct sim *sim, FILE *out)
{
    for (uint32_t i = 0; i < sim->table_count; i++) {
        const struct fiber *fiber = sim->table[i];
        if (!fiber)
            continue;
        const char *what = !fiber->condition        ? "a time"
                           : fiber->condition->name ? fiber->condition->name
                                                    : "a condition";
        fprintf(out, "fiber %s waits for %s since %" PRId64 " ps\n", fiber->name, what,
                fiber->since);
    }
}
