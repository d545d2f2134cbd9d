/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See check.h. Follows every entry for every LID; loop.c then looks for cycles.
 */
#include "route/check/check.h"

#include "base/arena.h"
#include "base/error.h"
#include "route/check/loop.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, IN_PROGRESS, ARRIVES, FAILS };

struct walk {
    struct arena memory; /* of the arrays */
    const struct fabric *fabric;
    const struct lft_dump *dump;
    struct check_report *report;
    struct check_switches switches;
    struct check_loop *loop;
    uint8_t *state;
    uint32_t *depth, *path, *order;
    uint64_t *lanes; /* switch -> lanes on which traffic leaves it */
    uint32_t lid, root, root_port;
    uint64_t hops_sum;
    bool strict;    /* with what switches send and receive themselves */
    bool first_lid; /* of the port at hand */
};

static void walk_free(struct walk *walk)
{
    check_switches_free(&walk->switches);
    arena_free(&walk->memory);
}

static int walk_prepare(struct walk *walk)
{
    uint32_t switches = walk->dump->switch_count + 1;
    ARENA_TAKE(&walk->memory, walk->state, switches);
    ARENA_TAKE(&walk->memory, walk->depth, switches);
    ARENA_TAKE(&walk->memory, walk->path, switches);
    ARENA_TAKE(&walk->memory, walk->order, switches + 1);
    ARENA_TAKE(&walk->memory, walk->lanes, switches);
    if (walk->memory.is_short)
        return error_fail(-ENOMEM, "no memory to check %u switches", walk->dump->switch_count);
    return check_switches_find(&walk->switches, walk->fabric);
}

static uint8_t port_at(const struct walk *walk, uint32_t at)
{
    return walk->dump->port[(size_t)at * walk->dump->lid_count + walk->lid];
}

static void problem_note(struct walk *walk, uint32_t at, const char *what)
{
    if (walk->report->problem[0] == '\0')
        snprintf(walk->report->problem, sizeof(walk->report->problem), "switch '%s', LID %u: %s",
                 check_switch(&walk->switches, at)->name, walk->lid, what);
}

/* The switch that the entry at `at` leads to, or FABRIC_NONE with the reason. */
static uint32_t step(const struct walk *walk, uint32_t at, const char **why)
{
    uint8_t port = port_at(walk, at);
    const struct fabric_node *node = check_switch(&walk->switches, at);
    if (port == 255) {
        *why = "no entry";
    } else if (port == 0 || port > node->port_count) {
        *why = "the entry names a port the switch does not have";
    } else if (node->ports[port].peer_node == FABRIC_NONE) {
        *why = "the entry names a port without a cable";
    } else if (walk->switches.index[node->ports[port].peer_node] == FABRIC_NONE) {
        *why = "the entry leads to another host";
    } else {
        return walk->switches.index[node->ports[port].peer_node];
    }
    return FABRIC_NONE;
}

/* Follows entries from a switch until something known, then marks the whole way. */
static void follow(struct walk *walk, uint32_t from)
{
    uint32_t count = 0, at = from, depth = 0;
    const char *why = NULL;
    uint8_t end;
    while (walk->state[at] == UNKNOWN) {
        walk->state[at] = IN_PROGRESS;
        walk->path[count++] = at;
        uint32_t next = step(walk, at, &why);
        if (next == FABRIC_NONE)
            break;
        at = next;
    }
    if (why) {
        end = FAILS;
    } else if (walk->state[at] == IN_PROGRESS) {
        end = FAILS;
        why = "packets go round in a circle";
    } else {
        end = walk->state[at];
        depth = walk->depth[at];
    }
    bool needed = walk->switches.hosts[at] || walk->switches.hosts[from] || walk->root_port != 0;
    if (end == FAILS && why && needed)
        problem_note(walk, at, why);
    while (count-- > 0) {
        walk->state[walk->path[count]] = end;
        walk->depth[walk->path[count]] = ++depth;
    }
}

/* Switches that arrive, the farthest first, by counting. */
static uint32_t order_fill(struct walk *walk)
{
    uint32_t switches = walk->dump->switch_count, count = 0;
    uint32_t *start = walk->path;
    memset(start, 0, (switches + 1) * sizeof(*start));
    for (uint32_t s = 0; s < switches; s++) {
        if (walk->state[s] == ARRIVES && s != walk->root) {
            start[switches - walk->depth[s]]++;
            count++;
        }
    }
    for (uint32_t i = 0, sum = 0; i <= switches; i++) {
        uint32_t here = start[i];
        start[i] = sum;
        sum += here;
    }
    for (uint32_t s = 0; s < switches; s++) {
        if (walk->state[s] == ARRIVES && s != walk->root)
            walk->order[start[switches - walk->depth[s]]++] = s;
    }
    return count;
}

/* Sends traffic down the tree, lane by lane, and notes which channel waits for which. */
static void dependencies_note(struct walk *walk)
{
    if (walk->root_port == 0 && !walk->strict)
        return;
    uint32_t count = order_fill(walk);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = walk->order[i];
        walk->lanes[s] = walk->strict || walk->switches.hosts[s] ? 1 : 0;
    }
    walk->lanes[walk->root] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = walk->order[i];
        uint8_t port = port_at(walk, at);
        const struct fabric_port *cable = &check_switch(&walk->switches, at)->ports[port];
        uint32_t to = walk->switches.index[cable->peer_node];
        uint64_t lanes = walk->lanes[at];
        if (lanes == 0 || to == walk->root)
            continue;
        bool raise = check_loop_raises(walk->loop, to);
        if (raise && lanes >> (CHECK_LANES_MAX - 1)) {
            problem_note(walk, to, "more than 64 virtual channels would be needed");
            walk->report->lanes_used = CHECK_LANES_MAX + 1;
            lanes &= ~(1ull << (CHECK_LANES_MAX - 1));
        }
        check_loop_add(walk->loop, to, cable->peer_port, port_at(walk, to), lanes);
        walk->lanes[to] |= raise ? lanes << 1 : lanes;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t lanes = walk->lanes[walk->order[i]];
        uint32_t used = lanes ? 64 - (uint32_t)__builtin_clzll(lanes) : 0;
        if (used > walk->report->lanes_used)
            walk->report->lanes_used = used;
    }
}

static void counts_add(struct walk *walk)
{
    struct check_report *report = walk->report;
    bool to_host = walk->root_port != 0, root_has_hosts = walk->switches.hosts[walk->root] > 0;
    for (uint32_t s = 0; s < walk->dump->switch_count; s++) {
        bool arrives = walk->state[s] == ARRIVES;
        if (!arrives && (to_host || walk->switches.hosts[s] || root_has_hosts))
            report->entries_missing++;
        else if (!arrives)
            report->entries_unused++;
        if (!to_host || !walk->switches.hosts[s] || !walk->first_lid)
            continue;
        uint32_t sources = walk->switches.hosts[s] - (s == walk->root);
        report->pairs += sources;
        if (!arrives)
            continue;
        report->pairs_connected += sources;
        walk->hops_sum += (uint64_t)sources * (walk->depth[s] + 1);
        if (sources > 0 && walk->depth[s] + 1 > report->hops_max)
            report->hops_max = walk->depth[s] + 1;
    }
}

/* Checks one LID, that of a host behind port root_port of switch root, or of the switch itself. */
static void lid_check(struct walk *walk, bool count)
{
    const char *why = "the entry for the target's own switch is wrong";
    memset(walk->state, UNKNOWN, walk->dump->switch_count);
    bool right = walk->lid < walk->dump->lid_count && port_at(walk, walk->root) == walk->root_port;
    walk->state[walk->root] = right ? ARRIVES : FAILS;
    walk->depth[walk->root] = 0;
    if (!right)
        problem_note(walk, walk->root, why);
    for (uint32_t s = 0; right && s < walk->dump->switch_count; s++) {
        if (walk->state[s] == UNKNOWN)
            follow(walk, s);
    }
    if (count)
        counts_add(walk);
    if (right)
        dependencies_note(walk);
}

/* All LIDs of a port. Pairs of ports count once, whatever number of LIDs they have. */
static void port_check(struct walk *walk, const struct fabric_port *port, bool count)
{
    for (uint32_t i = 0; i < fabric_lid_count(port); i++) {
        walk->lid = port->lid + i;
        walk->first_lid = i == 0;
        lid_check(walk, count);
    }
}

static void lids_check(struct walk *walk, bool count)
{
    const struct fabric *fabric = walk->fabric;
    for (uint32_t s = 0; s < walk->dump->switch_count; s++) {
        const struct fabric_node *node = check_switch(&walk->switches, s);
        walk->root = s;
        walk->root_port = 0;
        port_check(walk, &node->ports[0], count);
        for (uint32_t p = 1; p <= node->port_count; p++) {
            uint32_t peer = node->ports[p].peer_node;
            if (peer == FABRIC_NONE || fabric->nodes[peer].kind != FABRIC_HOST)
                continue;
            walk->root_port = p;
            port_check(walk, &fabric->nodes[peer].ports[node->ports[p].peer_port], count);
        }
    }
}

/* LIDs with an entry somewhere that no port has. */
static int unknown_count(struct walk *walk)
{
    const struct lft_dump *dump = walk->dump;
    struct check_report *report = walk->report;
    uint8_t *known = calloc(dump->lid_count + 1u, 1);
    if (!known)
        return error_fail(-ENOMEM, "no memory for %u LIDs", dump->lid_count);
    for (uint32_t i = 0; i < walk->fabric->node_count; i++) {
        const struct fabric_node *node = &walk->fabric->nodes[i];
        for (uint32_t p = 0; p <= node->port_count; p++) {
            uint32_t lid = node->ports[p].lid, end = lid + fabric_lid_count(&node->ports[p]);
            for (; lid < end && lid < dump->lid_count; lid++)
                known[lid] = 1;
        }
    }
    report->lids_unknown = dump->lids_beyond;
    report->lid_unknown = dump->lid_beyond;
    for (uint32_t lid = dump->lid_count; lid-- > 1;) {
        bool any = false;
        for (uint32_t s = 0; s < dump->switch_count && !known[lid] && !any; s++)
            any = dump->port[(size_t)s * dump->lid_count + lid] != 255;
        report->lids_unknown += any;
        report->lid_unknown = any ? lid : report->lid_unknown;
    }
    free(known);
    return 0;
}

/* One full pass with or without the switches' own traffic; says whether there is no cycle. */
static int pass(struct walk *walk, const struct check_options *options, bool strict,
                bool *loop_free)
{
    int result = check_loop_create(&walk->loop, &walk->switches, options->lanes);
    if (result < 0)
        return result;
    walk->strict = strict;
    lids_check(walk, !strict);
    result = check_loop_find(walk->loop, walk->report, loop_free);
    check_loop_destroy(walk->loop);
    return result;
}

void check_lanes_limit(struct check_report *report, const struct check_options *options)
{
    uint32_t limit = options->lane_limit ? options->lane_limit : CHECK_LANES_MAX;
    report->lanes_fit = report->lanes_used <= limit;
    if (!report->lanes_fit && report->problem[0] == '\0')
        snprintf(report->problem, sizeof(report->problem),
                 "%u virtual channels are used, there are %u; choose an algorithm that needs fewer",
                 report->lanes_used, limit);
}

int check_tables(const struct fabric *fabric, const struct lft_dump *dump,
                 const struct check_options *options, struct check_report *report)
{
    static const struct check_options plain = {.lanes = CHECK_ONE_LANE};
    struct walk walk = {.fabric = fabric, .dump = dump, .report = report};
    memset(report, 0, sizeof(*report));
    if (!options)
        options = &plain;
    int result = walk_prepare(&walk);
    if (result == 0)
        result = unknown_count(&walk);
    if (result == 0)
        result = pass(&walk, options, false, &report->loop_free);
    if (result == 0) {
        report->hops_mean = report->pairs_connected
                                ? (double)walk.hops_sum / (double)report->pairs_connected
                                : 0;
        check_lanes_limit(report, options);
    }
    if (result == 0 && report->loop_free)
        result = pass(&walk, options, true, &report->loop_free_strict);
    if (report->loop_free)
        report->witness[0] = '\0'; /* a cycle of the switches' own traffic only is not shown */
    walk_free(&walk);
    return result;
}
