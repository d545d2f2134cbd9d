/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See repair.h.
 *
 * For each target with a dead entry, the switches whose way leads over one are lost. They join
 * again in rounds, nearest first, each by the best neighbour that has a way. The output it had
 * before is kept wherever it is as short as any other; else an output is preferred that those
 * behind it may follow, so that they need not change. Only the neighbourhood of the failure is
 * looked at.
 */
#include "route/repair.h"

#include "base/clock.h"
#include "base/error.h"
#include "route/grow.h"
#include "route/tune.h"

#include <stdlib.h>
#include <string.h>

#define TUNE_TARGETS 2048 /* a closer look at so many trees is affordable */

struct repair {
    const struct net *net;
    const struct turns *turns;
    struct grow *grow; /* for its prices, and for those who cannot join by themselves */
    uint8_t *next;
    uint8_t *before;
    uint32_t *hops; /* valid where mark is the number of the target at hand */
    uint32_t *mark;
    uint32_t number;
    uint32_t *lost, *way;
    uint32_t lost_count;
    uint32_t target, root;
    struct tune_entry *changed; /* all entries that changed */
    size_t changed_count, changed_capacity;
};

struct choice {
    uint32_t out, hops, orphans;
    bool keeps;
    uint64_t price;
};

/* Length of a switch's way, UINT32_MAX for one that is lost. Remembered for the target at hand. */
static uint32_t hops_get(struct repair *repair, uint32_t from)
{
    const struct net *net = repair->net;
    uint32_t at = from, count = 0;
    while (repair->mark[at] != repair->number && repair->next[at] < LFT_HERE) {
        repair->way[count++] = at;
        at = net->head[net->first[at] + repair->next[at]];
    }
    if (repair->mark[at] != repair->number) {
        repair->mark[at] = repair->number;
        repair->hops[at] = at == repair->root ? 0 : UINT32_MAX;
    }
    uint32_t hops = repair->hops[at];
    while (count-- > 0) {
        hops = hops == UINT32_MAX ? hops : hops + 1;
        repair->mark[repair->way[count]] = repair->number;
        repair->hops[repair->way[count]] = hops;
    }
    return repair->hops[from];
}

/* Those behind a lost switch that would not be able to follow it to a new output. */
static uint32_t orphans_count(const struct repair *repair, uint32_t at, uint32_t out)
{
    const struct net *net = repair->net;
    uint32_t count = 0;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        uint32_t in = net->reverse[c], from = net->head[c];
        count += repair->before[from] == in - net->first[from] && in != net->reverse[out] &&
                 !turns_allowed(repair->turns, in, out);
    }
    return count;
}

static bool is_better(const struct choice *a, const struct choice *b)
{
    if (a->hops != b->hops)
        return a->hops < b->hops;
    if (a->keeps != b->keeps)
        return a->keeps;
    if (a->orphans != b->orphans)
        return a->orphans < b->orphans;
    return a->price < b->price;
}

/* The best way for a lost switch over neighbours that have one. */
static struct choice choice_find(struct repair *repair, uint32_t at)
{
    const struct net *net = repair->net;
    const struct traffic *traffic = repair->grow->load->traffic;
    const uint64_t *price = repair->grow->price->of[traffic_class(traffic, at, repair->target)];
    struct choice best = {.out = UINT32_MAX, .hops = UINT32_MAX};
    for (uint32_t out = net->first[at]; out < net->first[at + 1]; out++) {
        uint32_t to = net->head[out], hops = hops_get(repair, to);
        if (hops == UINT32_MAX || hops + 1 > best.hops)
            continue;
        if (to != repair->root &&
            !turns_allowed(repair->turns, out, net->first[to] + repair->next[to]))
            continue;
        struct choice choice = {.out = out,
                                .hops = hops + 1,
                                .orphans = orphans_count(repair, at, out),
                                .keeps = repair->before[at] == out - net->first[at],
                                .price = price[out]};
        if (best.out == UINT32_MAX || is_better(&choice, &best))
            best = choice;
    }
    return best;
}

/* One round: all that can join at the least distance do. Returns how many. */
static uint32_t round_run(struct repair *repair, struct choice *choices)
{
    uint32_t least = UINT32_MAX, joined = 0, left = 0;
    for (uint32_t i = 0; i < repair->lost_count; i++) {
        choices[i] = choice_find(repair, repair->lost[i]);
        if (choices[i].hops < least)
            least = choices[i].hops;
    }
    for (uint32_t i = 0; i < repair->lost_count; i++) {
        uint32_t at = repair->lost[i];
        if (least == UINT32_MAX || choices[i].hops != least) {
            repair->lost[left++] = at;
            continue;
        }
        repair->next[at] = (uint8_t)(choices[i].out - repair->net->first[at]);
        repair->hops[at] = least;
        joined++;
    }
    repair->lost_count = left;
    return joined;
}

/* Those whom no neighbour can take as it is: others change for them (rescue.c). */
static void rest_rescue(struct repair *repair)
{
    struct grow *grow = repair->grow;
    const struct net *net = repair->net;
    const struct traffic *traffic = grow->load->traffic;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        grow->price_at[s] = grow->price->of[traffic_class(traffic, s, repair->target)];
        grow->level[s] = hops_get(repair, s);
    }
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (grow->level[s] == UINT32_MAX)
            repair->next[s] = LFT_NONE;
    }
    grow->order_count = 0;
    grow->frugal = true;
    memset(grow->cost, 0, net->switch_count * sizeof(*grow->cost));
    grow_stragglers_join(grow, repair->target, repair->next);
}

/* Adds the traffic of switches that had lost their way. */
static void load_add(struct repair *repair, const uint32_t *sources, uint32_t count)
{
    struct load *load = repair->grow->load;
    const struct net *net = repair->net;
    for (uint32_t k = 0; repair->target < net->host_count && k < load->traffic->class_count; k++) {
        for (uint32_t i = 0; i < count; i++) {
            float flow = traffic_source(load->traffic, repair->target, k, sources[i]);
            for (uint32_t at = sources[i]; flow > 0 && repair->next[at] < LFT_HERE;) {
                uint32_t out = net->first[at] + repair->next[at];
                load->channel[k][out] += flow;
                price_update(repair->grow->price, out);
                at = net->head[out];
            }
        }
    }
}

/* The switches whose way ends at a dead entry: that one and all behind it. Between switches without
 * hosts a missing entry does not matter; if nobody with hosts is behind it, it stays. */
static void lost_add(struct repair *repair, uint32_t dead)
{
    const struct net *net = repair->net;
    uint32_t from = repair->lost_count;
    bool matters = net_has_hosts(net, repair->root) || net_has_hosts(net, dead);
    repair->lost[repair->lost_count++] = dead;
    for (uint32_t i = from; i < repair->lost_count; i++) {
        uint32_t at = repair->lost[i];
        repair->mark[at] = repair->number;
        repair->hops[at] = UINT32_MAX;
        matters = matters || net_has_hosts(net, at);
        for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
            uint32_t behind = net->head[c];
            if (repair->next[behind] == net->reverse[c] - net->first[behind])
                repair->lost[repair->lost_count++] = behind;
        }
    }
    if (!matters)
        repair->lost_count = from;
}

static void lost_find(struct repair *repair)
{
    const struct net *net = repair->net;
    repair->lost_count = 0;
    repair->number++;
    const uint8_t *at = repair->next, *end = at + net->switch_count;
    while ((at = memchr(at, LFT_NONE, (size_t)(end - at))) != NULL) {
        lost_add(repair, (uint32_t)(at - repair->next));
        at++;
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

static void target_repair(struct repair *repair, struct choice *choices, uint32_t *sources,
                          struct repair_result *result)
{
    const struct net *net = repair->net;
    memcpy(repair->before, repair->next, net->switch_count);
    repair->next[repair->root] = LFT_HERE;
    lost_find(repair);
    uint32_t source_count = repair->lost_count;
    memcpy(sources, repair->lost, source_count * sizeof(*sources));
    while (repair->lost_count > 0 && round_run(repair, choices) > 0)
        ;
    if (repair->lost_count > 0)
        rest_rescue(repair);
    load_add(repair, sources, source_count);
    uint64_t changed = 0;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (repair->next[s] == repair->before[s])
            continue;
        changed++;
        change_note(repair, s);
        result->entries_forced += repair->before[s] == LFT_NONE;
    }
    result->entries_changed += changed;
    result->targets_changed += changed > 0;
}

static void repair_free(struct repair *repair)
{
    free(repair->changed);
    free(repair->before);
    free(repair->hops);
    free(repair->mark);
    free(repair->lost);
    free(repair->way);
    grow_destroy(repair->grow);
}

static int repair_prepare(struct repair *repair, struct load *load)
{
    uint32_t switches = repair->net->switch_count;
    int result = grow_create(&repair->grow, repair->turns, NULL, load);
    repair->before = malloc(switches);
    repair->hops = malloc(switches * sizeof(uint32_t));
    repair->mark = calloc(switches, sizeof(uint32_t));
    repair->lost = malloc(switches * sizeof(uint32_t));
    repair->way = malloc(switches * sizeof(uint32_t));
    if (result == 0 &&
        (!repair->before || !repair->hops || !repair->mark || !repair->lost || !repair->way))
        result = error_set(-ENOMEM, ERROR_NO_RANK, "no memory to repair %u switches", switches);
    return result;
}

/* What changes anyway may as well change to the best. */
static int changed_tune(struct repair *repair, struct lft *lft, struct load *load,
                        uint32_t target_count)
{
    uint32_t rounds = target_count ? TUNE_TARGETS / target_count : 0;
    rounds = rounds < 1 ? 1 : rounds > 3 ? 3 : rounds;
    return tune_entries(lft, repair->turns, load, repair->changed, repair->changed_count, rounds);
}

int repair_table(struct lft *lft, const struct turns *turns, struct load *load,
                 struct repair_result *result)
{
    const struct net *net = lft->net;
    struct repair repair = {.net = net, .turns = turns};
    int64_t start_ns = clock_now_ns();
    memset(result, 0, sizeof(*result));
    int code = repair_prepare(&repair, load);
    struct choice *choices = malloc(net->switch_count * sizeof(*choices));
    uint32_t *sources = malloc(net->switch_count * sizeof(*sources));
    if (code == 0 && (!choices || !sources))
        code = error_set(-ENOMEM, ERROR_NO_RANK, "no memory to repair a table");
    for (uint32_t t = 0; code == 0 && t < net->target_count; t++) {
        repair.next = lft_tree(lft, t);
        repair.target = t;
        repair.root = net->target_switch[t];
        if (memchr(repair.next, LFT_NONE, net->switch_count))
            target_repair(&repair, choices, sources, result);
    }
    if (code == 0)
        code = changed_tune(&repair, lft, load, result->targets_changed);
    free(choices);
    free(sources);
    repair_free(&repair);
    result->seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    return code;
}
