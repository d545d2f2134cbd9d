/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See demand.h. For each switch with hosts a breadth-first search gives the shortest paths to it,
 * then the traffic is pushed along them, farthest switch first.
 *
 * Every output of a switch carries the same share, so a share is kept for each switch and not for
 * each channel. Adding each turn for each of these switches would cost in x out at every switch
 * every time. But most of the time a switch uses the same set of outputs as for the destination
 * before, so what comes in is summed per input, what goes out per switch, and both are dealt out
 * only when that set changes.
 */
#include "route/turns/demand.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

#define DEMAND_PARTS 2 /* fixed: rounding must not depend on the number of threads */
#define MASK_WORDS   4 /* 254 slots */

struct part {
    struct arena memory; /* of the arrays */
    double *turn;
    double *share, *hops; /* per switch, for the destination at hand: on each of its outputs */
    double *out_flow, *out_position; /* per switch: shares since the output set last changed */
    double *flow_sum, *position_sum; /* per channel */
    double *pending;   /* per channel: traffic in by its slot since the output set last changed */
    uint64_t *outputs; /* per switch: the output set, MASK_WORDS each */
    uint32_t *order, *distance;
    double *source;
};

struct job {
    const struct traffic *traffic;
    struct demand *demand;
    struct part part[DEMAND_PARTS];
    _Atomic bool failed;
};

static void part_free(struct part *part)
{
    free(part->turn);
    arena_free(&part->memory);
}

static bool part_allocate(struct part *part, const struct net *net, size_t turn_count)
{
    size_t channels = net->channel_count + 1, switches = net->switch_count;
    part->turn = calloc(turn_count + 1, sizeof(double));
    ARENA_TAKE(&part->memory, part->share, switches);
    ARENA_TAKE(&part->memory, part->hops, switches);
    ARENA_TAKE(&part->memory, part->out_flow, switches);
    ARENA_TAKE(&part->memory, part->out_position, switches);
    ARENA_TAKE(&part->memory, part->flow_sum, channels);
    ARENA_TAKE(&part->memory, part->position_sum, channels);
    ARENA_TAKE(&part->memory, part->pending, channels);
    ARENA_TAKE(&part->memory, part->outputs, switches * MASK_WORDS);
    ARENA_TAKE(&part->memory, part->order, switches);
    ARENA_TAKE(&part->memory, part->distance, switches);
    ARENA_TAKE(&part->memory, part->source, switches);
    return part->turn && !part->memory.is_short;
}

/* Deals out what came in by each slot, and went out, while this set of outputs was in use. */
static void flush(const struct demand *demand, struct part *part, uint32_t at)
{
    const struct net *net = demand->net;
    uint32_t first = net->first[at], degree = net_degree(net, at);
    const uint64_t *outputs = part->outputs + (size_t)at * MASK_WORDS;
    double *matrix = part->turn + demand->base[at];
    for (uint32_t i = 0; i < degree; i++) {
        double amount = part->pending[first + i];
        if (amount == 0)
            continue;
        part->pending[first + i] = 0;
        for (uint32_t w = 0; w * 64 < degree; w++) {
            for (uint64_t bits = outputs[w]; bits; bits &= bits - 1)
                matrix[i * degree + w * 64 + (uint32_t)__builtin_ctzll(bits)] += amount;
        }
    }
    for (uint32_t w = 0; w * 64 < degree; w++) {
        for (uint64_t bits = outputs[w]; bits; bits &= bits - 1) {
            uint32_t c = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
            part->flow_sum[c] += part->out_flow[at];
            part->position_sum[c] += part->out_position[at];
        }
    }
    part->out_flow[at] = part->out_position[at] = 0;
}

/* Slots that lead nearer to the root, and slots that lead away from it. */
struct slots {
    uint64_t nearer[MASK_WORDS], farther[MASK_WORDS];
    uint32_t words, nearer_count;
};

static void slots_find(const struct net *net, const struct part *part, uint32_t at,
                       struct slots *slots)
{
    uint32_t degree = net_degree(net, at), distance = part->distance[at];
    const uint32_t *head = net->head + net->first[at];
    slots->words = (degree + 63) / 64;
    slots->nearer_count = 0;
    for (uint32_t w = 0; w < slots->words; w++) {
        uint32_t end = degree - w * 64 < 64 ? degree - w * 64 : 64;
        uint64_t nearer = 0, farther = 0;
        for (uint32_t i = 0; i < end; i++) {
            uint32_t there = part->distance[head[w * 64 + i]];
            nearer |= (uint64_t)(there + 1 == distance) << i;
            farther |= (uint64_t)(there == distance + 1) << i;
        }
        slots->nearer[w] = nearer;
        slots->farther[w] = farther;
        slots->nearer_count += (uint32_t)__builtin_popcountll(nearer);
    }
}

/* Pushes what arrives at one switch, and what starts there, on to its outputs. */
static void push(const struct demand *demand, struct part *part, uint32_t at)
{
    const struct net *net = demand->net;
    struct slots slots;
    slots_find(net, part, at, &slots);
    uint64_t *before = part->outputs + (size_t)at * MASK_WORDS;
    if (memcmp(before, slots.nearer, slots.words * sizeof(*before)) != 0) {
        flush(demand, part, at);
        memcpy(before, slots.nearer, slots.words * sizeof(*before));
    }
    double total = part->source[at], hops = 0, part_of = 1.0 / slots.nearer_count;
    for (uint32_t w = 0; w < slots.words; w++) {
        for (uint64_t bits = slots.farther[w]; bits; bits &= bits - 1) {
            uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
            uint32_t c = net->first[at] + slot, from = net->head[c];
            total += part->share[from];
            hops += part->hops[from];
            part->pending[c] += part->share[from] * part_of;
        }
    }
    hops += total - part->source[at];
    part->share[at] = total * part_of;
    part->hops[at] = hops * part_of;
    part->out_flow[at] += part->share[at];
    part->out_position[at] += part->hops[at] - part->share[at] * (part->distance[at] - 1.0);
}

static void part_run(void *context, uint32_t number)
{
    struct job *job = context;
    struct part *part = &job->part[number];
    const struct net *net = job->traffic->net;
    size_t turn_count = job->demand->base[net->switch_count];
    if (!part_allocate(part, net, turn_count)) {
        job->failed = true;
        return;
    }
    for (uint32_t root = number; root < net->switch_count; root += DEMAND_PARTS) {
        if (!net_has_hosts(net, root))
            continue;
        traffic_weights(job->traffic, root, part->source);
        part->order[0] = root;
        net_levels(net, part->distance, part->order, 1);
        for (uint32_t i = net->switch_count; i-- > 1;)
            push(job->demand, part, part->order[i]);
    }
    for (uint32_t s = 0; s < net->switch_count; s++)
        flush(job->demand, part, s);
}

static void parts_sum(struct job *job)
{
    struct demand *demand = job->demand;
    const struct net *net = demand->net;
    size_t turn_count = demand->base[net->switch_count];
    demand->turn = job->part[0].turn;
    job->part[0].turn = NULL;
    for (size_t i = 0; i < turn_count; i++)
        demand->turn[i] += job->part[1].turn[i];
    for (uint32_t c = 0; c < net->channel_count; c++) {
        double flow = job->part[0].flow_sum[c] + job->part[1].flow_sum[c];
        double sum = job->part[0].position_sum[c] + job->part[1].position_sum[c];
        demand->position[c] = flow > 0 ? sum / flow : 0;
    }
}

int demand_create(struct demand **out, const struct traffic *traffic)
{
    const struct net *net = traffic->net;
    struct demand *demand = arena_owner(sizeof(*demand));
    struct job job = {.traffic = traffic, .demand = demand};
    bool enough = demand != NULL;
    if (enough) {
        demand->net = net;
        demand->traffic = traffic;
        ARENA_TAKE(&demand->memory, demand->base, net->switch_count + 1);
        ARENA_TAKE(&demand->memory, demand->position, net->channel_count + 1);
        enough = !demand->memory.is_short;
    }
    if (enough) {
        size_t turn_count = 0;
        for (uint32_t s = 0; s < net->switch_count; s++) {
            demand->base[s] = turn_count;
            turn_count += (size_t)net_degree(net, s) * net_degree(net, s);
        }
        demand->base[net->switch_count] = turn_count;
        parallel_run(DEMAND_PARTS, part_run, &job);
        enough = !job.failed;
    }
    if (enough)
        parts_sum(&job);
    for (uint32_t i = 0; i < DEMAND_PARTS; i++)
        part_free(&job.part[i]);
    if (!enough) {
        demand_destroy(demand);
        return error_fail(-ENOMEM, "no memory for the demand of %u channels", net->channel_count);
    }
    *out = demand;
    return 0;
}

void demand_destroy(struct demand *demand)
{
    if (!demand)
        return;
    free(demand->turn);
    arena_owner_free(demand);
}
