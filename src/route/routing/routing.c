/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See routing.h.
 */
#include "route/routing/routing.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "route/tables/lanes.h"
#include "route/trees/tune.h"

#include <stdlib.h>

#define TUNE_WORK 50000000ull /* table entries to look at while tuning */

static int turns_make(struct routing *routing, struct reach **reach,
                      const struct routing_options *options)
{
    struct demand *demand = NULL;
    int64_t start_ns = clock_now_ns();
    int result = demand_create(&demand, routing->traffic);
    if (result == 0)
        result = turns_create(&routing->turns, routing->net);
    if (result == 0)
        result = routing->algorithm->decide(routing->turns, reach, demand,
                                            options ? &options->algorithm : NULL);
    demand_destroy(demand);
    routing->turns_seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    return result;
}

static int tables_make(struct routing *routing, const struct reach *reach,
                       const struct routing_options *options)
{
    struct tune_options tuning = {.looks_max = TUNE_WORK / routing->net->switch_count + 1,
                                  .longer = routing->algorithm->loop_free};
    struct trees_progress untold = {.tell = NULL};
    int64_t start_ns = clock_now_ns();
    int result = lft_create(&routing->lft, routing->net);
    if (result == 0)
        result = load_create(&routing->load, routing->traffic);
    if (result == 0)
        result = trees_build(routing->lft, routing->load, routing->turns, reach,
                             options ? options->progress : untold);
    if (result == 0)
        result = tune_table(routing->lft, routing->turns, routing->load, &tuning);
    if (result == 0)
        result = lanes_count(routing->lft, routing->algorithm->lanes, routing->net->target_count,
                             &routing->lane_count);
    routing->tables_seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    return result;
}

int routing_create(struct routing **out, const struct traffic *traffic,
                   const struct algorithm *algorithm, const struct routing_options *options)
{
    struct routing *routing = calloc(1, sizeof(*routing));
    if (!routing)
        return error_fail(-ENOMEM, "no memory for a routing");
    routing->net = traffic->net;
    routing->traffic = traffic;
    routing->algorithm = algorithm;
    struct reach *reach = NULL;
    double start = parallel_cpu_seconds();
    int result = turns_make(routing, &reach, options);
    if (result == 0 && !(options && options->no_tables))
        result = tables_make(routing, reach, options);
    reach_destroy(reach);
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
