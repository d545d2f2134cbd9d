/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fabric that has fallen apart: what can still be routed as one is kept.
 */
#include "base/error.h"
#include "route/fabric/fabric.h"

#include <stdlib.h>
#include <string.h>

struct parts {
    struct fabric *fabric;
    uint32_t *part; /* switch -> the first switch of its part; FABRIC_NONE: not known, or a host */
    uint32_t *queue;
};

/* Marks all switches that cables lead to from one; hosts pass nothing on. Returns how many hosts
 * hang on them. */
static uint32_t part_mark(struct parts *parts, uint32_t first, uint32_t *count)
{
    const struct fabric_node *nodes = parts->fabric->nodes;
    uint32_t hosts = 0;
    *count = 1;
    parts->queue[0] = first;
    parts->part[first] = first;
    for (uint32_t i = 0; i < *count; i++) {
        const struct fabric_node *node = &nodes[parts->queue[i]];
        for (uint32_t p = 1; p <= node->port_count; p++) {
            uint32_t peer = node->ports[p].peer_node;
            hosts += peer != FABRIC_NONE && nodes[peer].kind == FABRIC_HOST;
            if (peer == FABRIC_NONE || nodes[peer].kind == FABRIC_HOST ||
                parts->part[peer] != FABRIC_NONE)
                continue;
            parts->part[peer] = first;
            parts->queue[(*count)++] = peer;
        }
    }
    return hosts;
}

/* The part with most hosts, of equal ones that with most switches, of equal ones the first. */
static uint32_t part_choose(struct parts *parts)
{
    uint32_t best = FABRIC_NONE, best_hosts = 0, best_count = 0;
    for (uint32_t i = 0; i < parts->fabric->node_count; i++) {
        uint32_t count;
        if (parts->part[i] != FABRIC_NONE || parts->fabric->nodes[i].kind == FABRIC_HOST)
            continue;
        uint32_t hosts = part_mark(parts, i, &count);
        if (best != FABRIC_NONE &&
            (hosts < best_hosts || (hosts == best_hosts && count <= best_count)))
            continue;
        best = i;
        best_hosts = hosts;
        best_count = count;
    }
    return best;
}

/* A host stays if a port of it does; the cables of the others go. One without any cable stays: it
 * is not routed anyway. */
static bool host_stays(struct parts *parts, uint32_t at, uint32_t keep)
{
    struct fabric_node *node = &parts->fabric->nodes[at];
    uint32_t cables = 0, kept = 0;
    for (uint32_t p = 1; p <= node->port_count; p++) {
        uint32_t peer = node->ports[p].peer_node;
        cables += peer != FABRIC_NONE;
        if (peer != FABRIC_NONE && parts->part[peer] == keep)
            kept++;
        else if (peer != FABRIC_NONE)
            fabric_link_cut(parts->fabric, (struct fabric_end){at, (uint16_t)p});
    }
    return kept > 0 || cables == 0;
}

static void node_cut(struct fabric_node *node, struct fabric_cut *cut)
{
    bool is_switch = node->kind == FABRIC_SWITCH;
    if (cut->switches == 0 && (is_switch || cut->hosts == 0))
        snprintf(cut->first, sizeof(cut->first), "%.*s", (int)sizeof(cut->first) - 1, node->name);
    cut->switches += is_switch;
    cut->hosts += !is_switch;
    free(node->name);
    free(node->ports);
}

/* Moves the nodes that stay together; queue[] becomes their new numbers. */
static void nodes_pack(struct parts *parts, uint32_t keep, struct fabric_cut *cut)
{
    struct fabric *fabric = parts->fabric;
    uint32_t count = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        if (fabric->nodes[i].kind == FABRIC_HOST)
            parts->part[i] = host_stays(parts, i, keep) ? keep : FABRIC_NONE;
    }
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        if (parts->part[i] != keep) {
            node_cut(&fabric->nodes[i], cut);
            continue;
        }
        parts->queue[i] = count;
        fabric->nodes[count++] = fabric->nodes[i];
    }
    fabric->node_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct fabric_node *node = &fabric->nodes[i];
        for (uint32_t p = 1; p <= node->port_count; p++) {
            if (node->ports[p].peer_node != FABRIC_NONE)
                node->ports[p].peer_node = parts->queue[node->ports[p].peer_node];
        }
    }
    fabric_names_index(fabric);
}

int fabric_part_keep(struct fabric *fabric, struct fabric_cut *cut)
{
    struct parts parts = {.fabric = fabric};
    memset(cut, 0, sizeof(*cut));
    parts.part = malloc((fabric->node_count + 1) * sizeof(*parts.part));
    parts.queue = malloc((fabric->node_count + 1) * sizeof(*parts.queue));
    int result = 0;
    if (!parts.part || !parts.queue) {
        result = error_fail(-ENOMEM, "no memory for %u nodes", fabric->node_count);
    } else {
        memset(parts.part, 0xff, fabric->node_count * sizeof(*parts.part));
        nodes_pack(&parts, part_choose(&parts), cut);
    }
    free(parts.part);
    free(parts.queue);
    return result;
}
