/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See check_loop.h. Channels are taken away while nothing waits for what they wait for (Kahn); what
 * cannot be taken away contains a cycle, and following it backwards finds one.
 *
 * A vertex is (switch, port by which packets come in, lane): the input buffer that they fill.
 */
#include "route/check/loop.h"

#include "base/arena.h"
#include "base/error.h"

struct check_loop {
    struct arena memory; /* of the arrays */
    const struct check_switches *switches;
    size_t *base;    /* switch -> its first entry in lanes */
    size_t *buffer;  /* switch -> its first input buffer */
    uint64_t *lanes; /* [base + in * (ports + 1) + out] */
    uint8_t *raises;
    uint32_t lane_count;
    uint32_t *waiting; /* buffer and lane -> dependencies that lead to it */
    uint64_t *queue;
};

static uint32_t ports_of(const struct check_loop *loop, uint32_t at)
{
    return check_switch(loop->switches, at)->port_count + 1u;
}

/* Only at switches with three or more cables to others, or everywhere, or nowhere. A plain ring has
 * no branches, yet is a cycle: there the first switch counts as one. */
static void raises_fill(struct check_loop *loop, enum check_lanes lanes)
{
    bool any = false;
    for (uint32_t s = 0; s < loop->switches->count; s++) {
        const struct fabric_node *node = check_switch(loop->switches, s);
        uint32_t cables = 0;
        for (uint32_t p = 1; p <= node->port_count; p++) {
            uint32_t peer = node->ports[p].peer_node;
            cables += peer != FABRIC_NONE && loop->switches->index[peer] != FABRIC_NONE;
        }
        loop->raises[s] = lanes == CHECK_LANE_PER_HOP ||
                          (lanes == CHECK_LANE_AT_BRANCHES && cables > 2);
        any = any || loop->raises[s];
    }
    if (lanes == CHECK_LANE_AT_BRANCHES && !any && loop->switches->count > 0)
        loop->raises[0] = 1;
}

int check_loop_create(struct check_loop **out, const struct check_switches *switches,
                      enum check_lanes lanes)
{
    struct check_loop *loop = arena_owner(sizeof(*loop));
    bool enough = loop != NULL;
    if (loop) {
        loop->switches = switches;
        loop->lane_count = lanes == CHECK_ONE_LANE ? 1 : CHECK_LANES_MAX;
        ARENA_TAKE(&loop->memory, loop->base, switches->count + 1);
        ARENA_TAKE(&loop->memory, loop->buffer, switches->count + 1);
        ARENA_TAKE(&loop->memory, loop->raises, switches->count + 1);
        enough = !loop->memory.is_short;
    }
    size_t size = 0, buffers = 0;
    for (uint32_t s = 0; enough && s < switches->count; s++) {
        size_t ports = ports_of(loop, s);
        loop->base[s] = size;
        loop->buffer[s] = buffers;
        size += ports * ports;
        buffers += ports;
    }
    if (enough) {
        loop->buffer[switches->count] = buffers;
        ARENA_TAKE(&loop->memory, loop->lanes, size + 1);
        enough = loop->lanes != NULL;
    }
    if (!enough) {
        check_loop_destroy(loop);
        return error_fail(-ENOMEM, "no memory for the dependencies of %u switches",
                          switches->count);
    }
    raises_fill(loop, lanes);
    *out = loop;
    return 0;
}

void check_loop_destroy(struct check_loop *loop)
{
    arena_owner_free(loop);
}

bool check_loop_raises(const struct check_loop *loop, uint32_t at)
{
    return loop->raises[at];
}

void check_loop_add(struct check_loop *loop, uint32_t at, uint32_t port_in, uint32_t port_out,
                    uint64_t lanes)
{
    loop->lanes[loop->base[at] + (size_t)port_in * ports_of(loop, at) + port_out] |= lanes;
}

/* The input buffer at the far end of a cable, on lane 0. */
static uint64_t buffer_behind(const struct check_loop *loop, uint32_t at, uint32_t port)
{
    const struct fabric_port *cable = &check_switch(loop->switches, at)->ports[port];
    return (loop->buffer[loop->switches->index[cable->peer_node]] + cable->peer_port) *
           loop->lane_count;
}

typedef void (*edge_visit)(struct check_loop *loop, uint64_t to, void *context);

/* The switch of a buffer, by bisection. */
static uint32_t buffer_switch(const struct check_loop *loop, uint64_t buffer)
{
    uint32_t low = 0, high = loop->switches->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (loop->buffer[middle] <= buffer)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Visits all that a buffer waits for. */
static void vertex_visit(struct check_loop *loop, uint64_t vertex, edge_visit visit, void *context)
{
    uint64_t buffer = vertex / loop->lane_count, lane = vertex % loop->lane_count;
    uint32_t at = buffer_switch(loop, buffer), ports = ports_of(loop, at);
    const uint64_t *row = loop->lanes + loop->base[at] + (buffer - loop->buffer[at]) * ports;
    for (uint32_t out = 1; out < ports; out++) {
        if (row[out] >> lane & 1)
            visit(loop, buffer_behind(loop, at, out) + lane + loop->raises[at], context);
    }
}

static void edge_count(struct check_loop *loop, uint64_t to, void *context)
{
    uint64_t *count = context;
    loop->waiting[to]++;
    (*count)++;
}

static void edge_remove(struct check_loop *loop, uint64_t to, void *context)
{
    uint64_t *end = context;
    if (--loop->waiting[to] == 0)
        loop->queue[(*end)++] = to;
}

struct from {
    uint64_t vertex;
};

static void edge_trace(struct check_loop *loop, uint64_t to, void *context)
{
    const struct from *from = context;
    loop->queue[to] = from->vertex;
}

#define WITNESS_MAX 64

/* What is left after the taking away has something left that waits for it, so going back from one
 * to the next never ends: a buffer comes again, and the way between is a cycle. */
static void cycle_tell(struct check_loop *loop, uint64_t vertices, struct check_report *report)
{
    uint64_t round[WITNESS_MAX], at = 0, steps = 0;
    for (uint64_t v = 0; v < vertices; v++) {
        if (loop->waiting[v] == 0)
            continue;
        struct from from = {.vertex = v};
        vertex_visit(loop, v, edge_trace, &from);
        at = v;
    }
    for (uint64_t i = 0; i < vertices; i++)
        at = loop->queue[at]; /* now surely on a cycle */
    uint64_t start = at;
    do {
        round[steps < WITNESS_MAX ? steps : WITNESS_MAX - 1] = at;
        at = loop->queue[at];
        steps++;
    } while (at != start);
    size_t used = 0, room = sizeof(report->witness);
    for (uint64_t i = steps < WITNESS_MAX ? steps : WITNESS_MAX; i-- > 0 && used + 300 < room;) {
        uint64_t buffer = round[i] / loop->lane_count;
        uint32_t s = buffer_switch(loop, buffer);
        used += (size_t)snprintf(report->witness + used, room - used, "'%.100s' port %u waits for ",
                                 check_switch(loop->switches, s)->name,
                                 (uint32_t)(buffer - loop->buffer[s]));
    }
    snprintf(report->witness + used, room - used, "the first again (%lu buffers in a circle)",
             (unsigned long)steps);
}

int check_loop_find(struct check_loop *loop, struct check_report *report, bool *loop_free)
{
    uint64_t vertices = loop->buffer[loop->switches->count] * loop->lane_count, end = 0;
    ARENA_TAKE(&loop->memory, loop->waiting, vertices + CHECK_LANES_MAX);
    ARENA_TAKE(&loop->memory, loop->queue, vertices + CHECK_LANES_MAX);
    if (loop->memory.is_short)
        return error_fail(-ENOMEM, "no memory to look for cycles");
    report->dependencies = 0;
    for (uint64_t v = 0; v < vertices; v++)
        vertex_visit(loop, v, edge_count, &report->dependencies);
    for (uint64_t v = 0; v < vertices; v++) {
        if (loop->waiting[v] == 0)
            loop->queue[end++] = v;
    }
    for (uint64_t i = 0; i < end; i++)
        vertex_visit(loop, loop->queue[i], edge_remove, &end);
    *loop_free = end == vertices;
    if (!*loop_free)
        cycle_tell(loop, vertices, report);
    return 0;
}
