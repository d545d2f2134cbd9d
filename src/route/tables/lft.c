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
        return error_fail(-ENOMEM, "no memory for %zu table entries", size);
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

/* Tables by switch and LID, and tables by target, are both large and lie crosswise to each other:
 * they are gone through in blocks of targets that fit into the cache. */
#define BLOCK 64 /* targets */

static void block_import(struct lft *lft, const struct lft_dump *dump, const uint8_t *slots,
                         uint32_t from)
{
    const struct net *net = lft->net;
    uint32_t end = from + BLOCK < net->target_count ? from + BLOCK : net->target_count;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        const uint8_t *row = dump->port + (size_t)s * dump->lid_count;
        const uint8_t *slot = slots + (size_t)s * NET_PORTS;
        for (uint32_t t = from; t < end; t++) {
            uint32_t lid = net->target_lid[t];
            if (lid != 0 && lid < dump->lid_count)
                lft->next[(size_t)t * net->switch_count + s] = slot[row[lid]];
        }
    }
}

/* The entries at the targets' own switches. */
static void roots_import(struct lft *lft, const struct lft_dump *dump)
{
    const struct net *net = lft->net;
    for (uint32_t t = 0; t < net->target_count; t++) {
        uint32_t lid = net->target_lid[t], root = net->target_switch[t];
        bool known = lid != 0 && lid < dump->lid_count;
        uint8_t port = known ? dump->port[(size_t)root * dump->lid_count + lid] : 255;
        lft_tree(lft, t)[root] = port == net->target_port[t] ? LFT_HERE : LFT_NONE;
    }
}

int lft_import(struct lft **out, const struct net *net, const struct lft_dump *dump)
{
    struct lft *lft = NULL;
    uint8_t *slots = NULL;
    int result = net_port_slots(net, &slots);
    if (result == 0)
        result = lft_create(&lft, net);
    for (uint32_t t = 0; result == 0 && t < net->target_count; t += BLOCK)
        block_import(lft, dump, slots, t);
    if (result == 0) {
        roots_import(lft, dump);
        *out = lft;
    }
    free(slots);
    return result;
}

static void block_export(struct lft_dump *dump, const struct lft *lft, uint32_t from)
{
    const struct net *net = lft->net;
    uint32_t end = from + BLOCK < net->target_count ? from + BLOCK : net->target_count;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        uint8_t *row = dump->port + (size_t)s * dump->lid_count;
        const uint8_t *port = net->port + net->first[s];
        for (uint32_t t = from; t < end; t++) {
            uint8_t next = lft->next[(size_t)t * net->switch_count + s];
            if (next > LFT_HERE)
                continue;
            uint8_t *entry = row + net->target_lid[t], *last = entry + (1u << net->target_lmc[t]);
            for (; entry < last; entry++)
                *entry = next < LFT_HERE ? port[next] : net->target_port[t];
        }
        row[0] = 255; /* targets without a LID have gone there */
    }
}

int lft_export(struct lft_dump *dump, const struct lft *lft)
{
    const struct net *net = lft->net;
    uint32_t lid_last = 0;
    for (uint32_t t = 0; t < net->target_count; t++) {
        uint32_t last = net->target_lid[t] + (1u << net->target_lmc[t]) - 1;
        lid_last = last > lid_last ? last : lid_last;
    }
    *dump = (struct lft_dump){.lid_count = lid_last + 1, .switch_count = net->switch_count};
    size_t size = (size_t)dump->switch_count * dump->lid_count;
    dump->port = malloc(size + 1);
    if (!dump->port)
        return error_fail(-ENOMEM, "no memory for %zu table entries", size);
    memset(dump->port, 255, size);
    for (uint32_t t = 0; t < net->target_count; t += BLOCK)
        block_export(dump, lft, t);
    return 0;
}
