/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads forwarding tables as OpenSM, dump_fts, dump_lfts.sh and ibroute print them:
 *
 *   Unicast lids [0x0-0x12] of switch Lid 3 guid 0x0002c902004a1b20 ('leaf 1'):
 *   0x0005 007 : (…)
 *
 * Only the GUID, the LID and the port count.
 */
#include "base/error.h"
#include "route/fabric/guids.h"
#include "route/formats/dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct lft_reader {
    struct lft_dump *dump;
    struct lines *source;
    struct guids guids;
    uint32_t at; /* switch whose table this is, FABRIC_NONE before the first */
    bool skip;   /* a switch that the fabric does not have */
    uint32_t switches;
    uint64_t print; /* of the entries of this switch */
};

static int reader_prepare(struct lft_reader *reader, const struct fabric *fabric)
{
    uint32_t lid_last = 0;
    int result = guids_create(&reader->guids, fabric);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        for (uint32_t p = 0; p <= node->port_count; p++) {
            uint32_t last = node->ports[p].lid + fabric_lid_count(&node->ports[p]) - 1;
            lid_last = last > lid_last ? last : lid_last;
        }
    }
    reader->dump->switch_count = reader->guids.count;
    reader->dump->lid_count = lid_last + 1;
    size_t size = (size_t)reader->guids.count * reader->dump->lid_count;
    reader->dump->port = malloc(size + 1);
    if (!reader->dump->port)
        return error_fail(-ENOMEM, "no memory for %zu table entries", size);
    memset(reader->dump->port, 255, size);
    return 0;
}

static int switch_begin(struct lft_reader *reader)
{
    const char *at = strstr(reader->source->line, "guid ");
    uint64_t guid;
    if (at)
        at += 5;
    if (!at || !source_hex_take(&at, &guid))
        return source_error(reader->source, "the switch's GUID is missing ('guid 0x…')");
    uint32_t found = guids_find(&reader->guids, guid);
    reader->skip = found == FABRIC_NONE;
    reader->at = reader->skip ? 0 : found;
    reader->dump->fingerprint += reader->print;
    reader->print = guid;
    reader->switches++;
    return 0;
}

/* An entry for a LID. What the fabric has no room for is counted once, at the first switch. */
static void entry_keep(struct lft_reader *reader, uint32_t lid, uint32_t port)
{
    struct lft_dump *dump = reader->dump;
    if (lid >= dump->lid_count && port != 255 && reader->switches == 1) {
        dump->lid_beyond = dump->lids_beyond == 0 || lid < dump->lid_beyond ? lid
                                                                            : dump->lid_beyond;
        dump->lids_beyond++;
    }
    if (!reader->skip && lid < dump->lid_count)
        dump->port[(size_t)reader->at * dump->lid_count + lid] = (uint8_t)port;
    reader->print = lft_dump_fingerprint_add(reader->print, lid, port);
}

static int entry_read(struct lft_reader *reader, const char *at)
{
    uint64_t lid;
    uint32_t port;
    if (reader->at == FABRIC_NONE)
        return source_error(reader->source, "an entry before the first 'Unicast lids' line");
    if (!source_hex_take(&at, &lid))
        return source_error(reader->source, "not a LID: '%.40s'", at);
    source_blanks_skip(&at);
    if (!source_number_take(&at, &port) || (*at != ' ' && *at != '\t' && *at != '\0'))
        return source_error(reader->source, "a port number must follow the LID: '%.40s'", at);
    if (lid > 0xffffff || port > 255)
        return source_error(reader->source, "LID 0x%" PRIx64 ", port %u: out of range", lid, port);
    entry_keep(reader, (uint32_t)lid, port);
    return 0;
}

/* Takes entries as they are commonly written, straight from the text; leaves the first line that
 * looks different to the careful reader. Tables of large fabrics have a hundred million lines. */
static void entries_take(struct lft_reader *reader)
{
    struct lines *source = reader->source;
    const char *text = source->text, *end = text + source->length, *at = text + source->at;
    while (end - at > 10 && at[0] == '0' && at[1] == 'x') {
        uint32_t lid = 0, port = 0, digits = 0;
        const char *from = at + 2;
        for (int digit; from < end && (digit = source_hex_digit(*from)) >= 0; from++, digits++)
            lid = lid << 4 | (uint32_t)digit;
        if (digits == 0 || digits > 6 || from >= end || *from != ' ')
            break;
        for (from++, digits = 0; from < end && *from >= '0' && *from <= '9'; from++, digits++)
            port = port * 10 + (uint32_t)(*from - '0');
        if (digits == 0 || digits > 3 || port > 255 || from >= end ||
            (*from != ' ' && *from != '\n'))
            break;
        if (*from == ' ')
            from = memchr(from, '\n', (size_t)(end - from));
        if (!from)
            break;
        entry_keep(reader, lid, port);
        at = from + 1;
        source->place.line++;
    }
    source->at = (size_t)(at - text);
}

int lft_dump_parse(struct lft_dump *dump, const struct fabric *fabric, struct lines *source)
{
    struct lft_reader reader = {.dump = dump, .source = source, .at = FABRIC_NONE};
    memset(dump, 0, sizeof(*dump));
    int more, result = reader_prepare(&reader, fabric);
    while (result == 0 && (more = lines_next(source)) != 0) {
        const char *at = source->line;
        source_blanks_skip(&at);
        if (more < 0)
            result = more;
        else if (strncmp(at, "Unicast lids", 12) == 0)
            result = switch_begin(&reader);
        else if (strncmp(at, "0x", 2) == 0)
            result = entry_read(&reader, at);
        else if (*at != '\0' && *at != '#' && !strstr(at, "dumped") && strncmp(at, "Lid", 3) != 0 &&
                 strncmp(at, "Port", 4) != 0 && strncmp(at, "Info", 4) != 0 &&
                 strncmp(at, "Multicast", 9) != 0)
            result = source_error(source, "neither 'Unicast lids …' nor 'LID PORT': '%.40s'", at);
        if (result == 0 && reader.at != FABRIC_NONE)
            entries_take(&reader);
    }
    if (result == 0 && reader.at == FABRIC_NONE)
        result = error_fail(-EINVAL, "%s: no forwarding table in the file", source->place.path);
    dump->fingerprint += reader.print;
    guids_destroy(&reader.guids);
    if (result < 0)
        lft_dump_free(dump);
    return result;
}

int lft_dump_read(struct lft_dump *dump, const struct fabric *fabric, const char *path)
{
    struct lines source;
    int result = lines_open(&source, path);
    if (result < 0)
        return result;
    result = lft_dump_parse(dump, fabric, &source);
    lines_close(&source);
    return result;
}

void lft_dump_free(struct lft_dump *dump)
{
    free(dump->port);
    dump->port = NULL;
}
