/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See stages.h.
 *
 * An old entry that leads to a switch whose new entry it may not be followed by, or a new one that
 * leads to a switch with such an old entry, are a conflict: the old one must be gone before the new
 * one comes. What is left after that uses allowed turns only, in each mixed state, and allowed
 * turns have no loop: no packet goes round in a circle and none waits in one. A conflict is between
 * neighbours, so each is found where it is, target by target.
 */
#include "route/repair/stages.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* One target at a time. */
struct plan {
    struct arena memory; /* of the arrays */
    const struct net *net;
    const struct turns *turns;
    const uint8_t *old, *new;
    uint32_t target, root;
    uint8_t *changes;    /* switch: its entry differs and packets may come there */
    uint32_t *old_until; /* switch: 0 means not known yet */
    uint32_t *new_from;  /* switch: at least this */
    uint32_t *conflicts; /* switch: old entries that must be gone before its new one comes */
    uint32_t *queue, *ready;
    uint32_t ready_count;
};

static bool plan_allocate(struct plan *plan)
{
    size_t switches = plan->net->switch_count + 1u;
    ARENA_TAKE(&plan->memory, plan->changes, switches);
    ARENA_TAKE(&plan->memory, plan->old_until, switches);
    ARENA_TAKE(&plan->memory, plan->new_from, switches);
    ARENA_TAKE(&plan->memory, plan->conflicts, switches);
    ARENA_TAKE(&plan->memory, plan->queue, switches);
    ARENA_TAKE(&plan->memory, plan->ready, switches);
    return !plan->memory.is_short;
}

/* Marks where packets may come at all, by old and new entries. Between switches without hosts
 * nothing is sent. changes[] holds the marks. */
static void packets_follow(struct plan *plan)
{
    const struct net *net = plan->net;
    bool all_send = net_has_hosts(net, plan->root);
    uint32_t count = 0;
    memset(plan->changes, 0, net->switch_count);
    for (uint32_t s = 0; s < net->switch_count; s++) {
        plan->changes[s] = all_send || net_has_hosts(net, s);
        if (plan->changes[s])
            plan->queue[count++] = s;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t next[2] = {plan->old[plan->queue[i]], plan->new[plan->queue[i]]};
        for (int k = 0; k < 2; k++) {
            uint32_t to = next[k] < LFT_HERE ? net->head[net->first[plan->queue[i]] + next[k]]
                                             : plan->root;
            if (plan->changes[to])
                continue;
            plan->changes[to] = 1;
            plan->queue[count++] = to;
        }
    }
}

typedef void (*conflict_visit)(struct plan *plan, uint32_t old_at, uint32_t new_at);

/* Visits the switches whose new entry must wait until the old one of this switch is gone. */
static void conflicts_visit(struct plan *plan, uint32_t at, conflict_visit visit)
{
    const struct net *net = plan->net;
    if (plan->old[at] >= LFT_HERE)
        return;
    uint32_t out = net->first[at] + plan->old[at], to = net->head[out];
    if (plan->changes[to] && plan->new[to] < LFT_HERE &&
        !turns_allowed(plan->turns, out, net->first[to] + plan->new[to]))
        visit(plan, at, to);
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        uint32_t from = net->head[c], in = net->reverse[c];
        if (plan->changes[from] && plan->new[from] == net_slot_out(net, in) &&
            !turns_allowed(plan->turns, in, out))
            visit(plan, at, from);
    }
}

static void conflict_count(struct plan *plan, uint32_t old_at, uint32_t new_at)
{
    plan->conflicts[new_at]++;
}

static void conflict_solve(struct plan *plan, uint32_t old_at, uint32_t new_at)
{
    if (plan->new_from[new_at] <= plan->old_until[old_at])
        plan->new_from[new_at] = plan->old_until[old_at] + 1;
    if (--plan->conflicts[new_at] == 0)
        plan->ready[plan->ready_count++] = new_at;
}

/* Old entries go when the new ones come, which they do as soon as all in their way are gone. */
static void ready_change(struct plan *plan, uint32_t *done)
{
    for (; *done < plan->ready_count; (*done)++) {
        uint32_t at = plan->ready[*done];
        if (plan->old_until[at] != 0)
            continue; /* gone already */
        plan->old_until[at] = plan->new_from[at];
        conflicts_visit(plan, at, conflict_solve);
    }
}

/* The old entry goes at once, whatever waits for that can come, and its packets are dropped until
 * the new one comes. */
static void old_drop(struct plan *plan, uint32_t at)
{
    plan->old_until[at] = 1;
    if (plan->new_from[at] < 2)
        plan->new_from[at] = 2;
    conflicts_visit(plan, at, conflict_solve);
}

/* A switch whose old entry a new one waits for. */
static uint32_t blocker_find(const struct plan *plan, uint32_t at)
{
    const struct net *net = plan->net;
    uint32_t out = net->first[at] + plan->new[at], to = net->head[out];
    if (plan->changes[to] && plan->old_until[to] == 0 && plan->old[to] < LFT_HERE &&
        !turns_allowed(plan->turns, out, net->first[to] + plan->old[to]))
        return to;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        uint32_t from = net->head[c], in = net->reverse[c];
        if (plan->changes[from] && plan->old_until[from] == 0 &&
            plan->old[from] == net_slot_out(net, in) && !turns_allowed(plan->turns, in, out))
            return from;
    }
    return at;
}

/* Entries that wait for each other in a circle: one of them gives way, and so on. */
static void circles_cut(struct plan *plan, uint32_t *done)
{
    for (uint32_t s = 0; s < plan->net->switch_count; s++) {
        while (plan->changes[s] && plan->conflicts[s] > 0) {
            uint32_t at = s;
            for (uint32_t i = 0; i < plan->net->switch_count; i++)
                at = blocker_find(plan,
                                  at); /* who stands in the way of whom: in the end a circle */
            old_drop(plan, at);
            ready_change(plan, done);
        }
    }
}

static bool waits(const struct plan *plan, uint32_t at)
{
    return plan->changes[at] && plan->conflicts[at] > 0;
}

static void conflict_note(struct plan *plan, uint32_t old_at, uint32_t new_at)
{
    plan->queue[old_at] = 1;
}

/* No more than two stages: who waits and lets others wait drops its packets. */
static void waiting_drop(struct plan *plan)
{
    memset(plan->queue, 0, plan->net->switch_count * sizeof(*plan->queue));
    for (uint32_t s = 0; s < plan->net->switch_count; s++) {
        if (waits(plan, s))
            conflicts_visit(plan, s, conflict_note);
        plan->queue[s] = plan->queue[s] && waits(plan, s);
    }
    for (uint32_t s = 0; s < plan->net->switch_count; s++) {
        if (plan->queue[s])
            old_drop(plan, s);
    }
}

static void conflicts_find(struct plan *plan)
{
    const struct net *net = plan->net;
    plan->ready_count = 0;
    packets_follow(plan);
    for (uint32_t s = 0; s < net->switch_count; s++) {
        plan->changes[s] = plan->changes[s] && plan->old[s] != plan->new[s];
        plan->old_until[s] = 0;
        plan->new_from[s] = 1;
        plan->conflicts[s] = 0;
    }
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (plan->changes[s])
            conflicts_visit(plan, s, conflict_count);
    }
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (plan->changes[s] && plan->conflicts[s] == 0)
            plan->ready[plan->ready_count++] = s;
    }
}

/* Finds a stage for each entry of a target that changes. Returns how many stages there are. */
static uint32_t target_plan(struct plan *plan, bool in_two)
{
    uint32_t last = 1, done = 0;
    conflicts_find(plan);
    if (in_two)
        waiting_drop(plan);
    ready_change(plan, &done);
    circles_cut(plan, &done);
    for (uint32_t s = 0; s < plan->net->switch_count; s++) {
        if (plan->changes[s] && plan->new_from[s] > last)
            last = plan->new_from[s];
    }
    return last;
}

static int entry_keep(struct stages *stages, const struct plan *plan, uint32_t at)
{
    if (!array_grow(&stages->entries, &stages->entry_room, stages->entry_count + 1))
        return error_fail(-ENOMEM, "no memory for the stages of %zu entries",
                          stages->entry_count + 1);
    stages->entries[stages->entry_count++] = (struct stages_entry){
        .target = plan->target,
        .at = at,
        .slot = plan->old[at],
        .old_until = (uint8_t)plan->old_until[at],
        .new_from = (uint8_t)plan->new_from[at]};
    stages->dropped += plan->old[at] < LFT_HERE && plan->old_until[at] < plan->new_from[at];
    return 0;
}

static int target_add(struct stages *stages, struct plan *plan, const struct lft *before,
                      uint32_t target)
{
    const struct net *net = plan->net;
    int result = 0;
    plan->target = target;
    plan->root = net->target_switch[target];
    plan->old = lft_tree(before, target);
    plan->new = lft_tree(stages->after, target);
    if (memcmp(plan->old, plan->new, net->switch_count) == 0)
        return 0;
    uint32_t last = target_plan(plan, false);
    if (last > STAGES_MAX)
        last = target_plan(plan, true);
    stages->count = last > stages->count ? last : stages->count;
    for (uint32_t s = 0; s < net->switch_count && result == 0; s++) {
        if (plan->changes[s] && plan->new_from[s] > 1)
            result = entry_keep(stages, plan, s);
    }
    return result;
}

int stages_find(struct stages *stages, const struct lft_dump *held, const struct lft *after,
                const struct turns *turns)
{
    const struct net *net = after->net;
    struct plan plan = {.net = net, .turns = turns};
    struct lft *before = NULL;
    *stages = (struct stages){.after = after, .held = held, .count = 1};
    int result = lft_import(&before, net, held);
    if (result == 0 && !plan_allocate(&plan))
        result = error_fail(-ENOMEM, "no memory for the stages of %u switches", net->switch_count);
    for (uint32_t t = 0; result == 0 && t < net->target_count; t++)
        result = target_add(stages, &plan, before, t);
    arena_free(&plan.memory);
    lft_destroy(before);
    if (result < 0)
        stages_free(stages);
    return result;
}

static uint8_t held_port(const struct stages *stages, uint32_t at, uint32_t lid)
{
    const struct lft_dump *held = stages->held;
    return lid < held->lid_count ? held->port[(size_t)at * held->lid_count + lid] : 255;
}

/* Leaves what is the same before and after. Returns how many entries led somewhere and do not. */
static uint64_t table_drain(const struct stages *stages, struct lft_dump *table)
{
    uint64_t dropped = 0;
    for (uint32_t s = 0; s < table->switch_count; s++) {
        for (uint32_t lid = 0; lid < table->lid_count; lid++) {
            uint8_t *port = &table->port[(size_t)s * table->lid_count + lid];
            uint8_t held = held_port(stages, s, lid);
            dropped += *port != held && held != 255;
            *port = *port == held ? held : 255;
        }
    }
    return dropped;
}

int stages_drain(struct stages *stages, const struct lft_dump *held, const struct lft *after)
{
    struct lft_dump table;
    *stages = (struct stages){.after = after, .held = held, .count = 2, .drained = true};
    int result = lft_export(&table, after);
    if (result == 0) {
        stages->dropped = table_drain(stages, &table);
        lft_dump_free(&table);
    }
    return result;
}

void stages_free(struct stages *stages)
{
    free(stages->entries);
    stages->entries = NULL;
    stages->entry_count = 0;
}

/* An entry that does not change yet, for all LIDs of its target. */
static void entry_hold(struct lft_dump *table, const struct net *net,
                       const struct stages_entry *entry, uint32_t stage)
{
    uint32_t lid = net->target_lid[entry->target],
             end = lid + (1u << net->target_lmc[entry->target]);
    uint8_t port = entry->slot == LFT_HERE   ? net->target_port[entry->target]
                   : entry->slot == LFT_NONE ? 255
                                             : net->port[net->first[entry->at] + entry->slot];
    for (; lid != 0 && lid < end; lid++)
        table->port[(size_t)entry->at * table->lid_count + lid] = stage < entry->old_until ? port
                                                                                           : 255;
}

int stages_table(const struct stages *stages, uint32_t stage, struct lft_dump *table)
{
    int result = lft_export(table, stages->after);
    if (result < 0)
        return result;
    if (stages->drained && stage < stages->count)
        table_drain(stages, table);
    for (size_t i = 0; i < stages->entry_count; i++) {
        if (stage < stages->entries[i].new_from)
            entry_hold(table, stages->after->net, &stages->entries[i], stage);
    }
    return 0;
}
