/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file beside a table that spares mending to learn what was known (memo.h):
 *
 *   table 0x8d4c2f…                        fingerprint of the table that it belongs to
 *   traffic 2 auto                         classes of traffic, and the model
 *   0x0002c902004a1b20 7 -1234 0ff3 998047 12
 *   gone 0x0002c902004a1b20 8 -77
 *
 * with a switch's GUID, a port of it, the rank of the channel that leaves by it, the ports that
 * packets come from which leave there (four to a digit, 0 to 3 in the first), and the channel's
 * load in millionths for each class. Channels that come in rank by minus that.
 */
#include "base/error.h"
#include "route/fabric/guids.h"
#include "route/tables/memo.h"

#include <inttypes.h>
#include <stdlib.h>

#define MILLIONTHS 1e6f
#define DIGITS_MAX 65

/* The ports by which packets come in that leave by a channel. */
static void ports_print(const struct turns *turns, uint32_t channel, char *digits)
{
    const struct net *net = turns->net;
    uint8_t nibble[DIGITS_MAX] = {0};
    uint32_t first = net->first[net->tail[channel]], last = 0;
    for (uint32_t w = 0; w < turns->words; w++) {
        for (uint64_t bits = turns_row(turns, channel)[w]; bits; bits &= bits - 1) {
            uint32_t port = net->port[first + w * 64 + (uint32_t)__builtin_ctzll(bits)];
            nibble[port / 4] |= (uint8_t)(1u << (port % 4));
            last = port / 4 > last ? port / 4 : last;
        }
    }
    for (uint32_t i = 0; i <= last; i++)
        digits[i] = "0123456789abcdef"[nibble[i]];
    digits[last + 1] = '\0';
}

static uint64_t guid_of(const struct net *net, uint32_t channel)
{
    return net->fabric->nodes[net->node[net->tail[channel]]].guid;
}

int memo_write(const struct memo *memo, FILE *out)
{
    const struct net *net = memo->net;
    char digits[DIGITS_MAX + 1];
    fprintf(out, "# rhinet: what repair need not learn again; keep it beside the table\n");
    fprintf(out, "table 0x%016" PRIx64 "\ntraffic %u %s\n", memo->table, memo->class_count,
            memo->traffic);
    for (uint32_t c = 0; c < net->channel_count; c++) {
        ports_print(memo->used, c, digits);
        fprintf(out, "0x%016" PRIx64 " %u %" PRId64 " %s", guid_of(net, c), net->port[c],
                memo->rank[c], digits);
        for (uint32_t k = 0; k < memo->class_count; k++) {
            float load = memo->load[k][c] > 0 ? memo->load[k][c] : 0;
            fprintf(out, " %u", (uint32_t)(load * MILLIONTHS + 0.5f));
        }
        fputc('\n', out);
    }
    for (size_t i = 0; i < memo->gone_count; i++)
        fprintf(out, "gone 0x%016" PRIx64 " %u %" PRId64 "\n", memo->gone[i].guid,
                memo->gone[i].port, memo->gone[i].rank);
    return ferror(out) ? -EIO : 0;
}

struct memo_reader {
    struct memo *memo;
    struct lines *source;
    struct guids guids;
    uint8_t *slots;     /* net_port_slots() */
    uint64_t last_guid; /* lines of a switch stand together */
    uint32_t last_at;
};

static bool rank_take(const char **at, int64_t *rank)
{
    uint32_t size;
    source_blanks_skip(at);
    bool negative = source_take(at, "-");
    if (!source_number_take(at, &size) || size == 0)
        return false;
    *rank = negative ? -(int64_t)size : (int64_t)size;
    return true;
}

/* "0xGUID PORT RANK" */
static int cable_take(const struct memo_reader *reader, const char **at, struct memo_gone *cable)
{
    if (!source_hex_take(at, &cable->guid))
        return source_error(reader->source, "not a switch's GUID: '%.40s'", *at);
    source_blanks_skip(at);
    if (!source_number_take(at, &cable->port) || cable->port == 0 || cable->port > FABRIC_PORTS_MAX)
        return source_error(reader->source, "a port number must follow the GUID: '%.40s'", *at);
    if (!rank_take(at, &cable->rank))
        return source_error(reader->source, "a rank other than 0 must follow: '%.40s'", *at);
    source_blanks_skip(at);
    return 0;
}

/* The channel that a line is about; FABRIC_NONE: it is not there at present. */
static uint32_t channel_find(struct memo_reader *reader, const struct memo_gone *cable)
{
    const struct net *net = reader->memo->net;
    if (reader->last_guid != cable->guid || reader->last_at == FABRIC_NONE) {
        reader->last_guid = cable->guid;
        reader->last_at = guids_find(&reader->guids, cable->guid);
    }
    uint32_t at = reader->last_at;
    if (at == FABRIC_NONE)
        return FABRIC_NONE;
    uint8_t slot = reader->slots[(size_t)at * NET_PORTS + cable->port];
    return slot == LFT_NONE ? FABRIC_NONE : net->first[at] + slot;
}

static int ports_take(struct memo_reader *reader, const char **at, uint32_t channel)
{
    const struct net *net = reader->memo->net;
    uint32_t base = 0, tail = net->tail[channel];
    uint64_t *row = turns_row(reader->memo->used, channel);
    const uint8_t *slots = reader->slots + (size_t)tail * NET_PORTS;
    for (int digit; (digit = source_hex_digit(**at)) >= 0; (*at)++, base += 4) {
        if (base + 4 > NET_PORTS)
            return source_error(reader->source, "more ports than a switch can have");
        for (uint32_t bit = 0; bit < 4; bit++) {
            uint8_t slot = digit >> bit & 1 ? slots[base + bit] : LFT_NONE;
            if (slot != LFT_NONE && net->first[tail] + slot != channel)
                row[slot / 64] |= 1ull << (slot % 64);
        }
    }
    return base ? 0 : source_error(reader->source, "ports must follow the rank: '%.40s'", *at);
}

static int channel_take(struct memo_reader *reader, const char *at)
{
    struct memo *memo = reader->memo;
    struct memo_gone cable;
    int result = cable_take(reader, &at, &cable);
    if (result < 0)
        return result;
    uint32_t channel = channel_find(reader, &cable);
    if (channel == FABRIC_NONE)
        return memo_gone_add(memo, cable);
    memo->rank[channel] = cable.rank;
    result = ports_take(reader, &at, channel);
    for (uint32_t k = 0; result == 0 && k < memo->class_count; k++) {
        uint32_t load;
        source_blanks_skip(&at);
        if (!source_number_take(&at, &load))
            return source_error(reader->source, "%u loads must end the line: '%.40s'",
                                memo->class_count, at);
        memo->load[k][channel] = (float)load / MILLIONTHS;
    }
    return result;
}

/* A cable that was gone when the memo was written may be back. */
static int gone_take(struct memo_reader *reader, const char *at)
{
    struct memo_gone cable;
    source_blanks_skip(&at);
    int result = cable_take(reader, &at, &cable);
    if (result < 0)
        return result;
    uint32_t channel = channel_find(reader, &cable);
    if (channel == FABRIC_NONE)
        return memo_gone_add(reader->memo, cable);
    if (reader->memo->rank[channel] == 0)
        reader->memo->rank[channel] = cable.rank;
    return 0;
}

static int traffic_take(struct memo_reader *reader, const char *at)
{
    struct memo *memo = reader->memo;
    source_blanks_skip(&at);
    if (!source_number_take(&at, &memo->class_count) || memo->class_count > TRAFFIC_CLASSES)
        return source_error(reader->source, "at most %d classes of traffic", TRAFFIC_CLASSES);
    source_blanks_skip(&at);
    snprintf(memo->traffic, sizeof(memo->traffic), "%s", at);
    return 0;
}

static int line_take(struct memo_reader *reader)
{
    const char *at = reader->source->line;
    source_blanks_skip(&at);
    if (*at == '\0' || *at == '#')
        return 0;
    if (source_take(&at, "table ")) {
        source_blanks_skip(&at);
        return source_hex_take(&at, &reader->memo->table)
                   ? 0
                   : source_error(reader->source, "not a fingerprint: '%.40s'", at);
    }
    if (source_take(&at, "traffic "))
        return traffic_take(reader, at);
    if (source_take(&at, "gone "))
        return gone_take(reader, at);
    return channel_take(reader, at);
}

/* Both directions of all cables must be known, and agree. */
static int ranks_check(const struct memo *memo, const struct lines *source)
{
    const struct net *net = memo->net;
    for (uint32_t c = 0; c < net->channel_count; c++) {
        if (memo->rank[c] == 0 || memo->rank[net->reverse[c]] != -memo->rank[c])
            return error_fail(-ENOENT, "%s: no rank for the cable at port %u of '%s'",
                              source->place.path, net->port[c], net_name(net, net->tail[c]));
    }
    return 0;
}

int memo_parse(struct memo **out, const struct net *net, struct lines *source)
{
    struct memo_reader reader = {.source = source, .last_at = FABRIC_NONE};
    int more, result = memo_create(&reader.memo, net);
    if (result == 0)
        result = guids_create(&reader.guids, net->fabric);
    if (result == 0)
        result = net_port_slots(net, &reader.slots);
    while (result == 0 && (more = lines_next(source)) != 0)
        result = more < 0 ? more : line_take(&reader);
    if (result == 0)
        result = ranks_check(reader.memo, source);
    if (result == 0) /* some may be gone, others back */
        result = turns_rank_by_key(reader.memo->rank, reader.memo->rank, net);
    guids_destroy(&reader.guids);
    free(reader.slots);
    if (result < 0)
        memo_destroy(reader.memo);
    else
        *out = reader.memo;
    return result;
}
