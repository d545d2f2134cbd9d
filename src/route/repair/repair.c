/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See repair.h.
 *
 * For each target with a dead entry: a switch that has lost its way takes another output, and all
 * behind it stay as they are, as far as they may follow it there. Those that may not have lost
 * their way too, and so on. A switch that finds no output at all loses all behind it, and is tried
 * again when these have found their ways; in the end others must change for it (rescue.c). Nothing
 * is looked at but the neighbourhood of the failure.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "route/repair/parts.h"

#include <stdlib.h>
#include <string.h>

#define HEAVY 0.2f /* part of what a cable carries */

/* A switch has no output left. Those behind it to whom no output of it could ever be any good have
 * lost their way, and may leave room for it when they have found another; with `all` the others
 * too. Returns whether there was anyone. */
static bool behind_lose(struct repair *repair, uint32_t at, bool all)
{
    const struct net *net = repair->net;
    uint32_t count = repair->lost_count;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        if (repair_is_behind(repair, c) &&
            (all || !reach_has(repair->reach, net->reverse[c], repair->root)))
            repair_way_lose(repair, net->head[c]);
    }
    return repair->lost_count > count;
}

static void lost_try(struct repair *repair)
{
    for (uint32_t i = 0; i < repair->lost_count; i++) {
        if (repair->heavy && net_has_hosts(repair->net, repair->lost[i]))
            repair_expected_drop(repair);
        bool renewed = repair_way_renew(repair, repair->lost[i]);
        if (renewed && repair->heavy)
            repair_expected_put(repair, repair->lost[i]);
        if (renewed)
            continue;
        behind_lose(repair, repair->lost[i], false);
        repair->stuck[repair->stuck_count++] = repair->lost[i];
    }
    repair->lost_count = 0;
    repair_expected_drop(repair);
}

/* Returns whether anyone who was stuck has found a way. */
static bool stuck_try(struct repair *repair)
{
    uint32_t left = 0, before = repair->stuck_count;
    for (uint32_t i = 0; i < before; i++) {
        if (!repair_way_renew(repair, repair->stuck[i]))
            repair->stuck[left++] = repair->stuck[i];
    }
    repair->stuck_count = left;
    return left < before;
}

/* All that have lost their way find another, as far as that goes without others changing. */
static void lost_renew(struct repair *repair)
{
    bool progress = true;
    repair->stuck_count = 0;
    while (progress) {
        lost_try(repair);
        progress = stuck_try(repair);
        for (uint32_t i = 0; !progress && i < repair->stuck_count; i++)
            progress = behind_lose(repair, repair->stuck[i], true);
    }
}

/* Would the output a switch had before still do, for it and for those behind it now? */
static bool old_output_fits(const struct repair *repair, uint32_t at)
{
    const struct net *net = repair->net;
    uint32_t out = net->first[at] + repair->before[at], to = net->head[out], on = to;
    while (repair->next[on] < LFT_HERE && on != at)
        on = net->head[net->first[on] + repair->next[on]];
    if (on == at)
        return false; /* leads back here */
    if (repair->next[on] != LFT_HERE)
        return repair->next[at] == LFT_NONE; /* both lead nowhere, and need not */
    return repair_orphans_count(repair, at, out) == 0 &&
           (to == repair->root ||
            turns_allowed(repair->turns, out, net->first[to] + repair->next[to]));
}

/* Rescue changes more than it must: what can be as it was becomes as it was. */
static void old_restore(struct repair *repair)
{
    for (uint32_t s = 0; s < repair->net->switch_count; s++) {
        bool stays = repair->heavy && net_has_hosts(repair->net, s);
        if (repair->before[s] < LFT_HERE && repair->next[s] != repair->before[s] && !stays &&
            old_output_fits(repair, s))
            repair->next[s] = repair->before[s];
    }
}

/* Puts the load of a whole tree on its channels, or takes it off. */
static void tree_load(struct repair *repair, const uint8_t *next, float sign)
{
    const struct net *net = repair->net;
    const struct branch *branch = repair->branch;
    branch_list_all(repair->branch, next, repair->root);
    branch_load(repair->branch, repair->grow->load, next, repair->target, sign);
    for (uint32_t i = 1; i < branch->count && sign > 0; i++) /* prices matter when it is back */
        price_update(repair->grow->price, net->first[branch->at[i]] + next[branch->at[i]]);
}

static bool has_hosts_behind(const struct repair *repair, const uint8_t *next, uint32_t at)
{
    branch_list(repair->branch, next, at);
    for (uint32_t i = 0; i < repair->branch->count; i++) {
        if (net_has_hosts(repair->net, repair->branch->at[i]))
            return true;
    }
    return false;
}

/* Rescue has changed the tree: if that concerns any traffic, it goes other ways now. Mostly it does
 * not, and then nothing needs to be added up. */
static void rescue_load(struct repair *repair)
{
    bool moved = false;
    for (uint32_t s = 0; s < repair->net->switch_count && !moved; s++)
        moved = repair->next[s] != repair->unrescued[s] &&
                (has_hosts_behind(repair, repair->unrescued, s) ||
                 has_hosts_behind(repair, repair->next, s));
    if (!moved || repair->target >= repair->net->host_count)
        return;
    tree_load(repair, repair->unrescued, -1);
    tree_load(repair, repair->next, 1);
}

/* Those whom no neighbour can take as it is: others change for them (rescue.c). */
static void rest_rescue(struct repair *repair)
{
    struct grow *grow = repair->grow;
    const struct net *net = repair->net;
    const struct traffic *traffic = grow->load->traffic;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        grow->price_at[s] = grow->price->of[traffic_class(traffic, s, repair->target)];
        grow->level[s] = LFT_UNKNOWN;
        grow->cost[s] = 0;
    }
    grow->level[repair->root] = 0;
    for (uint32_t s = 0; s < net->switch_count; s++)
        lft_hops(net, repair->next, s, grow->level);
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (grow->level[s] == UINT32_MAX)
            repair->next[s] = LFT_NONE;
    }
    grow->order_count = 0;
    grow->frugal = true;
    grow_stragglers_join(grow, repair->target, repair->next);
    old_restore(repair);
}

/* Between switches without hosts a missing entry does not matter, unless somebody with hosts is
 * behind it. */
static bool matters(const struct repair *repair, uint32_t dead)
{
    if (net_has_hosts(repair->net, repair->root))
        return true;
    return has_hosts_behind(repair, repair->next, dead);
}

static void change_note(struct repair *repair, uint32_t at)
{
    if (!array_grow(&repair->changed, &repair->changed_capacity, repair->changed_count + 1))
        return; /* costs balance, not correctness: the list only serves tuning */
    repair->changed[repair->changed_count++] = (struct tune_entry){repair->target, at};
}

static void changes_count(struct repair *repair, struct repair_result *result)
{
    const struct net *net = repair->net;
    uint64_t changed = 0, idle = 0;
    bool root_has_hosts = net_has_hosts(net, repair->root);
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (repair->next[s] == repair->before[s])
            continue;
        if (!root_has_hosts && !net_has_hosts(net, s)) {
            idle++;
            continue;
        }
        changed++;
        change_note(repair, s);
        result->entries_forced += repair->before[s] == LFT_NONE;
    }
    result->entries_changed += changed;
    result->entries_idle += idle;
    result->targets_changed += changed + idle > 0;
}

/* Where much of a target's traffic has lost its way, it would overload any other cable if it stayed
 * together: then all on the way there choose again, each for itself. */
static void heavy_lose(struct repair *repair)
{
    uint32_t dead_count = repair->lost_count;
    repair->heavy = false;
    for (uint32_t i = 0; i < dead_count && repair->target < repair->net->host_count; i++) {
        branch_list(repair->branch, repair->next, repair->lost[i]);
        branch_load(repair->branch, repair->grow->load, repair->next, repair->target, 0);
        float flow = 0;
        for (uint32_t k = 0; k < repair->grow->load->traffic->class_count; k++)
            flow += repair->branch->flow[k][repair->lost[i]];
        for (uint32_t k = 0; flow > HEAVY && !repair->heavy && k < TRAFFIC_CLASSES; k++)
            memset(repair->expected[k], 0, repair->net->switch_count * sizeof(float));
        repair->heavy = repair->heavy || flow > HEAVY;
        for (uint32_t j = 1; flow > HEAVY && j < repair->branch->count; j++) {
            uint32_t at = repair->branch->at[j];
            for (uint32_t k = 0; k < repair->grow->load->traffic->class_count; k++)
                repair->expected[k][at] = repair->branch->flow[k][at];
            repair_way_lose(repair, at);
        }
    }
}

/* Mends the tree of one target, whose dead entries are given. */
static void target_repair(struct repair *repair, const struct dead *dead, size_t count,
                          struct repair_result *result)
{
    memcpy(repair->before, repair->next, repair->net->switch_count);
    repair->next[repair->root] = LFT_HERE;
    repair->lost_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (dead[i].at != repair->root && matters(repair, dead[i].at))
            repair->lost[repair->lost_count++] = dead[i].at;
    }
    heavy_lose(repair);
    lost_renew(repair);
    if (repair->stuck_count > 0) {
        memcpy(repair->unrescued, repair->next, repair->net->switch_count);
        rest_rescue(repair);
        rescue_load(repair);
    }
    price_settle(repair->grow->price);
    changes_count(repair, result);
}

static void repair_free(struct repair *repair)
{
    free(repair->changed);
    arena_free(&repair->memory);
    branch_destroy(repair->branch);
    grow_destroy(repair->grow);
}

static int repair_prepare(struct repair *repair, struct load *load)
{
    const struct net *net = repair->net;
    uint32_t switches = net->switch_count;
    int result = grow_create(&repair->grow, repair->turns, repair->reach, load);
    ARENA_TAKE(&repair->memory, repair->before, switches);
    ARENA_TAKE(&repair->memory, repair->unrescued, switches);
    /* a switch may be lost, find a way, and be lost again when that changes: once for each
     * output */
    ARENA_TAKE(&repair->memory, repair->lost, (size_t)net->channel_count + switches);
    ARENA_TAKE(&repair->memory, repair->stuck, (size_t)net->channel_count + switches);
    ARENA_TAKE(&repair->memory, repair->awaiting, (size_t)net->channel_count + switches);
    for (uint32_t k = 0; k < TRAFFIC_CLASSES; k++)
        ARENA_TAKE(&repair->memory, repair->expected[k], switches);
    if (result == 0 && repair->memory.is_short)
        result = error_fail(-ENOMEM, "no memory to repair %u switches", switches);
    return result == 0 ? branch_create(&repair->branch, net) : result;
}

/* Mends the trees that have dead entries, one after the other. */
static void targets_repair(struct repair *repair, struct lft *lft, const struct dead_list *dead,
                           struct repair_result *result)
{
    for (size_t i = 0, end; i < dead->count; i = end) {
        for (end = i; end < dead->count && dead->items[end].target == dead->items[i].target;)
            end++;
        repair->target = dead->items[i].target;
        repair->root = repair->net->target_switch[repair->target];
        repair->next = lft_tree(lft, repair->target);
        target_repair(repair, dead->items + i, end - i, result);
    }
}

int repair_table(struct lft *lft, const struct repair_room *room, struct load *load,
                 const struct dead_list *dead, struct repair_result *result)
{
    struct repair repair = {.net = lft->net, .turns = room->turns, .reach = room->reach};
    int64_t start_ns = clock_now_ns();
    memset(result, 0, sizeof(*result));
    int code = repair_prepare(&repair, load);
    for (uint32_t k = 0; k < load->traffic->class_count; k++)
        repair.most_before[k] = (float)load_max(load, k);
    if (code == 0)
        targets_repair(&repair, lft, dead, result);
    int64_t mended_ns = clock_now_ns();
    if (code == 0)
        code = repair_balance(&repair, lft, load, result);
    repair_free(&repair);
    result->mend_seconds = (double)(mended_ns - start_ns) / NS_PER_S;
    result->balance_seconds = (double)(clock_now_ns() - mended_ns) / NS_PER_S;
    return code;
}
