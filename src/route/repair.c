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
#include "route/repair.h"

#include "base/clock.h"
#include "base/error.h"
#include "route/grow.h"
#include "route/tune.h"

#include <stdlib.h>
#include <string.h>

#define TUNE_TARGETS  2048 /* a closer look at so many trees is affordable */
#define TUNE_PASSES   3
#define BALANCE_GOAL  1.04f /* channels this much busier than any before are relieved */
#define BALANCE_WORTH 0.9f

struct repair {
    const struct net *net;
    const struct turns *turns;
    struct grow *grow; /* for its prices, and for those who cannot join by themselves */
    struct reach *reach;
    uint8_t *peer_slot; /* channel -> slot of the other direction */
    uint8_t *next;
    uint8_t *before;
    uint32_t *lost; /* in the order in which they lost their ways */
    uint32_t lost_count;
    uint32_t *stuck;
    uint32_t stuck_count;
    uint32_t *behind; /* scratch */
    uint32_t target, root;
    struct tune_entry *changed; /* all entries that changed */
    size_t changed_count, changed_capacity;
    float most_before[TRAFFIC_CLASSES]; /* the busiest channel's load, without what was lost */
};

struct choice {
    uint32_t out, hops, orphans;
    uint64_t cost;
};

/* Does a neighbour, over this channel to it, lead its packets here? */
static bool is_behind(const struct repair *repair, uint32_t channel)
{
    return repair->next[repair->net->head[channel]] == repair->peer_slot[channel];
}

/* Length and cost of a way on from a switch; false if it leads nowhere. */
static bool way_follow(const struct repair *repair, uint32_t at, const uint64_t *price,
                       struct choice *choice)
{
    const struct net *net = repair->net;
    while (repair->next[at] < LFT_HERE) {
        uint32_t out = net->first[at] + repair->next[at];
        choice->cost += price[out];
        choice->hops++;
        at = net->head[out];
    }
    return repair->next[at] == LFT_HERE;
}

/* Those behind a switch that would not be able to follow it to a new output. */
static uint32_t orphans_count(const struct repair *repair, uint32_t at, uint32_t out)
{
    const struct net *net = repair->net;
    uint32_t count = 0;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++)
        count += is_behind(repair, c) && !turns_allowed(repair->turns, net->reverse[c], out);
    return count;
}

/* Each orphan is at least one more entry to change. */
static bool is_better(const struct choice *a, const struct choice *b)
{
    if (a->orphans != b->orphans)
        return a->orphans < b->orphans;
    if (a->hops != b->hops)
        return a->hops < b->hops;
    return a->cost < b->cost;
}

/* The best output for a lost switch; UINT32_MAX if there is none. */
static uint32_t output_find(const struct repair *repair, uint32_t at)
{
    const struct net *net = repair->net;
    const struct traffic *traffic = repair->grow->load->traffic;
    const uint64_t *price = repair->grow->price->of[traffic_class(traffic, at, repair->target)];
    struct choice best = {.out = UINT32_MAX};
    for (uint32_t out = net->first[at]; out < net->first[at + 1]; out++) {
        uint32_t to = net->head[out];
        struct choice choice = {.out = out, .hops = 1, .cost = price[out]};
        if (repair->next[to] == LFT_NONE ||
            (to != repair->root &&
             !turns_allowed(repair->turns, out, net->first[to] + repair->next[to])))
            continue;
        if (!way_follow(repair, to, price, &choice))
            continue;
        choice.orphans = orphans_count(repair, at, out);
        if (best.out == UINT32_MAX || is_better(&choice, &best))
            best = choice;
    }
    return best.out;
}

/* A switch and all behind it. Returns how many they are. */
static uint32_t behind_list(const struct repair *repair, uint32_t from)
{
    const struct net *net = repair->net;
    uint32_t count = 1;
    repair->behind[0] = from;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = repair->behind[i];
        for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
            if (is_behind(repair, c))
                repair->behind[count++] = net->head[c];
        }
    }
    return count;
}

/* Adds what flows through a switch to all that lies ahead of it. */
static void load_add(struct repair *repair, uint32_t from)
{
    struct load *load = repair->grow->load;
    const struct net *net = repair->net;
    if (repair->target >= net->host_count)
        return;
    float flow[TRAFFIC_CLASSES] = {0};
    uint32_t count = behind_list(repair, from), classes = load->traffic->class_count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; net_has_hosts(net, repair->behind[i]) && k < classes; k++)
            flow[k] += traffic_source(load->traffic, repair->target, k, repair->behind[i]);
    }
    for (uint32_t at = from; repair->next[at] < LFT_HERE;) {
        uint32_t out = net->first[at] + repair->next[at];
        for (uint32_t k = 0; k < classes; k++)
            load->channel[k][out] += flow[k];
        price_update(repair->grow->price, out);
        at = net->head[out];
    }
}

static void lose(struct repair *repair, uint32_t at)
{
    repair->next[at] = LFT_NONE;
    repair->lost[repair->lost_count++] = at;
}

/* Those behind a switch that cannot follow it to its new output have lost their way. */
static void orphans_lose(struct repair *repair, uint32_t at, uint32_t out)
{
    const struct net *net = repair->net;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        if (is_behind(repair, c) && !turns_allowed(repair->turns, net->reverse[c], out))
            lose(repair, net->head[c]);
    }
}

/* A switch has no output left. Those behind it to whom no output of it could ever be any good have
 * lost their way, and may leave room for it when they have found another; with `all` the others
 * too. Returns whether there was anyone. */
static bool behind_lose(struct repair *repair, uint32_t at, bool all)
{
    const struct net *net = repair->net;
    uint32_t count = repair->lost_count;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        if (is_behind(repair, c) &&
            (all || !reach_has(repair->reach, net->reverse[c], repair->root)))
            lose(repair, net->head[c]);
    }
    return repair->lost_count > count;
}

static bool way_renew(struct repair *repair, uint32_t at)
{
    uint32_t out = output_find(repair, at);
    if (out == UINT32_MAX)
        return false;
    orphans_lose(repair, at, out);
    repair->next[at] = (uint8_t)(out - repair->net->first[at]);
    load_add(repair, at);
    return true;
}

static int lost_try(struct repair *repair)
{
    int result = 0;
    for (uint32_t i = 0; i < repair->lost_count && result == 0; i++) {
        if (way_renew(repair, repair->lost[i]))
            continue;
        if (!repair->reach)
            result = reach_create(&repair->reach, repair->turns);
        if (result == 0)
            behind_lose(repair, repair->lost[i], false);
        repair->stuck[repair->stuck_count++] = repair->lost[i];
    }
    repair->lost_count = 0;
    return result;
}

/* Returns whether anyone who was stuck has found a way. */
static bool stuck_try(struct repair *repair)
{
    uint32_t left = 0, before = repair->stuck_count;
    for (uint32_t i = 0; i < before; i++) {
        if (!way_renew(repair, repair->stuck[i]))
            repair->stuck[left++] = repair->stuck[i];
    }
    repair->stuck_count = left;
    return left < before;
}

/* All that have lost their way find another, as far as that goes without others changing. */
static int lost_renew(struct repair *repair)
{
    bool progress = true;
    int result = 0;
    repair->stuck_count = 0;
    while (result == 0 && progress) {
        result = lost_try(repair);
        progress = stuck_try(repair);
        for (uint32_t i = 0; !progress && i < repair->stuck_count; i++)
            progress = behind_lose(repair, repair->stuck[i], true);
    }
    return result;
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
    return orphans_count(repair, at, out) == 0 &&
           (to == repair->root ||
            turns_allowed(repair->turns, out, net->first[to] + repair->next[to]));
}

/* Rescue changes more than it must: what can be as it was becomes as it was. */
static void old_restore(struct repair *repair)
{
    for (uint32_t s = 0; s < repair->net->switch_count; s++) {
        if (repair->before[s] < LFT_HERE && repair->next[s] != repair->before[s] &&
            old_output_fits(repair, s))
            repair->next[s] = repair->before[s];
    }
}

/* Those whom no neighbour can take as it is: others change for them (rescue.c). */
static void rest_rescue(struct repair *repair)
{
    struct grow *grow = repair->grow;
    const struct net *net = repair->net;
    const struct traffic *traffic = grow->load->traffic;
    grow->reach = repair->reach;
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
    uint32_t count = behind_list(repair, dead);
    for (uint32_t i = 0; i < count; i++) {
        if (net_has_hosts(repair->net, repair->behind[i]))
            return true;
    }
    return false;
}

static void lost_find(struct repair *repair)
{
    const uint8_t *at = repair->next, *end = at + repair->net->switch_count;
    repair->lost_count = 0;
    while ((at = memchr(at, LFT_NONE, (size_t)(end - at))) != NULL) {
        uint32_t dead = (uint32_t)(at++ - repair->next);
        if (matters(repair, dead))
            repair->lost[repair->lost_count++] = dead;
    }
}

static void change_note(struct repair *repair, uint32_t at)
{
    if (repair->changed_count == repair->changed_capacity) {
        size_t capacity = repair->changed_capacity ? repair->changed_capacity * 2 : 1024;
        struct tune_entry *larger = realloc(repair->changed, capacity * sizeof(*larger));
        if (!larger)
            return; /* costs balance, not correctness: the list only serves tuning */
        repair->changed = larger;
        repair->changed_capacity = capacity;
    }
    repair->changed[repair->changed_count++] = (struct tune_entry){repair->target, at};
}

static void changes_count(struct repair *repair, struct repair_result *result)
{
    uint64_t changed = 0;
    for (uint32_t s = 0; s < repair->net->switch_count; s++) {
        if (repair->next[s] == repair->before[s])
            continue;
        changed++;
        change_note(repair, s);
        result->entries_forced += repair->before[s] == LFT_NONE;
    }
    result->entries_changed += changed;
    result->targets_changed += changed > 0;
}

static int target_repair(struct repair *repair, struct repair_result *result)
{
    memcpy(repair->before, repair->next, repair->net->switch_count);
    repair->next[repair->root] = LFT_HERE;
    lost_find(repair);
    int code = lost_renew(repair);
    if (code == 0 && repair->stuck_count > 0)
        rest_rescue(repair);
    price_settle(repair->grow->price);
    changes_count(repair, result);
    return code;
}

static void repair_free(struct repair *repair)
{
    free(repair->changed);
    free(repair->before);
    free(repair->peer_slot);
    free(repair->lost);
    free(repair->stuck);
    free(repair->behind);
    reach_destroy(repair->reach);
    grow_destroy(repair->grow);
}

static int repair_prepare(struct repair *repair, struct load *load)
{
    const struct net *net = repair->net;
    uint32_t switches = net->switch_count;
    int result = grow_create(&repair->grow, repair->turns, NULL, load);
    repair->before = malloc(switches);
    repair->peer_slot = malloc(net->channel_count + 1);
    /* a switch may be lost, find a way, and be lost again when that changes: once for each
     * output */
    repair->lost = malloc(((size_t)net->channel_count + switches) * sizeof(uint32_t));
    repair->stuck = malloc(((size_t)net->channel_count + switches) * sizeof(uint32_t));
    repair->behind = malloc(switches * sizeof(uint32_t));
    bool enough = repair->before && repair->peer_slot && repair->lost && repair->stuck &&
                  repair->behind;
    if (result == 0 && !enough)
        result = error_set(-ENOMEM, ERROR_NO_RANK, "no memory to repair %u switches", switches);
    for (uint32_t c = 0; result == 0 && c < net->channel_count; c++)
        repair->peer_slot[c] = (uint8_t)net_slot_in(net, c);
    return result;
}

/* Is there a cable that nobody uses: one that has come back? */
static bool any_idle(const struct load *load)
{
    for (uint32_t c = 0; c < load->net->channel_count; c++) {
        float sum = 0;
        for (uint32_t k = 0; k < load->traffic->class_count; k++)
            sum += load->channel[k][c];
        if (sum == 0)
            return true;
    }
    return false;
}

/* What changes anyway may as well change to the best. Then a few more may change, where channels
 * have become busier than all others. */
static int balance(struct repair *repair, struct lft *lft, struct load *load,
                   struct repair_result *result)
{
    uint32_t targets = result->targets_changed ? result->targets_changed : 1;
    uint32_t rounds = TUNE_TARGETS / targets < 3 ? TUNE_TARGETS / targets : 3;
    int code = tune_entries(lft, repair->turns, load, repair->changed, repair->changed_count,
                            rounds);
    uint64_t most = result->entries_forced * 2, changed = result->entries_changed;
    struct tune_options options = {
        .rounds_max = TUNE_PASSES,
        .moves_max = (most > changed ? most - changed : 0) + result->entries_forced / 2,
        .looks_max = TUNE_TARGETS,
        .longer = true,
        .worth = BALANCE_WORTH,
    };
    bool idle = any_idle(load);
    if (idle)
        options.moves_max += lft->net->host_count;
    for (uint32_t k = 0; k < load->traffic->class_count && !idle; k++)
        options.goal[k] = repair->most_before[k] * BALANCE_GOAL;
    if (code == 0 && options.moves_max > 0)
        code = tune_table(lft, repair->turns, load, &options);
    result->entries_changed += options.moves;
    return code;
}

uint64_t repair_unavoidable(const struct lft *in_use, const struct reach *reach)
{
    const struct net *net = in_use->net;
    uint64_t count = 0;
    for (uint32_t t = 0; t < net->target_count; t++) {
        const uint8_t *next = lft_tree(in_use, t);
        uint32_t root = net->target_switch[t];
        if (!memchr(next, LFT_NONE, net->switch_count))
            continue;
        for (uint32_t s = 0; s < net->switch_count; s++) {
            if (!net_has_hosts(net, root) && !net_has_hosts(net, s))
                continue;
            count += next[s] == LFT_NONE ||
                     (next[s] != LFT_HERE && !reach_has(reach, net->first[s] + next[s], root));
        }
    }
    return count;
}

int repair_table(struct lft *lft, const struct turns *turns, struct load *load,
                 struct repair_result *result)
{
    const struct net *net = lft->net;
    struct repair repair = {.net = net, .turns = turns};
    int64_t start_ns = clock_now_ns();
    memset(result, 0, sizeof(*result));
    int code = repair_prepare(&repair, load);
    for (uint32_t k = 0; k < load->traffic->class_count; k++)
        repair.most_before[k] = (float)load_most(load, k);
    for (uint32_t t = 0; code == 0 && t < net->target_count; t++) {
        repair.next = lft_tree(lft, t);
        repair.target = t;
        repair.root = net->target_switch[t];
        if (memchr(repair.next, LFT_NONE, net->switch_count))
            code = target_repair(&repair, result);
    }
    if (code == 0)
        code = balance(&repair, lft, load, result);
    repair_free(&repair);
    result->seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    return code;
}
