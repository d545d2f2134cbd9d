/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes.h.
 */
#include "route/tables/lanes.h"

#include "base/error.h"

#include <stdlib.h>

/* The rule of reduced channels saves the change at switches with one or two cables. In a plain ring
 * that would be all of them, and the ring would deadlock: there the first switch changes. */
bool lanes_raise(const struct net *net, enum algorithm_lanes lanes, uint32_t at)
{
    if (lanes != ALGORITHM_LANE_AT_BRANCHES)
        return lanes == ALGORITHM_LANE_PER_HOP;
    return net_degree(net, at) > 2 || (at == 0 && net->degree_max <= 2);
}

/* Most changes of lane on a way to a target. raised[] is what each switch's way has. */
static uint32_t tree_raised(const struct lft *table, enum algorithm_lanes lanes, uint32_t target,
                            const uint32_t *order, uint32_t order_count, uint32_t *raised)
{
    const struct net *net = table->net;
    const uint8_t *next = lft_tree(table, target);
    uint32_t most = 0;
    raised[order[0]] = 0;
    for (uint32_t i = 1; i < order_count; i++) {
        uint32_t at = order[i], to = net->head[net->first[at] + next[at]];
        raised[at] = raised[to] + (to != order[0] && lanes_raise(net, lanes, to));
        most = raised[at] > most ? raised[at] : most;
    }
    return most;
}

int lanes_count(const struct lft *table, enum algorithm_lanes lanes, uint32_t target_count,
                uint32_t *count)
{
    const struct net *net = table->net;
    uint32_t *order = malloc(net->switch_count * sizeof(*order));
    uint32_t *scratch = malloc(LFT_SCRATCH(net) * sizeof(*scratch));
    uint32_t *raised = malloc(net->switch_count * sizeof(*raised)), most = 0;
    int result = order && scratch && raised
                     ? 0
                     : error_fail(-ENOMEM, "no memory to count virtual channels");
    if (lanes == ALGORITHM_ONE_LANE)
        target_count = 0; /* one, however long the ways are */
    for (uint32_t t = 0; result == 0 && t < target_count; t++) {
        uint32_t reached = lft_tree_order(table, t, order, scratch);
        uint32_t here = tree_raised(table, lanes, t, order, reached, raised);
        most = here > most ? here : most;
    }
    free(order);
    free(scratch);
    free(raised);
    if (result == 0)
        *count = most + 1;
    return result;
}
