/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between tables by switch and LID, as switches hold them, and tables by target, as the algorithms
 * work on them. Both are large and lie crosswise to each other, so they are gone through in blocks
 * of targets that fit into the cache.
 */
#include "base/error.h"
#include "route/tables/lft.h"

#include <stdlib.h>
#include <string.h>

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
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for %zu table entries", size);
    memset(dump->port, 255, size);
    for (uint32_t t = 0; t < net->target_count; t += BLOCK)
        block_export(dump, lft, t);
    return 0;
}
