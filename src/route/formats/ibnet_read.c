/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads what ibnetdiscover prints and ibsim reads:
 *
 *   switchguid=0x2c902004a1b20(2c902004a1b20)
 *   Switch  24 "S-0002c902004a1b20"   # "leaf 1" base port 0 lid 3 lmc 0
 *   [1]     "H-0002c90300001a10"[1](2c90300001a11)   # "node 1 HCA-1" lid 5 4xDDR
 *
 * Every cable stands in the blocks of both its ends; a node may be named before its own block
 * comes.
 */
#include "route/formats/formats.h"

#include <string.h>

#define NAME_MAX_LENGTH 128

struct ibnet {
    struct fabric *fabric;
    struct lines *source;
    uint32_t node; /* whose block this is, FABRIC_NONE before the first */
    uint64_t guid; /* from the guid= line before the block */
    uint64_t port_guid;
    bool grouped; /* the hint was there */
};

/* The id's first letter tells what it is. */
static enum fabric_kind kind_of_id(const char *id, uint32_t port_count_hint)
{
    if (strncmp(id, "S-", 2) == 0)
        return FABRIC_SWITCH;
    if (strncmp(id, "H-", 2) == 0 || strncmp(id, "R-", 2) == 0)
        return FABRIC_HOST;
    return port_count_hint > 2 ? FABRIC_SWITCH : FABRIC_HOST;
}

/* The GUID in an id such as S-0002c902004a1b20, or 0. */
static uint64_t guid_of_id(const char *id)
{
    const char *at = id;
    uint64_t guid;
    if ((source_take(&at, "S-") || source_take(&at, "H-") || source_take(&at, "R-")) &&
        source_hex_take(&at, &guid) && *at == '\0')
        return guid;
    return 0;
}

/* The number behind a word of its own: "lid 5" in "base port 0 lid 5 lmc 0". */
static bool number_behind(const char *text, const char *end, const char *word, uint32_t *number)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL && at < end; at += length) {
        const char *behind = at + length;
        if ((at > text && at[-1] != ' ' && at[-1] != '\t') || (*behind != ' ' && *behind != '\t'))
            continue;
        source_blanks_skip(&behind);
        if (source_number_take(&behind, number))
            return true;
    }
    return false;
}

/* Notes the LID that stands between here and there. Descriptions, which may hold any words, are not
 * among that: they stand in quotes. */
static int lid_take(struct ibnet *reader, struct fabric_end port, const char *text, const char *end)
{
    struct fabric_lid lid = {.line = reader->source->place.line};
    if (!number_behind(text, end, "lid", &lid.lid))
        return 0;
    number_behind(text, end, "lmc", &lid.lmc);
    int result = fabric_lid_set(reader->fabric, port, lid);
    return result < 0 ? source_error_wrap(reader->source, result) : 0;
}

/* What follows the last quote of a comment; all of it if there is none. */
static const char *behind_quotes(const char *comment)
{
    const char *quote = strrchr(comment, '"');
    return quote ? quote + 1 : comment + 1;
}

static int block_begin(struct ibnet *reader, enum fabric_kind kind, const char *at)
{
    char id[NAME_MAX_LENGTH];
    uint32_t port_count;
    source_blanks_skip(&at);
    if (!source_number_take(&at, &port_count))
        return source_error(reader->source, "a number of ports must follow here: '%.40s'", at);
    source_blanks_skip(&at);
    if (*at != '"' || !source_word_take(&at, id, sizeof(id)) || id[0] == '\0')
        return source_error(reader->source, "a quoted name must follow here: '%.40s'", at);
    int result = fabric_node_get(reader->fabric, kind, id, &reader->node);
    if (result < 0)
        return source_error_wrap(reader->source, result);
    struct fabric_node *node = &reader->fabric->nodes[reader->node];
    node->kind = kind; /* a cable named earlier may have guessed wrong */
    if (port_count > FABRIC_PORTS_MAX)
        return source_error(reader->source, "'%s' has %u ports, at most %d are possible", id,
                            port_count, FABRIC_PORTS_MAX);
    result = fabric_ports_grow(reader->fabric, reader->node, port_count);
    if (result < 0)
        return source_error_wrap(reader->source, result);
    node->guid = reader->guid ? reader->guid : guid_of_id(id);
    const char *comment = strchr(at, '#');
    for (uint32_t p = 1; kind == FABRIC_SWITCH && p <= node->port_count; p++)
        node->ports[p].lid = 0; /* of a cable that took it for a host */
    if (kind == FABRIC_SWITCH) {
        struct fabric_end own = {reader->node, 0};
        node->ports[0].guid = reader->port_guid ? reader->port_guid : node->guid;
        if (comment)
            result = lid_take(reader, own, behind_quotes(comment), comment + strlen(comment));
    }
    reader->guid = reader->port_guid = 0;
    return result;
}

/* The LID of a host's port stands behind its own line ("# lid 5 lmc 0") and behind the switch's
 * line that leads to it ("# "name" lid 5 4xDDR"). */
static int cable_lids(struct ibnet *reader, struct fabric_end here, struct fabric_end there,
                      const char *comment)
{
    const struct fabric_node *nodes = reader->fabric->nodes;
    const char *end = comment + strlen(comment), *quote = strchr(comment, '"');
    if (nodes[here.node].kind == FABRIC_HOST)
        return lid_take(reader, here, comment + 1, quote ? quote : end);
    if (nodes[there.node].kind == FABRIC_HOST && quote)
        return lid_take(reader, there, behind_quotes(comment), end);
    return 0;
}

/* [1](guid)  "S-…"[3](guid)  # comment */
static int cable_read(struct ibnet *reader, const char *at)
{
    struct lines *source = reader->source;
    char id[NAME_MAX_LENGTH], ignored[NAME_MAX_LENGTH];
    uint32_t port, peer_port, peer;
    uint64_t guid = 0;
    if (reader->node == FABRIC_NONE)
        return source_error(source, "a port before the first 'Switch' or 'Ca' line");
    if (!source_take(&at, "[") || !source_number_take(&at, &port) || !source_take(&at, "]"))
        return source_error(source, "not a port in brackets: '%.40s'", at);
    if (source_take(&at, "(") && (!source_hex_take(&at, &guid) || !source_take(&at, ")")))
        return source_error(source, "not a GUID in parentheses: '%.40s'", at);
    source_blanks_skip(&at);
    source_between_take(&at, '[', ']', ignored, sizeof(ignored)); /* [ext 1] */
    source_blanks_skip(&at);
    if (*at != '"' || !source_word_take(&at, id, sizeof(id)) || id[0] == '\0')
        return source_error(source, "the peer's quoted name must follow here: '%.40s'", at);
    if (!source_take(&at, "[") || !source_number_take(&at, &peer_port) || !source_take(&at, "]"))
        return source_error(source, "the peer's port in brackets must follow here: '%.40s'", at);
    if (port == 0 || peer_port == 0 || port > FABRIC_PORTS_MAX || peer_port > FABRIC_PORTS_MAX)
        return source_error(source, "port %u to port %u: ports go from 1 to %d", port, peer_port,
                            FABRIC_PORTS_MAX);
    int result = fabric_node_get(reader->fabric, kind_of_id(id, 0), id, &peer);
    if (result < 0)
        return source_error_wrap(source, result);
    struct fabric_end here = {reader->node, (uint16_t)port}, there = {peer, (uint16_t)peer_port};
    if (here.node == there.node && port == peer_port)
        return source_error(source, "port %u is cabled to itself", port);
    result = fabric_link_add(reader->fabric, here, there);
    if (result < 0)
        return source_error_wrap(source, result);
    if (guid && reader->fabric->nodes[here.node].kind == FABRIC_HOST)
        reader->fabric->nodes[here.node].ports[port].guid = guid;
    const char *comment = strchr(at, '#');
    return comment ? cable_lids(reader, here, there, comment) : 0;
}

static int line_read(struct ibnet *reader)
{
    const char *at = reader->source->line;
    source_blanks_skip(&at);
    if (strcmp(at, FORMATS_GROUPS_HINT) == 0)
        reader->grouped = true;
    if (*at == '\0' || *at == '#')
        return 0;
    if (*at == '[')
        return cable_read(reader, at);
    if (source_take(&at, "switchguid=") || source_take(&at, "caguid=") ||
        source_take(&at, "rtguid=")) {
        if (!source_hex_take(&at, &reader->guid))
            return source_error(reader->source, "not a GUID: '%.40s'", at);
        if (source_take(&at, "("))
            source_hex_take(&at, &reader->port_guid);
        return 0;
    }
    if (source_take(&at, "Switch"))
        return block_begin(reader, FABRIC_SWITCH, at);
    if (source_take(&at, "Ca") || source_take(&at, "Hca") || source_take(&at, "Rt"))
        return block_begin(reader, FABRIC_HOST, at);
    if (strchr(at, '=') || strncmp(at, "DR path", 7) == 0)
        return 0; /* vendid=, devid=, sysimgguid=, and what ibnetdiscover says while it works */
    return source_error(reader->source,
                        "neither a port, nor 'Switch' or 'Ca', nor 'name=value': "
                        "'%.40s'",
                        at);
}

int formats_ibnet_parse(struct fabric *fabric, struct lines *source)
{
    struct ibnet reader = {.fabric = fabric, .source = source, .node = FABRIC_NONE};
    int more, result = 0;
    while (result == 0 && (more = lines_next(source)) != 0)
        result = more < 0 ? more : line_read(&reader);
    if (result == 0 && reader.grouped)
        fabric_groups_by_name(fabric, '.');
    return result;
}
