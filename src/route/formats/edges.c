/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plain edge list, for people and scripts:
 *
 *   # a comment
 *   switch s1            a switch (a node that only appears in cables is one too)
 *   host h1              a host
 *   s1 s2                a cable on the first free ports
 *   s1:3 h1:1            a cable on given ports
 *   hosts s1 16          16 hosts on s1
 *   group left s1 s2     puts nodes, and the hosts on them, into a named group
 */
#include "base/error.h"
#include "route/formats/formats.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LENGTH 128
#define GROUPS_MAX      64

struct edges {
    struct fabric *fabric;
    struct lines *source;
    char groups[GROUPS_MAX][NAME_MAX_LENGTH];
    uint32_t group_count;
};

static int name_take(struct edges *reader, const char **at, char *name)
{
    source_blanks_skip(at);
    if (!source_word_take(at, name, NAME_MAX_LENGTH) || name[0] == '\0')
        return source_error(reader->source, "a node's name must follow here: '%.40s'", *at);
    return 0;
}

/* A name that no line has declared is a switch's. */
static int node_get(struct edges *reader, const char *name, uint32_t *node)
{
    int result = fabric_node_get(reader->fabric, FABRIC_SWITCH, name, node);
    return result < 0 ? source_error_wrap(reader->source, result) : 0;
}

/* Nothing but a comment may follow. */
static int line_end(struct edges *reader, const char *at)
{
    source_blanks_skip(&at);
    if (*at != '\0' && *at != '#')
        return source_error(reader->source, "the line should end before this: '%.40s'", at);
    return 0;
}

static int node_declare(struct edges *reader, const char *at, enum fabric_kind kind)
{
    char name[NAME_MAX_LENGTH];
    uint32_t node;
    int result = name_take(reader, &at, name);
    if (result == 0)
        result = line_end(reader, at);
    if (result == 0) {
        result = fabric_node_add(reader->fabric, kind, name, &node);
        if (result < 0)
            source_error_wrap(reader->source, result);
    }
    return result;
}

static int hosts_read(struct edges *reader, const char *at)
{
    char name[NAME_MAX_LENGTH];
    uint32_t node, count;
    int result = name_take(reader, &at, name);
    if (result == 0)
        result = node_get(reader, name, &node);
    if (result < 0)
        return result;
    source_blanks_skip(&at);
    if (!source_number_take(&at, &count) || count > FABRIC_PORTS_MAX)
        return source_error(reader->source, "a number of hosts up to %d must follow here: '%.40s'",
                            FABRIC_PORTS_MAX, at);
    result = line_end(reader, at);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        char host[NAME_MAX_LENGTH + 16];
        uint32_t index;
        snprintf(host, sizeof(host), "h%s.%u", name, i);
        result = fabric_node_add(reader->fabric, FABRIC_HOST, host, &index);
        if (result == 0) {
            reader->fabric->nodes[index].group = reader->fabric->nodes[node].group;
            result = fabric_link_add(reader->fabric, (struct fabric_end){node, 0},
                                     (struct fabric_end){index, 1});
        }
    }
    return result < 0 ? source_error_wrap(reader->source, result) : 0;
}

static int group_read(struct edges *reader, const char *at)
{
    char name[NAME_MAX_LENGTH];
    int result = name_take(reader, &at, name);
    uint32_t group = 0;
    while (result == 0 && group < reader->group_count && strcmp(reader->groups[group], name) != 0)
        group++;
    if (result == 0 && group == GROUPS_MAX)
        result = source_error(reader->source, "more than %d groups", GROUPS_MAX);
    if (result == 0 && group == reader->group_count)
        memcpy(reader->groups[reader->group_count++], name, sizeof(name));
    while (result == 0) {
        uint32_t node;
        source_blanks_skip(&at);
        if (*at == '\0' || *at == '#')
            break;
        result = name_take(reader, &at, name);
        if (result == 0)
            result = node_get(reader, name, &node);
        if (result == 0)
            reader->fabric->nodes[node].group = group;
    }
    return result;
}

/* "name" or "name:port"; a name may hold colons itself as long as no number follows the last. */
static int end_take(struct edges *reader, const char **at, struct fabric_end *end)
{
    char name[NAME_MAX_LENGTH];
    int result = name_take(reader, at, name);
    if (result < 0)
        return result;
    char *colon = strrchr(name, ':');
    uint32_t port = 0;
    const char *digits = colon ? colon + 1 : "";
    if (colon && source_number_take(&digits, &port) && *digits == '\0') {
        if (port == 0 || port > FABRIC_PORTS_MAX)
            return source_error(reader->source, "port %u: ports go from 1 to %d", port,
                                FABRIC_PORTS_MAX);
        *colon = '\0';
    }
    end->port = (uint16_t)port;
    return node_get(reader, name, &end->node);
}

static int cable_read(struct edges *reader, const char *at)
{
    struct fabric_end a, b;
    int result = end_take(reader, &at, &a);
    if (result == 0)
        result = end_take(reader, &at, &b);
    if (result < 0)
        return result;
    result = line_end(reader, at);
    if (result < 0)
        return result;
    if (a.node == b.node && a.port == b.port && a.port != 0)
        return source_error(reader->source, "port %u is cabled to itself", a.port);
    result = fabric_link_add(reader->fabric, a, b);
    return result < 0 ? source_error_wrap(reader->source, result) : 0;
}

static int line_read(struct edges *reader)
{
    const char *at = reader->source->line;
    source_blanks_skip(&at);
    if (*at == '\0' || *at == '#')
        return 0;
    if (source_take(&at, "switch "))
        return node_declare(reader, at, FABRIC_SWITCH);
    if (source_take(&at, "host "))
        return node_declare(reader, at, FABRIC_HOST);
    if (source_take(&at, "hosts "))
        return hosts_read(reader, at);
    if (source_take(&at, "group "))
        return group_read(reader, at);
    return cable_read(reader, at);
}

/* Hosts belong where their switch belongs. */
static void groups_finish(struct edges *reader)
{
    struct fabric *fabric = reader->fabric;
    fabric->group_count = reader->group_count ? reader->group_count : 1;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        struct fabric_node *node = &fabric->nodes[i];
        for (uint32_t p = 1; node->kind == FABRIC_HOST && p <= node->port_count; p++) {
            if (node->ports[p].peer_node != FABRIC_NONE)
                node->group = fabric->nodes[node->ports[p].peer_node].group;
        }
    }
}

int formats_edges_parse(struct fabric *fabric, struct lines *source)
{
    struct edges *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return error_fail(-ENOMEM, "no memory to read %s", source->place.path);
    reader->fabric = fabric;
    reader->source = source;
    int more, result = 0;
    while (result == 0 && (more = lines_next(source)) != 0)
        result = more < 0 ? more : line_read(reader);
    if (result == 0)
        groups_finish(reader);
    free(reader);
    return result;
}

int formats_edges_write(const struct fabric *fabric, FILE *out)
{
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        fprintf(out, "%s %s\n", node->kind == FABRIC_SWITCH ? "switch" : "host", node->name);
    }
    for (uint32_t i = 0; fabric->group_count > 1 && i < fabric->node_count; i++) {
        if (fabric->nodes[i].kind == FABRIC_SWITCH)
            fprintf(out, "group g%u %s\n", fabric->nodes[i].group, fabric->nodes[i].name);
    }
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        for (uint32_t p = 1; p <= node->port_count; p++) {
            const struct fabric_port *port = &node->ports[p];
            bool first = port->peer_node > i || (port->peer_node == i && port->peer_port > p);
            if (port->peer_node != FABRIC_NONE && first)
                fprintf(out, "%s:%u %s:%u\n", node->name, p, fabric->nodes[port->peer_node].name,
                        port->peer_port);
        }
    }
    return ferror(out) ? -EIO : 0;
}
