/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a world consists of. Private to the engine.
 */
#pragma once

#include "sim/engine/context.h"
#include "sim/engine/engine.h"
#include "sim/engine/queue.h"
#include "sim/engine/random.h"

struct sim {
    sim_time now;
    struct queue queue;
    uint64_t event_count;
    uint64_t hash;
    uint64_t seed;
    struct random random;
    struct sim_actor *actors;
    uint32_t actor_count;
    size_t actor_room;
    bool is_stopped;
    int failure; /* 0, or why it cannot go on */
    FILE *log;

    /* fiber.c's */
    struct fiber *fiber;  /* that runs, NULL: the event loop itself */
    struct fiber **table; /* fiber number -> fiber; NULL: the number is free */
    uint32_t table_count;
    size_t table_room;
    size_t fiber_count;
    uint32_t fiber_actor;
    struct context main; /* of the event loop, while a fiber runs */
    struct stack spare[8];
    uint32_t spare_count; /* stacks kept for the next fibers */
};

int fibers_open(struct sim *sim);
void fibers_close(struct sim *sim);
