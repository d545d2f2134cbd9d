/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See switches.h.
 */
#include "route/check/switches.h"

#include "base/error.h"

static uint32_t hosts_count(const struct fabric *fabric, const struct fabric_node *node)
{
    uint32_t count = 0;
    for (uint32_t p = 1; p <= node->port_count; p++) {
        uint32_t peer = node->ports[p].peer_node;
        count += peer != FABRIC_NONE && fabric->nodes[peer].kind == FABRIC_HOST;
    }
    return count;
}

int check_switches_find(struct check_switches *switches, const struct fabric *fabric)
{
    size_t nodes = fabric->node_count + 1u;
    *switches = (struct check_switches){.fabric = fabric};
    ARENA_TAKE(&switches->memory, switches->node, nodes);
    ARENA_TAKE(&switches->memory, switches->index, nodes);
    ARENA_TAKE(&switches->memory, switches->hosts, nodes);
    if (switches->memory.is_short) {
        check_switches_free(switches);
        return error_fail(-ENOMEM, "no memory to check %u nodes", fabric->node_count);
    }
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        switches->index[i] = FABRIC_NONE;
        if (fabric->nodes[i].kind != FABRIC_SWITCH)
            continue;
        switches->index[i] = switches->count;
        switches->hosts[switches->count] = hosts_count(fabric, &fabric->nodes[i]);
        switches->node[switches->count++] = i;
    }
    return 0;
}

void check_switches_free(struct check_switches *switches)
{
    arena_free(&switches->memory);
    *switches = (struct check_switches){.fabric = NULL};
}
