/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checker for per-pair paths, as `rhinet route compute --paths` writes them: every line is
 * followed port by port through the fabric, which is all it shares with whoever made it.
 */
#include "base/error.h"
#include "route/check/check.h"
#include "route/check/loop.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LENGTH_MAX 256

struct follow {
    const struct fabric *fabric;
    struct lines *source;
    struct check_loop *loop;
    struct check_report *report;
    struct check_switches switches;
    uint8_t *seen; /* [switch * node_count + the host's node] bits */
    uint64_t hops_sum;
};

static int node_take(const struct follow *follow, const char **at, enum fabric_kind kind,
                     uint32_t *node)
{
    char name[NAME_LENGTH_MAX];
    source_blanks_skip(at);
    if (!source_word_take(at, name, sizeof(name)))
        return source_error(follow->source, "a %s's name must follow here: '%.40s'",
                            kind == FABRIC_SWITCH ? "switch" : "host", *at);
    *node = fabric_node_find(follow->fabric, name);
    if (*node == FABRIC_NONE || follow->fabric->nodes[*node].kind != kind)
        return source_error(follow->source, "'%.60s' is no %s of the fabric", name,
                            kind == FABRIC_SWITCH ? "switch" : "host");
    return 0;
}

/* "PORT" or "PORT/LANE"; *lane stays as it is if there is none. */
static int hop_take(const struct follow *follow, const char **at, uint32_t *port, uint32_t *lane)
{
    source_blanks_skip(at);
    if (!source_number_take(at, port) || (source_take(at, "/") && !source_number_take(at, lane)) ||
        (**at != ' ' && **at != '\t' && **at != '\0'))
        return source_error(follow->source, "not a port: '%.40s'", *at);
    return 0;
}

struct walk {
    uint32_t node, port_in, lane, hops;
};

/* One hop on: from a switch by a port. The packet came in by port_in, 0: it starts here. */
static int hop_go(struct follow *follow, struct walk *walk, uint32_t port, uint32_t lane_said)
{
    const struct fabric_node *node = &follow->fabric->nodes[walk->node];
    uint32_t at = follow->switches.index[walk->node];
    if (node->kind != FABRIC_SWITCH)
        return source_error(follow->source, "the path goes on behind host '%s'", node->name);
    if (port == 0 || port > node->port_count || node->ports[port].peer_node == FABRIC_NONE)
        return source_error(follow->source, "no cable at port %u of '%s'", port, node->name);
    uint32_t peer = node->ports[port].peer_node;
    bool last = follow->fabric->nodes[peer].kind == FABRIC_HOST;
    if (walk->port_in != 0 && !last) {
        check_loop_add(follow->loop, at, walk->port_in, port, 1ull << walk->lane);
        walk->lane += check_loop_raises(follow->loop, at);
    }
    if (walk->lane >= CHECK_LANES_MAX)
        return source_error(follow->source, "more than %u virtual channels", CHECK_LANES_MAX);
    if (!last && lane_said != UINT32_MAX && lane_said != walk->lane)
        return source_error(follow->source, "at '%s' lane %u is due, not %u (--lanes?)", node->name,
                            walk->lane, lane_said);
    if (walk->lane + 1 > follow->report->lanes_used)
        follow->report->lanes_used = walk->lane + 1;
    walk->port_in = node->ports[port].peer_port;
    walk->node = peer;
    walk->hops++;
    return 0;
}

static void pair_count(struct follow *follow, uint32_t from, uint32_t to, uint32_t hops)
{
    uint32_t at = follow->switches.index[from];
    size_t bit = (size_t)at * follow->fabric->node_count + to;
    if (follow->seen[bit / 8] >> (bit % 8) & 1)
        return;
    follow->seen[bit / 8] |= (uint8_t)(1u << (bit % 8));
    follow->report->pairs_connected += follow->switches.hosts[at];
    follow->hops_sum += (uint64_t)follow->switches.hosts[at] * hops;
    if (hops > follow->report->hops_max)
        follow->report->hops_max = hops;
}

static int line_follow(struct follow *follow)
{
    const char *at = follow->source->line;
    uint32_t from = 0, to = 0, port = 0;
    source_blanks_skip(&at);
    if (*at == '\0' || *at == '#')
        return 0;
    int result = node_take(follow, &at, FABRIC_SWITCH, &from);
    if (result == 0)
        result = node_take(follow, &at, FABRIC_HOST, &to);
    struct walk walk = {.node = from};
    for (source_blanks_skip(&at); result == 0 && *at != '\0'; source_blanks_skip(&at)) {
        uint32_t lane = UINT32_MAX;
        result = hop_take(follow, &at, &port, &lane);
        if (result == 0)
            result = hop_go(follow, &walk, port, lane);
    }
    if (result == 0 && walk.node != to)
        result = source_error(follow->source, "the path ends at '%s', not at '%s'",
                              follow->fabric->nodes[walk.node].name,
                              follow->fabric->nodes[to].name);
    if (result == 0)
        pair_count(follow, from, to, walk.hops);
    return result;
}

/* Hosts of one switch reach each other without a path. */
static void pairs_total(struct follow *follow)
{
    uint64_t hosts = 0;
    for (uint32_t s = 0; s < follow->switches.count; s++) {
        uint64_t here = follow->switches.hosts[s];
        hosts += here;
        follow->report->pairs_connected += here * (here - (here > 0));
        follow->hops_sum += here * (here - (here > 0));
    }
    follow->report->pairs = hosts * (hosts - (hosts > 0));
}

static int lines_follow(struct follow *follow)
{
    int more, result = 0;
    while (result == 0 && (more = lines_next(follow->source)) != 0)
        result = more < 0 ? more : line_follow(follow);
    if (result == 0)
        result = check_loop_find(follow->loop, follow->report, &follow->report->loop_free);
    follow->report->loop_free_strict = follow->report->loop_free;
    if (follow->report->pairs_connected > 0)
        follow->report->hops_mean = (double)follow->hops_sum /
                                    (double)follow->report->pairs_connected;
    return result;
}

int check_paths(const struct fabric *fabric, struct lines *source,
                const struct check_options *options, struct check_report *report)
{
    struct follow follow = {.fabric = fabric, .source = source, .report = report};
    memset(report, 0, sizeof(*report));
    int result = check_switches_find(&follow.switches, fabric);
    if (result == 0)
        result = check_loop_create(&follow.loop, &follow.switches, options->lanes);
    follow.seen = calloc((size_t)follow.switches.count * fabric->node_count / 8 + 1, 1);
    if (result == 0 && !follow.seen)
        result = error_fail(-ENOMEM, "no memory to check paths");
    if (result == 0) {
        pairs_total(&follow);
        result = lines_follow(&follow);
        check_lanes_limit(report, options);
    }
    check_loop_destroy(follow.loop);
    check_switches_free(&follow.switches);
    free(follow.seen);
    return result;
}
