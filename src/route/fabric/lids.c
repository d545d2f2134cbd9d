/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses. LIDs: what files say, whether that can be, and new ones for ports without. GUIDs for
 * what has none. New ones are a function of the file alone, so that two runs agree.
 */
#include "base/error.h"
#include "route/fabric/fabric.h"

#include <stdlib.h>

#define GUID_SWITCH 0x0002c90200000000ull
#define GUID_HOST   0x0002c90300000000ull
#define LMC_MAX     7
#define LID_NONE    0xffff /* what a port says that no subnet manager has seen yet */

int fabric_lid_set(struct fabric *fabric, struct fabric_end end, struct fabric_lid lid)
{
    const struct fabric_node *node = &fabric->nodes[end.node];
    struct fabric_port *port = &node->ports[end.port];
    if (lid.lid == 0 || lid.lid == LID_NONE)
        return 0;
    if (lid.lmc > LMC_MAX)
        return error_fail(-ERANGE, "'%s' port %u: LMC %u, at most %d is possible", node->name,
                          end.port, lid.lmc, LMC_MAX);
    uint32_t count = 1u << lid.lmc;
    if (lid.lid + count - 1 > FABRIC_LID_MAX)
        return error_fail(-ERANGE,
                          "'%s' port %u: LID %u (LMC %u) is no unicast LID; they go from 1 to %d",
                          node->name, end.port, lid.lid, lid.lmc, FABRIC_LID_MAX);
    if (lid.lid % count != 0)
        return error_fail(-EINVAL, "'%s' port %u: LID %u is no multiple of %u, as LMC %u demands",
                          node->name, end.port, lid.lid, count, lid.lmc);
    if (port->lid != 0 && port->lid != lid.lid)
        return error_fail(-EEXIST,
                          "'%s' port %u has LID %u here and LID %u in line %u; discover the fabric "
                          "again when the subnet manager is done",
                          node->name, end.port, lid.lid, port->lid, port->lid_line);
    port->lid = lid.lid;
    port->lid_line = lid.line;
    if (port->lmc < lid.lmc)
        port->lmc = (uint8_t)lid.lmc; /* only one of the lines that name a port tells it */
    return 0;
}

/* The next port that needs a LID: switches' port 0, cabled ports of hosts. */
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
        if (port->lid == 0 || port->lid + fabric_lid_count(port) - 1 > FABRIC_LID_MAX)
            return false;
    }
    return true;
}

/* By node number. */
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

int fabric_lids_assign(struct fabric *fabric)
{
    guids_assign(fabric);
    uint32_t needed = 0, free_lid = 1;
    int given = 0;
    struct fabric_port *port;
    for (uint32_t node = 0, at = 0; (port = port_next(fabric, &node, &at)) != NULL;)
        needed += fabric_lid_count(port);
    /* with as many marks as addresses are needed, a free one is always found among them */
    uint8_t *used = calloc(1, needed + 2);
    if (!used)
        return error_fail(-ENOMEM, "no memory for %u LIDs", needed);
    for (uint32_t node = 0, at = 0; (port = port_next(fabric, &node, &at)) != NULL;) {
        for (uint32_t i = 0; port->lid && i < fabric_lid_count(port) && port->lid + i <= needed;
             i++)
            used[port->lid + i] = 1;
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

struct owner {
    uint32_t node;
    uint16_t port;
};

static int twice(const struct fabric *fabric, uint32_t lid, struct owner a, struct owner b,
                 uint32_t *line)
{
    const struct fabric_node *x = &fabric->nodes[a.node], *y = &fabric->nodes[b.node];
    bool a_last = x->ports[a.port].lid_line > y->ports[b.port].lid_line;
    *line = a_last ? x->ports[a.port].lid_line : y->ports[b.port].lid_line;
    return error_fail(
        -EEXIST,
        "LID %u belongs to both '%.60s' port %u and '%.60s' port %u (line %u); have the "
        "subnet manager assign LIDs anew and discover the fabric again",
        lid, x->name, a.port, y->name, b.port,
        a_last ? y->ports[b.port].lid_line : x->ports[a.port].lid_line);
}

int fabric_lids_check(const struct fabric *fabric, uint32_t *line)
{
    struct owner *owners = malloc((FABRIC_LID_MAX + 1u) * sizeof(*owners));
    int result = 0;
    if (!owners)
        return error_fail(-ENOMEM, "no memory to check LIDs");
    for (uint32_t lid = 0; lid <= FABRIC_LID_MAX; lid++)
        owners[lid].node = FABRIC_NONE;
    for (uint32_t i = 0; i < fabric->node_count && result == 0; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        uint32_t last = node->kind == FABRIC_SWITCH ? 0 : node->port_count;
        for (uint32_t p = node->kind == FABRIC_SWITCH ? 0 : 1; p <= last && result == 0; p++) {
            struct owner here = {i, (uint16_t)p};
            uint32_t lid = node->ports[p].lid, end = lid + fabric_lid_count(&node->ports[p]);
            for (; node->ports[p].lid != 0 && lid < end && result == 0; lid++) {
                if (owners[lid].node != FABRIC_NONE)
                    result = twice(fabric, lid, owners[lid], here, line);
                owners[lid] = here;
            }
        }
    }
    free(owners);
    return result;
}
