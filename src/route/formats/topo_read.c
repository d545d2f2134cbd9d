/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads ibdm topology files (.topo) whose systems are single devices:
 *
 *   MT47396 leaf1
 *      P1 -4x-5G-> HCA_1 node1 P1
 *
 * A chassis whose ports have board names would need its .ibnl description; that is refused with a
 * hint.
 */
#include "route/formats/formats.h"

#include <string.h>

#define NAME_MAX_LENGTH 128

struct topo {
    struct fabric *fabric;
    struct lines *source;
    uint32_t node;
};

/* Types of host adapters that ibdm ships; everything else is a switch if it has more than two
 * cables, which only shows at the end. */
static bool type_is_host(const char *type)
{
    static const char *const hosts[] = {"HCA",     "CA",      "MT23108", "MT25208", "MT25204",
                                        "MT25218", "MT25408", "HHCA",    "NIC"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        if (strncmp(type, hosts[i], strlen(hosts[i])) == 0)
            return true;
    }
    return false;
}

static int node_get(struct topo *reader, const char *type, const char *name, uint32_t *node)
{
    enum fabric_kind kind = type_is_host(type) ? FABRIC_HOST : FABRIC_SWITCH;
    int result = fabric_node_get(reader->fabric, kind, name, node);
    return result < 0 ? source_error_wrap(reader->source, result) : 0;
}

/* "P7", or "U1/P7" of a device. */
static int port_parse(struct topo *reader, const char *word, uint16_t *port)
{
    const char *slash = strrchr(word, '/');
    const char *at = slash ? slash + 1 : word;
    uint32_t number;
    if (slash && word[0] != 'U')
        return source_error(reader->source,
                            "port '%.30s' belongs to a board of a chassis; convert the fabric with "
                            "ibnetdiscover instead",
                            word);
    if (!source_take(&at, "P") || !source_number_take(&at, &number) || *at != '\0' || number == 0 ||
        number > FABRIC_PORTS_MAX)
        return source_error(reader->source, "'%.30s' is not a port such as P1", word);
    *port = (uint16_t)number;
    return 0;
}

static int word_take(struct topo *reader, const char **at, char *word, const char *what)
{
    source_blanks_skip(at);
    if (!source_word_take(at, word, NAME_MAX_LENGTH) || word[0] == '\0')
        return source_error(reader->source, "%s must follow here: '%.40s'", what, *at);
    return 0;
}

static int block_begin(struct topo *reader, const char *at)
{
    char type[NAME_MAX_LENGTH], name[NAME_MAX_LENGTH];
    int result = word_take(reader, &at, type, "a type");
    if (result == 0)
        result = word_take(reader, &at, name, "a name");
    return result < 0 ? result : node_get(reader, type, name, &reader->node);
}

static int cable_read(struct topo *reader, const char *at)
{
    char word[NAME_MAX_LENGTH], type[NAME_MAX_LENGTH], name[NAME_MAX_LENGTH];
    struct fabric_end here = {reader->node, 0}, there;
    if (reader->node == FABRIC_NONE)
        return source_error(reader->source, "a port before the first 'TYPE NAME' line");
    int result = word_take(reader, &at, word, "a port");
    if (result == 0)
        result = port_parse(reader, word, &here.port);
    if (result == 0)
        result = word_take(reader, &at, word, "an arrow");
    if (result < 0)
        return result;
    size_t length = strlen(word);
    if (length < 2 || strcmp(word + length - 2, "->") != 0)
        return source_error(reader->source, "'->' must follow the port, not '%.30s'", word);
    result = word_take(reader, &at, type, "the peer's type");
    if (result == 0)
        result = word_take(reader, &at, name, "the peer's name");
    if (result == 0)
        result = word_take(reader, &at, word, "the peer's port");
    if (result == 0)
        result = port_parse(reader, word, &there.port);
    if (result == 0)
        result = node_get(reader, type, name, &there.node);
    if (result < 0)
        return result;
    source_blanks_skip(&at);
    if (*at != '\0' && *at != '#')
        return source_error(reader->source, "the line should end before this: '%.40s'", at);
    if (here.node == there.node && here.port == there.port)
        return source_error(reader->source, "port %u is cabled to itself", here.port);
    result = fabric_link_add(reader->fabric, here, there);
    return result < 0 ? source_error_wrap(reader->source, result) : 0;
}

int formats_topo_parse(struct fabric *fabric, struct lines *source)
{
    struct topo reader = {.fabric = fabric, .source = source, .node = FABRIC_NONE};
    int more, result = 0;
    while (result == 0 && (more = lines_next(source)) != 0) {
        const char *at = source->line;
        source_blanks_skip(&at);
        if (more < 0)
            result = more;
        else if (*at == '\0' || *at == '#')
            continue;
        else if (at == source->line)
            result = block_begin(&reader, at);
        else
            result = cable_read(&reader, at);
    }
    return result;
}
