/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of channels, which a table's turns follow, in a file beside the table: lines
 *
 *   0x0002c902004a1b20 7 -1234
 *
 * with a switch's GUID, a port of it and the rank of the channel that leaves by it. Channels that
 * come in rank by minus that.
 */
#include "base/error.h"
#include "route/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int formats_ranks_write(const struct turns *turns, FILE *out)
{
    const struct net *net = turns->net;
    fputs("# rhinet: ranks of channels; repair reads them beside the table\n", out);
    for (uint32_t c = 0; c < net->channel_count; c++)
        fprintf(out, "0x%016" PRIx64 " %u %" PRId64 "\n",
                net->fabric->nodes[net->node[net->tail[c]]].guid, net->port[c], turns->width[c]);
    return ferror(out) ? -EIO : 0;
}

struct guid_index {
    uint64_t guid;
    uint32_t at;
};

static int guid_compare(const void *a, const void *b)
{
    const struct guid_index *x = a, *y = b;
    return x->guid < y->guid ? -1 : x->guid > y->guid;
}

static struct guid_index *guids_list(const struct net *net)
{
    struct guid_index *guids = malloc(net->switch_count * sizeof(*guids));
    for (uint32_t s = 0; guids && s < net->switch_count; s++)
        guids[s] = (struct guid_index){.guid = net->fabric->nodes[net->node[s]].guid, .at = s};
    if (guids)
        qsort(guids, net->switch_count, sizeof(*guids), guid_compare);
    return guids;
}

/* One line. Switches and cables that are gone do not matter. */
static int line_take(const struct source *source, const struct net *net,
                     const struct guid_index *guids, int64_t *rank)
{
    const char *at = source->line;
    uint64_t guid;
    uint32_t port, size;
    source_skip_blanks(&at);
    if (*at == '\0' || *at == '#')
        return 0;
    if (!source_take_hex(&at, &guid))
        return source_error(source, "not a switch's GUID: '%.40s'", at);
    source_skip_blanks(&at);
    if (!source_take_number(&at, &port))
        return source_error(source, "a port number must follow the GUID: '%.40s'", at);
    source_skip_blanks(&at);
    bool negative = source_take(&at, "-");
    if (!source_take_number(&at, &size) || *at != '\0' || size == 0)
        return source_error(source, "a rank other than 0 must end the line: '%.40s'", at);
    struct guid_index key = {.guid = guid};
    const struct guid_index *found = bsearch(&key, guids, net->switch_count, sizeof(*guids),
                                             guid_compare);
    for (uint32_t c = found ? net->first[found->at] : 0; found && c < net->first[found->at + 1];
         c++) {
        if (net->port[c] == port)
            rank[c] = negative ? -(int64_t)size : (int64_t)size;
    }
    return 0;
}

int formats_ranks_parse(int64_t *rank, const struct net *net, struct source *source)
{
    struct guid_index *guids = guids_list(net);
    int more, result = guids ? 0 : error_set(-ENOMEM, ERROR_NO_RANK, "no memory for the GUIDs");
    memset(rank, 0, net->channel_count * sizeof(*rank));
    while (result == 0 && (more = source_next(source)) != 0)
        result = more < 0 ? more : line_take(source, net, guids, rank);
    free(guids);
    for (uint32_t c = 0; result == 0 && c < net->channel_count; c++) {
        if (rank[c] == 0 || rank[net->reverse[c]] != -rank[c])
            result = error_set(-ENOENT, ERROR_NO_RANK,
                               "%s: no rank for the cable at port %u of '%s'", source->name,
                               net->port[c], net_name(net, net->tail[c]));
    }
    return result;
}
