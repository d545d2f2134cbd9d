/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens a fabric file of whatever format. See formats.h.
 */
#include "base/error.h"
#include "route/formats/formats.h"

#include <string.h>

typedef int (*fabric_parser)(struct fabric *fabric, struct lines *source);

/* An ibdm topology has indented lines with arrows after each name; an edge list never has. */
static bool arrow_follows(const struct lines *source)
{
    const char *end = source->text + source->length, *line = source->text + source->at;
    while (line < end && (*line == ' ' || *line == '\t' || *line == '\n' || *line == '#')) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        if (*line != '#' && memmem(line, length, "->", 2))
            return true;
        line += length + 1;
    }
    return false;
}

/* The format shows in the first line that is neither empty nor a comment. */
static int parser_find(struct lines *source, fabric_parser *parser)
{
    int more;
    *parser = NULL;
    while (!*parser && (more = lines_next(source)) != 0) {
        if (more < 0)
            return more;
        const char *at = source->line;
        source_blanks_skip(&at);
        if (*at == '\0' || *at == '#')
            continue;
        if (*at == '{')
            *parser = formats_lst_parse;
        else if (strncmp(at, "Switch", 6) == 0 || strncmp(at, "Ca", 2) == 0 ||
                 strncmp(at, "Hca", 3) == 0 || strstr(at, "guid=") ||
                 strncmp(at, "vendid=", 7) == 0 || strncmp(at, "devid=", 6) == 0 ||
                 strncmp(at, "Rt", 2) == 0 || strncmp(at, "DR path", 7) == 0)
            *parser = formats_ibnet_parse;
        else if (at == source->line && arrow_follows(source))
            *parser = formats_topo_parse;
        else
            *parser = formats_edges_parse;
    }
    lines_rewind(source);
    if (!*parser)
        return error_fail(-EINVAL, "%s: the file holds no fabric", source->place.path);
    return 0;
}

int formats_fabric_parse(struct fabric **out, struct lines *source)
{
    fabric_parser parser;
    struct fabric *fabric = NULL;
    int result = parser_find(source, &parser);
    if (result == 0)
        result = fabric_create(&fabric);
    if (result == 0)
        result = parser(fabric, source);
    if (result == 0 && fabric_count(fabric, FABRIC_SWITCH) == 0)
        result = error_fail(-EINVAL, "%s: no switch in the file", source->place.path);
    if (result == 0) {
        result = fabric_lids_check(fabric, &source->place.line);
        if (result < 0)
            source_error_wrap(source, result);
    }
    if (result < 0) {
        fabric_destroy(fabric);
        return result;
    }
    *out = fabric;
    return 0;
}

int formats_fabric_read(struct fabric **fabric, const char *path, bool *lids_given)
{
    struct lines source;
    int result = lines_open(&source, path);
    if (result < 0)
        return result;
    result = formats_fabric_parse(fabric, &source);
    lines_close(&source);
    if (result < 0)
        return result;
    int given = fabric_lids_assign(*fabric);
    if (given < 0) {
        fabric_destroy(*fabric);
        return given;
    }
    if (lids_given)
        *lids_given = given > 0;
    return 0;
}
