/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See routing.h.
 *
 * Trees are grown in lanes of work that see each other's loads only at fixed points. How the
 * targets are dealt to the lanes depends on the network alone, so threads change the time and
 * nothing else.
 */
#include "route/routing/routing.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "route/trees/trees.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Does a packet change to the next lane at this switch? The rule of reduced channels saves the
 * change at switches with one or two cables. In a plain ring that would be all of them, and the
 * ring would deadlock: there the first switch changes. */
bool routing_lane_raises(const struct routing *routing, uint32_t at)
{
    const struct net *net = routing->net;
    if (routing->algorithm->lanes == ALGORITHM_LANE_PER_HOP)
        return true;
    if (routing->algorithm->lanes == ALGORITHM_ONE_LANE)
        return false;
    return net_degree(net, at) > 2 || (at == 0 && net->degree_max <= 2);
}

#define MEASURE_PARTS 8

struct measure {
    const struct routing *routing;
    uint32_t hops_most[MEASURE_PARTS], lane_most[MEASURE_PARTS];
    _Atomic bool failed;
};

/* How often a packet on its way from a switch changes lanes. */
static uint32_t lanes_raised(const struct routing *routing, const uint8_t *next, uint32_t from)
{
    const struct net *net = routing->net;
    uint32_t count = 0;
    for (uint32_t at = net->head[net->first[from] + next[from]]; next[at] < LFT_HERE;) {
        count += routing_lane_raises(routing, at);
        at = net->head[net->first[at] + next[at]];
    }
    return count;
}

/* Longest way from a switch with hosts to a host. */
static uint32_t tree_hops(const struct routing *routing, uint32_t target, uint32_t *hops)
{
    const struct net *net = routing->net;
    const uint8_t *next = lft_tree(routing->lft, target);
    uint32_t most = 0;
    for (uint32_t s = 0; s < net->switch_count; s++)
        hops[s] = LFT_UNKNOWN;
    hops[net->target_switch[target]] = 0;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (!net_has_hosts(net, s) || next[s] >= LFT_HERE)
            continue;
        uint32_t length = lft_hops(net, next, s, hops);
        if (length != UINT32_MAX && length > most)
            most = length;
    }
    return most;
}

/* Most changes of lane on a way to a target, from wherever. */
static uint32_t tree_lanes(const struct routing *routing, uint32_t target)
{
    const uint8_t *next = lft_tree(routing->lft, target);
    uint32_t most = 0;
    for (uint32_t s = 0; s < routing->net->switch_count; s++) {
        uint32_t raised = next[s] < LFT_HERE ? lanes_raised(routing, next, s) : 0;
        most = raised > most ? raised : most;
    }
    return most;
}

static void part_measure(void *context, uint32_t part)
{
    struct measure *measure = context;
    const struct routing *routing = measure->routing;
    const struct net *net = routing->net;
    bool has_lanes = routing->algorithm->lanes != ALGORITHM_ONE_LANE;
    uint32_t *hops = malloc(net->switch_count * sizeof(*hops)), hops_most = 0, lane_most = 0;
    for (uint32_t t = part; hops && t < net->target_count; t += MEASURE_PARTS) {
        uint32_t length = t < net->host_count ? tree_hops(routing, t, hops) : 0;
        uint32_t lane = has_lanes ? tree_lanes(routing, t) : 0;
        hops_most = length > hops_most ? length : hops_most;
        lane_most = lane > lane_most ? lane : lane_most;
    }
    if (!hops)
        measure->failed = true;
    measure->hops_most[part] = hops_most;
    measure->lane_most[part] = lane_most;
    free(hops);
}

/* The longest way, and the lanes that are needed by the rule. */
static int ways_measure(struct routing *routing)
{
    struct measure measure = {.routing = routing};
    parallel_run(MEASURE_PARTS, part_measure, &measure);
    routing->lane_count = 1;
    for (uint32_t i = 0; i < MEASURE_PARTS; i++) {
        if (measure.hops_most[i] > routing->hops_most)
            routing->hops_most = measure.hops_most[i];
        if (measure.lane_most[i] + 1 > routing->lane_count)
            routing->lane_count = measure.lane_most[i] + 1;
    }
    return measure.failed ? error_set(-ENOMEM, ERROR_NO_RANK, "no memory to measure the ways") : 0;
}

static int turns_make(struct routing *routing, const struct routing_options *options)
{
    struct demand *demand = NULL;
    int64_t start_ns = clock_now_ns();
    int result = demand_create(&demand, routing->traffic);
    if (result == 0)
        result = turns_create(&routing->turns, routing->net);
    if (result == 0)
        result = routing->algorithm->decide(routing->turns, demand,
                                            options ? &options->algorithm : NULL);
    demand_destroy(demand);
    routing->turns_seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    return result;
}

static int tables_make(struct routing *routing, const struct routing_options *options)
{
    int64_t start_ns = clock_now_ns();
    int result = lft_create(&routing->lft, routing->net);
    if (result == 0)
        result = load_create(&routing->load, routing->traffic);
    if (result == 0)
        result = trees_build(routing, options);
    if (result == 0)
        result = ways_measure(routing);
    routing->tables_seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    return result;
}

int routing_create(struct routing **out, const struct traffic *traffic,
                   const struct algorithm *algorithm, const struct routing_options *options)
{
    struct routing *routing = calloc(1, sizeof(*routing));
    if (!routing)
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for a routing");
    routing->net = traffic->net;
    routing->traffic = traffic;
    routing->algorithm = algorithm;
    double start = parallel_cpu_seconds();
    int result = turns_make(routing, options);
    if (result == 0 && !(options && options->no_tables))
        result = tables_make(routing, options);
    routing->cpu_seconds = parallel_cpu_seconds() - start;
    if (result < 0) {
        routing_destroy(routing);
        return result;
    }
    *out = routing;
    return 0;
}

void routing_destroy(struct routing *routing)
{
    if (!routing)
        return;
    turns_destroy(routing->turns);
    lft_destroy(routing->lft);
    load_destroy(routing->load);
    free(routing);
}
