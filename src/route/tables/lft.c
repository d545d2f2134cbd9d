/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lft.h.
 */
#include "route/tables/lft.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int lft_create(struct lft **out, const struct net *net)
{
    size_t size = (size_t)net->target_count * net->switch_count;
    struct lft *table = calloc(1, sizeof(*table));
    if (table) {
        table->net = net;
        table->next = malloc(size);
    }
    if (!table || !table->next) {
        free(table);
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for %zu table entries", size);
    }
    memset(table->next, LFT_NONE, size);
    *out = table;
    return 0;
}

void lft_destroy(struct lft *table)
{
    if (!table)
        return;
    free(table->next);
    free(table);
}

#define DEPTH_UNKNOWN 0u /* depths are stored as depth + 1 */
#define DEPTH_ON_WAY  (UINT32_MAX - 1)
#define DEPTH_NONE    UINT32_MAX

/* Depth + 1 of a switch in the tree, by following its way to the first one whose depth is known. */
static void depth_find(const struct net *net, const uint8_t *next, uint32_t from, uint32_t *depth,
                       uint32_t *way)
{
    uint32_t count = 0, at = from;
    while (depth[at] == DEPTH_UNKNOWN && next[at] < LFT_HERE) {
        depth[at] = DEPTH_ON_WAY;
        way[count++] = at;
        at = net->head[net->first[at] + next[at]];
    }
    /* no entry, or round in a circle: then none of these has a depth */
    uint32_t found = depth[at] == DEPTH_UNKNOWN || depth[at] >= DEPTH_ON_WAY ? DEPTH_NONE
                                                                             : depth[at];
    while (count-- > 0)
        depth[way[count]] = found == DEPTH_NONE ? DEPTH_NONE : ++found;
    if (depth[from] == DEPTH_UNKNOWN)
        depth[from] = DEPTH_NONE;
}

uint32_t lft_order_find(const struct net *net, const uint8_t *next, uint32_t root, uint32_t *order,
                        uint32_t *scratch)
{
    uint32_t count = 0, *depth = scratch, *start = scratch + net->switch_count;
    memset(scratch, 0, (2 * net->switch_count + 2) * sizeof(*scratch));
    depth[root] = 1;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (depth[s] == DEPTH_UNKNOWN)
            depth_find(net, next, s, depth, order);
    }
    /* by depth, by counting; start[d] is where depth d begins */
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (depth[s] != DEPTH_NONE)
            start[depth[s] + 1]++;
    }
    for (uint32_t d = 1; d <= net->switch_count; d++)
        start[d + 1] += start[d];
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (depth[s] == DEPTH_NONE)
            continue;
        order[start[depth[s]]++] = s;
        count++;
    }
    return count;
}

uint32_t lft_hops(const struct net *net, const uint8_t *next, uint32_t from, uint32_t *hops)
{
    uint32_t at = from, count = 0;
    while (hops[at] == LFT_UNKNOWN && next[at] < LFT_HERE && count < net->switch_count) {
        at = net->head[net->first[at] + next[at]];
        count++;
    }
    uint32_t found = hops[at] == LFT_UNKNOWN ? UINT32_MAX : hops[at];
    uint32_t result = found == UINT32_MAX ? found : found + count;
    for (at = from; count > 0; count--, at = net->head[net->first[at] + next[at]])
        hops[at] = found == UINT32_MAX ? found : found + count;
    return hops[from] = result;
}

/* From a switch on a circle, once round. */
static uint64_t circle_break(const struct net *net, uint8_t *next, uint32_t from)
{
    uint64_t broken = 0;
    for (uint32_t at = from; next[at] < LFT_HERE; broken++) {
        uint32_t to = net->head[net->first[at] + next[at]];
        next[at] = LFT_NONE;
        at = to;
    }
    return broken;
}

uint64_t lft_circles_break(struct lft *table)
{
    const struct net *net = table->net;
    uint64_t broken = 0;
    for (uint32_t t = 0; t < net->target_count; t++) {
        uint8_t *next = lft_tree(table, t);
        for (uint32_t s = 0; s < net->switch_count; s++) {
            uint32_t at = s, steps = 0;
            while (next[at] < LFT_HERE && steps++ < net->switch_count)
                at = net->head[net->first[at] + next[at]];
            if (next[at] < LFT_HERE)
                broken += circle_break(net, next, at);
        }
    }
    return broken;
}

uint64_t lft_difference(const struct lft *a, const struct lft *b)
{
    uint64_t different = 0;
    size_t size = (size_t)a->net->target_count * a->net->switch_count;
    for (size_t i = 0; i < size; i++)
        different += a->next[i] != b->next[i];
    return different;
}
