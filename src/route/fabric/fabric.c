/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fabric.h.
 */
#include "route/fabric/fabric.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX (1u << 22) /* a limit against files that ask for all memory */

int fabric_create(struct fabric **fabric)
{
    struct fabric *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for a fabric");
    made->hash_size = 64;
    made->hash = malloc(made->hash_size * sizeof(*made->hash));
    if (!made->hash) {
        free(made);
        return error_fail(-ENOMEM, "no memory for a fabric");
    }
    memset(made->hash, 0xff, made->hash_size * sizeof(*made->hash));
    made->group_count = 1;
    *fabric = made;
    return 0;
}

void fabric_destroy(struct fabric *fabric)
{
    if (!fabric)
        return;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        free(fabric->nodes[i].name);
        free(fabric->nodes[i].ports);
    }
    free(fabric->nodes);
    free(fabric->hash);
    free(fabric);
}

static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static uint32_t *hash_slot(const struct fabric *fabric, const char *name)
{
    uint32_t mask = fabric->hash_size - 1;
    uint32_t at = name_hash(name) & mask;
    while (fabric->hash[at] != FABRIC_NONE &&
           strcmp(fabric->nodes[fabric->hash[at]].name, name) != 0)
        at = (at + 1) & mask;
    return &fabric->hash[at];
}

uint32_t fabric_node_find(const struct fabric *fabric, const char *name)
{
    return *hash_slot(fabric, name);
}

void fabric_names_index(struct fabric *fabric)
{
    memset(fabric->hash, 0xff, fabric->hash_size * sizeof(*fabric->hash));
    for (uint32_t i = 0; i < fabric->node_count; i++)
        *hash_slot(fabric, fabric->nodes[i].name) = i;
}

static int hash_grow(struct fabric *fabric)
{
    uint32_t *old = fabric->hash;
    uint32_t size = fabric->hash_size * 2;
    uint32_t *hash = malloc(size * sizeof(*hash));
    if (!hash)
        return error_fail(-ENOMEM, "no memory for %u node names", size);
    fabric->hash = hash;
    fabric->hash_size = size;
    fabric_names_index(fabric);
    free(old);
    return 0;
}

static int nodes_grow(struct fabric *fabric)
{
    if (fabric->node_count == NODES_MAX)
        return error_fail(-E2BIG, "more than %u nodes; split the fabric", NODES_MAX);
    if (!array_grow(&fabric->nodes, &fabric->node_capacity, fabric->node_count + 1))
        return error_fail(-ENOMEM, "no memory for %u nodes", fabric->node_count + 1);
    return 0;
}

int fabric_node_add(struct fabric *fabric, enum fabric_kind kind, const char *name, uint32_t *index)
{
    int result = nodes_grow(fabric);
    if (result == 0 && fabric->node_count * 2 >= fabric->hash_size)
        result = hash_grow(fabric);
    if (result < 0)
        return result;
    uint32_t *slot = hash_slot(fabric, name);
    if (*slot != FABRIC_NONE)
        return error_fail(-EEXIST, "node '%s' is there twice", name);
    struct fabric_node *node = &fabric->nodes[fabric->node_count];
    *node = (struct fabric_node){.kind = kind, .name = strdup(name)};
    node->ports = malloc(sizeof(*node->ports));
    if (!node->name || !node->ports) {
        free(node->name);
        free(node->ports);
        return error_fail(-ENOMEM, "no memory for node '%s'", name);
    }
    node->ports[0] = (struct fabric_port){.peer_node = FABRIC_NONE};
    *slot = fabric->node_count;
    *index = fabric->node_count++;
    return 0;
}

int fabric_node_get(struct fabric *fabric, enum fabric_kind kind, const char *name, uint32_t *index)
{
    *index = fabric_node_find(fabric, name);
    return *index == FABRIC_NONE ? fabric_node_add(fabric, kind, name, index) : 0;
}

int fabric_ports_grow(struct fabric *fabric, uint32_t node, uint32_t port_count)
{
    struct fabric_node *grown = &fabric->nodes[node];
    if (port_count <= grown->port_count)
        return 0;
    if (port_count > FABRIC_PORTS_MAX)
        return error_fail(-ERANGE, "'%s' has port %u, but a forwarding table knows ports up to %d",
                          grown->name, port_count, FABRIC_PORTS_MAX);
    if (!array_resize(&grown->ports, port_count + 1))
        return error_fail(-ENOMEM, "no memory for the ports of '%s'", grown->name);
    for (uint32_t i = grown->port_count + 1u; i <= port_count; i++)
        grown->ports[i] = (struct fabric_port){.peer_node = FABRIC_NONE};
    grown->port_count = (uint16_t)port_count;
    return 0;
}

/* The port itself, or the first free one if it is 0. */
static uint32_t port_choose(const struct fabric *fabric, struct fabric_end end)
{
    if (end.port != 0)
        return end.port;
    const struct fabric_node *node = &fabric->nodes[end.node];
    uint32_t port = 1;
    while (port <= node->port_count && node->ports[port].peer_node != FABRIC_NONE)
        port++;
    return port;
}

static bool port_taken(const struct fabric *fabric, struct fabric_end end, struct fabric_end by)
{
    const struct fabric_port *port = &fabric->nodes[end.node].ports[end.port];
    return port->peer_node != FABRIC_NONE &&
           (port->peer_node != by.node || port->peer_port != by.port);
}

int fabric_link_add(struct fabric *fabric, struct fabric_end a, struct fabric_end b)
{
    uint32_t port_a = port_choose(fabric, a);
    int result = fabric_ports_grow(fabric, a.node, port_a);
    if (result < 0)
        return result;
    a.port = (uint16_t)port_a;
    uint32_t port_b = port_choose(fabric, b);
    if (a.node == b.node && port_b == port_a)
        port_b++; /* both ends free on one node: a loopback cable */
    result = fabric_ports_grow(fabric, b.node, port_b);
    if (result < 0)
        return result;
    b.port = (uint16_t)port_b;
    bool taken_a = port_taken(fabric, a, b);
    if (taken_a || port_taken(fabric, b, a)) {
        struct fabric_end end = taken_a ? a : b;
        struct fabric_port *port = &fabric->nodes[end.node].ports[end.port];
        return error_fail(
            -EEXIST, "'%s' port %u is cabled to '%s' port %u already, not also to '%s'",
            fabric->nodes[end.node].name, end.port, fabric->nodes[port->peer_node].name,
            port->peer_port, fabric->nodes[taken_a ? b.node : a.node].name);
    }
    struct fabric_port *at_a = &fabric->nodes[a.node].ports[a.port];
    struct fabric_port *at_b = &fabric->nodes[b.node].ports[b.port];
    at_a->peer_node = b.node;
    at_a->peer_port = b.port;
    at_b->peer_node = a.node;
    at_b->peer_port = a.port;
    return 0;
}

void fabric_link_cut(struct fabric *fabric, struct fabric_end end)
{
    struct fabric_port *port = &fabric->nodes[end.node].ports[end.port];
    if (port->peer_node == FABRIC_NONE)
        return;
    fabric->nodes[port->peer_node].ports[port->peer_port].peer_node = FABRIC_NONE;
    port->peer_node = FABRIC_NONE;
}

uint32_t fabric_count(const struct fabric *fabric, enum fabric_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++)
        count += fabric->nodes[i].kind == kind;
    return count;
}
