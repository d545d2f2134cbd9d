/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See check_transition.h.
 */
#include "route/check/transition.h"

#include "base/arena.h"
#include "base/error.h"
#include "route/check/loop.h"

#include <string.h>

#define BLOCK 64 /* LIDs whose entries are fetched at once: the tables lie crosswise */

enum { FROM_HOST = 1, FROM_ANYONE = 2 };

struct mixed {
    struct arena memory; /* of the arrays */
    const struct fabric *fabric;
    const struct lft_dump *tables[2];
    struct check_switches switches;
    struct check_loop *loop;
    struct transition_report *report;
    uint32_t switch_count, lid_count;
    uint8_t *all_send; /* LID: switches without hosts send there too, if only answers */
    uint8_t *block;    /* the entries of some LIDs: [lid % BLOCK][switch][table] */
    uint8_t *seen;     /* switch: who may send packets through here */
    uint32_t *waiting; /* switch: neighbours that lead here and are not done */
    uint32_t *queue;
    uint32_t lid;
};

static void mixed_free(struct mixed *mixed)
{
    check_loop_destroy(mixed->loop);
    check_switches_free(&mixed->switches);
    arena_free(&mixed->memory);
}

static int mixed_allocate(struct mixed *mixed)
{
    size_t switches = mixed->switch_count + 1u;
    ARENA_TAKE(&mixed->memory, mixed->all_send, mixed->lid_count + 1u);
    ARENA_TAKE(&mixed->memory, mixed->block, switches * 2 * BLOCK);
    ARENA_TAKE(&mixed->memory, mixed->seen, switches);
    ARENA_TAKE(&mixed->memory, mixed->waiting, switches);
    ARENA_TAKE(&mixed->memory, mixed->queue, switches);
    if (mixed->memory.is_short)
        return error_fail(-ENOMEM, "no memory to check the change of %u switches",
                          mixed->switch_count);
    int result = check_switches_find(&mixed->switches, mixed->fabric);
    return result == 0 ? check_loop_create(&mixed->loop, &mixed->switches, CHECK_ONE_LANE) : result;
}

static const struct fabric_node *node_of(const struct mixed *mixed, uint32_t at)
{
    return check_switch(&mixed->switches, at);
}

static void all_send_note(struct mixed *mixed, const struct fabric_port *port)
{
    for (uint32_t i = 0; i < fabric_lid_count(port) && port->lid + i < mixed->lid_count; i++)
        mixed->all_send[port->lid + i] = 1;
}

/* Where switches without hosts send something. */
static void all_send_find(struct mixed *mixed)
{
    for (uint32_t s = 0; s < mixed->switch_count; s++) {
        const struct fabric_node *node = node_of(mixed, s);
        for (uint32_t p = 1; p <= node->port_count; p++) {
            uint32_t peer = node->ports[p].peer_node;
            if (peer == FABRIC_NONE || mixed->fabric->nodes[peer].kind != FABRIC_HOST)
                continue;
            all_send_note(mixed, &mixed->fabric->nodes[peer].ports[node->ports[p].peer_port]);
        }
        if (mixed->switches.hosts[s])
            all_send_note(mixed, &node->ports[0]);
    }
}

static void block_fetch(struct mixed *mixed, uint32_t from)
{
    for (int table = 0; table < 2; table++) {
        const struct lft_dump *dump = mixed->tables[table];
        for (uint32_t s = 0; s < mixed->switch_count; s++) {
            const uint8_t *row = dump->port + (size_t)s * dump->lid_count;
            for (uint32_t i = 0; i < BLOCK; i++)
                mixed->block[((size_t)i * mixed->switch_count + s) * 2 + (uint32_t)table] =
                    from + i < dump->lid_count ? row[from + i] : 255;
        }
    }
}

struct way {
    uint32_t to;
    uint8_t port, port_in; /* here, and at the far end */
};

/* Where packets for the LID at hand may go from a switch: to none, one or two others. */
static uint32_t ways_find(const struct mixed *mixed, uint32_t at, struct way ways[2])
{
    const uint8_t *ports = mixed->block +
                           ((size_t)(mixed->lid % BLOCK) * mixed->switch_count + at) * 2;
    const struct fabric_node *node = node_of(mixed, at);
    uint32_t count = 0;
    for (int table = 0; table < 2; table++) {
        uint8_t port = ports[table];
        if (port == 0 || port > node->port_count || (table == 1 && port == ports[0]))
            continue; /* dropped, arrived, or the same again */
        const struct fabric_port *cable = &node->ports[port];
        if (cable->peer_node == FABRIC_NONE ||
            mixed->fabric->nodes[cable->peer_node].kind != FABRIC_SWITCH)
            continue;
        ways[count++] = (struct way){.to = mixed->switches.index[cable->peer_node],
                                     .port = port,
                                     .port_in = (uint8_t)cable->peer_port};
    }
    return count;
}

/* Marks all switches that packets of these senders may pass. */
static void senders_follow(struct mixed *mixed, uint8_t mark)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < mixed->switch_count; s++) {
        if (mark == FROM_HOST && !mixed->switches.hosts[s])
            continue;
        mixed->seen[s] |= mark;
        mixed->queue[count++] = s;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct way ways[2];
        uint32_t found = ways_find(mixed, mixed->queue[i], ways);
        for (uint32_t w = 0; w < found; w++) {
            if (mixed->seen[ways[w].to] & mark)
                continue;
            mixed->seen[ways[w].to] |= mark;
            mixed->queue[count++] = ways[w].to;
        }
    }
}

/* Puts the first circle into words: from a switch that is left, back to where packets come from,
 * until one comes again. waiting[] is not needed any more and holds who leads where. */
static void circle_tell(struct mixed *mixed, const uint8_t *left)
{
    char *text = mixed->report->circle;
    size_t room = sizeof(mixed->report->circle), used;
    uint32_t at = 0, count = 0;
    for (uint32_t s = 0; s < mixed->switch_count; s++) {
        struct way ways[2];
        uint32_t found = left[s] ? ways_find(mixed, s, ways) : 0;
        for (uint32_t w = 0; w < found; w++) {
            mixed->waiting[ways[w].to] = s;
            at = left[ways[w].to] ? ways[w].to : at;
        }
    }
    for (uint32_t i = 0; i < mixed->switch_count; i++)
        at = mixed->waiting[at]; /* now surely on a circle */
    uint32_t start = at;
    do {
        mixed->queue[count++] = at;
        at = mixed->waiting[at];
    } while (at != start);
    used = (size_t)snprintf(text, room, "LID %u: ", mixed->lid);
    for (uint32_t i = count; i-- > 0 && used + 140 < room;)
        used += (size_t)snprintf(text + used, room - used, "'%.100s' -> ",
                                 node_of(mixed, mixed->queue[i])->name);
    snprintf(text + used, room - used, "the first again (%u switches in a circle)", count);
}

/* Takes away switches to which nobody leads any more; if that does not take all, there is a
 * circle. */
static void circles_find(struct mixed *mixed, uint8_t mark)
{
    uint32_t count = 0, all = 0;
    struct way ways[2];
    memset(mixed->waiting, 0, mixed->switch_count * sizeof(*mixed->waiting));
    for (uint32_t s = 0; s < mixed->switch_count; s++) {
        mixed->seen[s] &= mark;
        uint32_t found = mixed->seen[s] ? ways_find(mixed, s, ways) : 0;
        all += mixed->seen[s] != 0;
        for (uint32_t w = 0; w < found; w++)
            mixed->waiting[ways[w].to]++;
    }
    for (uint32_t s = 0; s < mixed->switch_count; s++) {
        if (mixed->seen[s] && mixed->waiting[s] == 0)
            mixed->queue[count++] = s;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found = ways_find(mixed, mixed->queue[i], ways);
        mixed->seen[mixed->queue[i]] = 0;
        for (uint32_t w = 0; w < found; w++) {
            if (--mixed->waiting[ways[w].to] == 0)
                mixed->queue[count++] = ways[w].to;
        }
    }
    if (count == all)
        return;
    if (mixed->report->lids_circling++ == 0)
        circle_tell(mixed, mixed->seen);
}

/* A packet from a host that came in by any way may go on by any way. */
static void dependencies_note(struct mixed *mixed)
{
    for (uint32_t s = 0; s < mixed->switch_count; s++) {
        struct way ways[2], on[2];
        uint32_t found = mixed->seen[s] & FROM_HOST ? ways_find(mixed, s, ways) : 0;
        for (uint32_t w = 0; w < found; w++) {
            uint32_t further = ways_find(mixed, ways[w].to, on);
            for (uint32_t i = 0; i < further; i++)
                check_loop_add(mixed->loop, ways[w].to, ways[w].port_in, on[i].port, 1);
        }
    }
}

static void lid_check(struct mixed *mixed)
{
    const uint8_t *entries = mixed->block + (size_t)(mixed->lid % BLOCK) * mixed->switch_count * 2;
    for (uint32_t s = 0; s < mixed->switch_count; s++)
        mixed->report->entries_changed += entries[2 * s] != entries[2 * s + 1];
    memset(mixed->seen, 0, mixed->switch_count);
    senders_follow(mixed, FROM_HOST);
    dependencies_note(mixed);
    if (mixed->all_send[mixed->lid])
        senders_follow(mixed, FROM_ANYONE);
    circles_find(mixed, mixed->all_send[mixed->lid] ? FROM_ANYONE : FROM_HOST);
}

int check_transition(const struct fabric *fabric, const struct lft_dump *before,
                     const struct lft_dump *after, struct transition_report *report)
{
    struct mixed mixed = {.fabric = fabric,
                          .tables = {before, after},
                          .report = report,
                          .switch_count = before->switch_count,
                          .lid_count = before->lid_count > after->lid_count ? before->lid_count
                                                                            : after->lid_count};
    struct check_report loops = {0};
    memset(report, 0, sizeof(*report));
    int result = mixed_allocate(&mixed);
    if (result == 0)
        all_send_find(&mixed);
    for (mixed.lid = 1; result == 0 && mixed.lid < mixed.lid_count; mixed.lid++) {
        if (mixed.lid == 1 || mixed.lid % BLOCK == 0)
            block_fetch(&mixed, mixed.lid - mixed.lid % BLOCK);
        lid_check(&mixed);
    }
    if (result == 0)
        result = check_loop_find(mixed.loop, &loops, &report->loop_free);
    memcpy(report->witness, loops.witness, sizeof(report->witness));
    mixed_free(&mixed);
    return result;
}
