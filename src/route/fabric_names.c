/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers and groups that a fabric file may leave out: LIDs, GUIDs, and which part of the fabric a
 * node belongs to. All are functions of the file alone, so that two runs agree.
 */
#include "route/fabric.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define GUID_SWITCH 0x0002c90200000000ull
#define GUID_HOST   0x0002c90300000000ull

static void guids_assign(struct fabric *fabric)
{
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        struct fabric_node *node = &fabric->nodes[i];
        bool is_switch = node->kind == FABRIC_SWITCH;
        /* 256 numbers for each host, so that its ports follow its own */
        uint64_t base = is_switch ? GUID_SWITCH + i : GUID_HOST + (uint64_t)i * 256;
        if (node->guid == 0)
            node->guid = base;
        if (is_switch && node->ports[0].guid == 0)
            node->ports[0].guid = node->guid;
        for (uint32_t p = 1; !is_switch && p <= node->port_count; p++) {
            if (node->ports[p].guid == 0)
                node->ports[p].guid = node->guid + p;
        }
    }
}

/* Calls visit for each port that needs a LID: switches' port 0, cabled ports of hosts. */
static struct fabric_port *port_next(const struct fabric *fabric, uint32_t *node, uint32_t *port)
{
    for (; *node < fabric->node_count; (*node)++, *port = 0) {
        struct fabric_node *at = &fabric->nodes[*node];
        if (at->kind == FABRIC_SWITCH && *port == 0) {
            (*port)++;
            return &at->ports[0];
        }
        if (at->kind == FABRIC_SWITCH)
            continue;
        for (uint32_t p = *port + 1; p <= at->port_count; p++) {
            *port = p;
            if (at->ports[p].peer_node != FABRIC_NONE)
                return &at->ports[p];
        }
    }
    return NULL;
}

bool fabric_lids_fit(const struct fabric *fabric)
{
    struct fabric_port *port;
    for (uint32_t node = 0, at = 0; (port = port_next(fabric, &node, &at)) != NULL;) {
        if (port->lid == 0 || port->lid > FABRIC_LID_MAX)
            return false;
    }
    return true;
}

int fabric_lids_assign(struct fabric *fabric)
{
    guids_assign(fabric);
    uint32_t needed = 0, free_lid = 1;
    int given = 0;
    struct fabric_port *port;
    for (uint32_t node = 0, at = 0; (port = port_next(fabric, &node, &at)) != NULL;)
        needed++;
    /* with as many marks as addresses are needed, a free one is always found among them */
    uint8_t *used = calloc(1, needed + 2);
    if (!used)
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for %u LIDs", needed);
    for (uint32_t node = 0, at = 0; (port = port_next(fabric, &node, &at)) != NULL;) {
        if (port->lid <= needed)
            used[port->lid] = 1;
    }
    for (uint32_t node = 0, at = 0; (port = port_next(fabric, &node, &at)) != NULL;) {
        if (port->lid != 0)
            continue;
        while (used[free_lid])
            free_lid++;
        port->lid = free_lid++;
        given++;
    }
    free(used);
    return given;
}

#define GROUPS_MAX 256

/* Length of the part of the name that names the group; 0: no separator, so the unnamed group. */
static size_t group_length(const char *name, char separator)
{
    const char *end = strchr(name, separator);
    return end ? (size_t)(end - name) : 0;
}

void fabric_groups_by_name(struct fabric *fabric, char separator)
{
    const char *first_member[GROUPS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        struct fabric_node *node = &fabric->nodes[i];
        size_t length = group_length(node->name, separator);
        uint32_t group = 0;
        while (group < count && (group_length(first_member[group], separator) != length ||
                                 memcmp(first_member[group], node->name, length) != 0))
            group++;
        if (group == GROUPS_MAX)
            group = GROUPS_MAX - 1; /* so many are surely not what was meant: the rest is one */
        else if (group == count)
            first_member[count++] = node->name;
        node->group = group;
    }
    fabric->group_count = count ? count : 1;
}
