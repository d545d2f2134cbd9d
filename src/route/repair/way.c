/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One switch that has lost its way to a target takes another output. All behind it stay as they
 * are, as far as they may follow it there; those that may not have lost their way too.
 */
#include "route/repair/parts.h"

struct choice {
    uint32_t out, hops, orphans;
    uint64_t cost;
    bool old; /* what a switch without hosts had before: one change less */
};

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

uint32_t repair_orphans_count(const struct repair *repair, uint32_t at, uint32_t out)
{
    const struct net *net = repair->net;
    uint32_t count = 0;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++)
        count += repair_is_behind(repair, c) && !turns_allowed(repair->turns, net->reverse[c], out);
    return count;
}

/* Each orphan is at least one more entry to change. */
static bool is_better(const struct choice *a, const struct choice *b)
{
    if (a->orphans != b->orphans)
        return a->orphans < b->orphans;
    if (a->hops != b->hops)
        return a->hops < b->hops;
    if (a->old != b->old)
        return a->old;
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
        choice.orphans = repair_orphans_count(repair, at, out);
        choice.old = !net_has_hosts(net, at) && out == net->first[at] + repair->before[at];
        if (best.out == UINT32_MAX || is_better(&choice, &best))
            best = choice;
    }
    return best.out;
}

/* Adds a flow to all channels ahead of a switch. */
static void way_load(struct repair *repair, uint32_t from, float *const flow[], float sign)
{
    struct load *load = repair->grow->load;
    const struct net *net = repair->net;
    for (uint32_t at = from; repair->next[at] < LFT_HERE;) {
        uint32_t out = net->first[at] + repair->next[at];
        for (uint32_t k = 0; k < load->traffic->class_count; k++)
            load->channel[k][out] += sign * flow[k][from];
        price_update(repair->grow->price, out);
        at = net->head[out];
    }
}

/* A switch has a way again: it and all behind it send on. */
static void load_add(struct repair *repair, uint32_t from)
{
    const struct net *net = repair->net;
    const struct branch *branch = repair->branch;
    if (repair->target >= net->host_count)
        return;
    branch_list(repair->branch, repair->next, from);
    branch_load(repair->branch, repair->grow->load, repair->next, repair->target, 1);
    for (uint32_t i = 1; i < branch->count; i++)
        price_update(repair->grow->price, net->first[branch->at[i]] + repair->next[branch->at[i]]);
    way_load(repair, from, branch->flow, 1);
}

void repair_expected_put(struct repair *repair, uint32_t at)
{
    if (net_has_hosts(repair->net, at) || repair->next[at] >= LFT_HERE)
        return;
    way_load(repair, at, repair->expected, 1);
    repair->awaiting[repair->awaiting_count++] = at;
}

void repair_expected_drop(struct repair *repair)
{
    while (repair->awaiting_count > 0)
        way_load(repair, repair->awaiting[--repair->awaiting_count], repair->expected, -1);
}

void repair_way_lose(struct repair *repair, uint32_t at)
{
    repair->next[at] = LFT_NONE;
    repair->lost[repair->lost_count++] = at;
}

/* Those behind a switch that cannot follow it to its new output have lost their way. */
static void orphans_lose(struct repair *repair, uint32_t at, uint32_t out)
{
    const struct net *net = repair->net;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        if (repair_is_behind(repair, c) && !turns_allowed(repair->turns, net->reverse[c], out))
            repair_way_lose(repair, net->head[c]);
    }
}

bool repair_way_renew(struct repair *repair, uint32_t at)
{
    uint32_t out = output_find(repair, at);
    if (out == UINT32_MAX)
        return false;
    orphans_lose(repair, at, out);
    repair->next[at] = (uint8_t)(out - repair->net->first[at]);
    load_add(repair, at);
    return true;
}
