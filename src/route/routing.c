/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See routing.h.
 *
 * Trees are grown in lanes of work that see each other's loads only at fixed points. How the
 * targets are dealt to the lanes depends on the network alone, so threads change the time and
 * nothing else.
 */
#include "route/routing.h"

#include "base/clock.h"
#include "base/error.h"
#include "route/reach.h"
#include "route/trees.h"
#include "route/tune.h"

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

/* Hops of the longest way from a switch with hosts to a host, and lanes needed by the rule. */
static int ways_measure(struct routing *routing)
{
    const struct net *net = routing->net;
    uint32_t *order = malloc(net->switch_count * sizeof(*order));
    uint32_t *scratch = malloc(LFT_SCRATCH(net) * sizeof(*scratch));
    uint32_t *hops = malloc(net->switch_count * sizeof(*hops));
    uint32_t *lane = malloc(net->switch_count * sizeof(*lane));
    bool enough = order && scratch && hops && lane;
    routing->lane_count = 1;
    for (uint32_t t = 0; enough && t < net->host_count; t++) {
        const uint8_t *next = lft_tree(routing->lft, t);
        uint32_t count = lft_tree_order(routing->lft, t, order, scratch);
        hops[order[0]] = lane[order[0]] = 0;
        for (uint32_t i = 1; i < count; i++) {
            uint32_t at = order[i], to = net->head[net->first[at] + next[at]];
            hops[at] = hops[to] + 1;
            lane[at] = lane[to] + (to != order[0] && routing_lane_raises(routing, to));
            if (net->host_first[at] == net->host_first[at + 1])
                continue;
            if (hops[at] > routing->hops_most)
                routing->hops_most = hops[at];
            if (lane[at] + 1 > routing->lane_count)
                routing->lane_count = lane[at] + 1;
        }
    }
    free(order);
    free(scratch);
    free(hops);
    free(lane);
    return enough ? 0 : error_set(-ENOMEM, ERROR_NO_RANK, "no memory to measure the ways");
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
    int result = turns_make(routing, options);
    if (result == 0 && !(options && options->no_tables))
        result = tables_make(routing, options);
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
