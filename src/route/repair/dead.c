/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the entries of a table that lead nowhere any more, and, from the fabric as it was, where
 * they led.
 */
#include "base/array.h"
#include "base/error.h"
#include "route/fabric/guids.h"
#include "route/repair/repair.h"

#include <stdlib.h>
#include <string.h>

/* From switches of the fabric as it is to those of the fabric as it was, and back. */
struct finder {
    const struct net *net;
    const struct lft_dump *old;
    const struct fabric *old_fabric;
    struct guids now, then;
    uint32_t *then_node; /* number of a switch, as it was -> node */
};

static int finder_open(struct finder *finder)
{
    const struct fabric *old = finder->old_fabric;
    uint32_t count = 0;
    int result = guids_create(&finder->now, finder->net->fabric);
    if (result == 0)
        result = guids_create(&finder->then, old);
    finder->then_node = malloc((old->node_count + 1) * sizeof(*finder->then_node));
    if (result == 0 && !finder->then_node)
        result = error_fail(-ENOMEM, "no memory for %u nodes", old->node_count);
    for (uint32_t i = 0; result == 0 && i < old->node_count; i++) {
        if (old->nodes[i].kind == FABRIC_SWITCH)
            finder->then_node[count++] = i;
    }
    return result;
}

static void finder_close(struct finder *finder)
{
    guids_destroy(&finder->now);
    guids_destroy(&finder->then);
    free(finder->then_node);
}

/* The switch that an entry led to. *known: it led to a switch that is still there, or nowhere. */
static uint32_t ahead_find(const struct finder *finder, uint32_t target, uint32_t at, bool *known)
{
    const struct net *net = finder->net;
    uint32_t lid = net->target_lid[target];
    uint8_t port = lid < finder->old->lid_count
                       ? finder->old->port[(size_t)at * finder->old->lid_count + lid]
                       : 255;
    if (port == 255)
        return FABRIC_NONE;
    *known = false;
    uint32_t then = guids_find(&finder->then, net->fabric->nodes[net->node[at]].guid);
    if (then == FABRIC_NONE)
        return FABRIC_NONE;
    const struct fabric_node *node = &finder->old_fabric->nodes[finder->then_node[then]];
    uint32_t peer = port <= node->port_count ? node->ports[port].peer_node : FABRIC_NONE;
    if (peer == FABRIC_NONE || finder->old_fabric->nodes[peer].kind != FABRIC_SWITCH)
        return FABRIC_NONE;
    uint32_t ahead = guids_find(&finder->now, finder->old_fabric->nodes[peer].guid);
    *known = ahead != FABRIC_NONE;
    return ahead;
}

static bool dead_add(struct dead_list *list, struct dead dead)
{
    if (!array_grow(&list->items, &list->room, list->count + 1))
        return false;
    list->items[list->count++] = dead;
    return true;
}

/* The dead entries of one target. */
static bool target_search(struct dead_list *list, const struct finder *finder,
                          const struct lft *lft, uint32_t target)
{
    const uint8_t *next = lft_tree(lft, target), *at = next, *end = at + lft->net->switch_count;
    while ((at = memchr(at, LFT_NONE, (size_t)(end - at))) != NULL) {
        bool known = true;
        struct dead dead = {.target = target, .at = (uint32_t)(at++ - next)};
        dead.ahead = ahead_find(finder, target, dead.at, &known);
        list->complete = list->complete && known;
        if (!dead_add(list, dead))
            return false;
    }
    return true;
}

int dead_list_create(struct dead_list *list, const struct lft *lft, const struct lft_dump *old,
                     const struct fabric *old_fabric)
{
    struct finder finder = {.net = lft->net, .old = old, .old_fabric = old_fabric};
    *list = (struct dead_list){.complete = true};
    int result = finder_open(&finder);
    for (uint32_t t = 0; result == 0 && t < lft->net->target_count; t++) {
        if (!target_search(list, &finder, lft, t))
            result = error_fail(-ENOMEM, "no memory for %zu dead entries", list->count);
    }
    if (result == 0 && finder.then.count > finder.now.count)
        list->complete = false; /* ways through a switch that is gone cannot be followed */
    finder_close(&finder);
    if (result < 0)
        dead_list_destroy(list);
    return result;
}

void dead_list_destroy(struct dead_list *list)
{
    free(list->items);
    list->items = NULL;
}

uint64_t repair_unavoidable(const struct lft *in_use, const struct reach *reach,
                            const struct dead_list *dead)
{
    const struct net *net = in_use->net;
    uint64_t count = 0;
    for (size_t i = 0; i < dead->count; i++) {
        uint32_t target = dead->items[i].target, root = net->target_switch[target];
        if (i > 0 && dead->items[i - 1].target == target)
            continue;
        const uint8_t *next = lft_tree(in_use, target);
        for (uint32_t s = 0; s < net->switch_count; s++) {
            if (!net_has_hosts(net, root) && !net_has_hosts(net, s))
                continue;
            count += next[s] == LFT_NONE ||
                     (next[s] != LFT_HERE && !reach_has(reach, net->first[s] + next[s], root));
        }
    }
    return count;
}
