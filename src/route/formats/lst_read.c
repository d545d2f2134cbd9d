/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads OpenSM's opensm-subnet.lst: one line for each direction of each cable,
 *
 *   { CA Ports:01 … NodeGUID:0002c9… PortGUID:0002c9… … {name} LID:0005 PN:01 } { SW … } PHY=4x …
 *
 * Numbers are hexadecimal. Descriptions need not be unique: the GUID decides who is who.
 */
#include "route/formats/formats.h"

#include <inttypes.h>
#include <string.h>

#define NAME_MAX_LENGTH 128

struct lst_end {
    enum fabric_kind kind;
    uint64_t ports, guid, port_guid, lid, port;
    char name[NAME_MAX_LENGTH];
};

/* "Key:hex" somewhere before `end`. */
static bool field_take(const char *text, const char *end, const char *key, uint64_t *value)
{
    for (const char *at = text; (at = strstr(at, key)) != NULL && at < end;) {
        at += strlen(key);
        if (source_hex_take(&at, value))
            return true;
    }
    return false;
}

static int end_parse(struct lines *source, const char **at, struct lst_end *end)
{
    source_blanks_skip(at);
    if (!source_take(at, "{"))
        return source_error(source, "an end in braces must follow here: '%.40s'", *at);
    source_blanks_skip(at);
    if (source_take(at, "SW"))
        end->kind = FABRIC_SWITCH;
    else if (source_take(at, "CA") || source_take(at, "RT"))
        end->kind = FABRIC_HOST;
    else
        return source_error(source, "'SW' or 'CA' must follow here: '%.40s'", *at);
    const char *open = strchr(*at, '{'), *close = open ? strchr(open, '}') : NULL;
    const char *last = close ? strchr(close + 1, '}') : NULL;
    if (!last)
        return source_error(source, "no {name} or no closing brace in: '%.40s'", *at);
    if (!field_take(*at, open, "NodeGUID:", &end->guid) ||
        !field_take(*at, open, "Ports:", &end->ports) ||
        !field_take(close, last, "PN:", &end->port) || !field_take(close, last, "LID:", &end->lid))
        return source_error(source, "Ports, NodeGUID, LID or PN is missing in: '%.40s'", *at);
    if (!field_take(*at, open, "PortGUID:", &end->port_guid))
        end->port_guid = end->guid;
    if (end->ports > FABRIC_PORTS_MAX || end->port == 0 || end->port > FABRIC_PORTS_MAX)
        return source_error(source, "port %" PRIu64 " of %" PRIu64 ": ports go from 1 to %d",
                            end->port, end->ports, FABRIC_PORTS_MAX);
    source_between_take(&open, '{', '}', end->name, sizeof(end->name));
    if (end->lid > UINT16_MAX)
        return source_error(source, "LID 0x%" PRIx64 ": a LID has 16 bits", end->lid);
    *at = last + 1;
    return 0;
}

/* The node with this end's GUID; a description that another GUID has already gets the GUID
 * added. */
static int node_get(struct fabric *fabric, struct lst_end *end, uint32_t *node)
{
    char name[NAME_MAX_LENGTH + 24];
    snprintf(name, sizeof(name), "%s", end->name[0] ? end->name : "?");
    *node = fabric_node_find(fabric, name);
    if (*node != FABRIC_NONE && fabric->nodes[*node].guid != end->guid) {
        snprintf(name, sizeof(name), "%s %016" PRIx64, end->name, end->guid);
        *node = fabric_node_find(fabric, name);
    }
    if (*node != FABRIC_NONE)
        return 0;
    int result = fabric_node_add(fabric, end->kind, name, node);
    if (result == 0)
        fabric->nodes[*node].guid = end->guid;
    return result;
}

static int end_add(struct fabric *fabric, struct lst_end *end, uint32_t line, uint32_t *node)
{
    int result = node_get(fabric, end, node);
    uint32_t ports = (uint32_t)(end->ports > end->port ? end->ports : end->port);
    if (result == 0)
        result = fabric_ports_grow(fabric, *node, ports);
    if (result < 0)
        return result;
    struct fabric_end addressed = {*node, end->kind == FABRIC_SWITCH ? 0 : (uint16_t)end->port};
    fabric->nodes[*node].ports[addressed.port].guid = end->port_guid;
    return fabric_lid_set(fabric, addressed,
                          (struct fabric_lid){.lid = (uint32_t)end->lid, .line = line});
}

static int line_read(struct fabric *fabric, struct lines *source)
{
    const char *at = source->line;
    struct lst_end ends[2];
    uint32_t nodes[2];
    source_blanks_skip(&at);
    if (*at == '\0' || *at == '#')
        return 0;
    for (int i = 0; i < 2; i++) {
        int result = end_parse(source, &at, &ends[i]);
        if (result < 0)
            return result;
        result = end_add(fabric, &ends[i], source->place.line, &nodes[i]);
        if (result < 0)
            return source_error_wrap(source, result);
    }
    struct fabric_end a = {nodes[0], (uint16_t)ends[0].port};
    struct fabric_end b = {nodes[1], (uint16_t)ends[1].port};
    if (a.node == b.node && a.port == b.port)
        return source_error(source, "port %u is cabled to itself", a.port);
    int result = fabric_link_add(fabric, a, b);
    return result < 0 ? source_error_wrap(source, result) : 0;
}

int formats_lst_parse(struct fabric *fabric, struct lines *source)
{
    int more, result = 0;
    while (result == 0 && (more = lines_next(source)) != 0)
        result = more < 0 ? more : line_read(fabric, source);
    return result;
}
