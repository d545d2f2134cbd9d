/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See grow.h.
 */
#include "route/trees/grow.h"

#include "base/error.h"

#include <string.h>

#define COST_NONE  (1ull << 62) /* has no way; above all costs, and can still be added to */
#define COST_ASIDE (1ull << 61) /* passes by the hub */

static bool grow_allocate(struct grow *grow)
{
    const struct net *net = grow->net;
    ARENA_TAKE(&grow->memory, grow->price_at, net->switch_count);
    ARENA_TAKE(&grow->memory, grow->cost, net->switch_count);
    ARENA_TAKE(&grow->memory, grow->level, net->switch_count);
    ARENA_TAKE(&grow->memory, grow->order, net->switch_count);
    ARENA_TAKE(&grow->memory, grow->waiting, net->switch_count);
    ARENA_TAKE(&grow->memory, grow->scratch, LFT_SCRATCH(net));
    for (uint32_t k = 0; k < TRAFFIC_CLASSES; k++)
        ARENA_TAKE(&grow->memory, grow->flow[k], net->switch_count);
    return !grow->memory.is_short;
}

int grow_create(struct grow **out, const struct turns *turns, const struct reach *reach,
                struct load *load)
{
    const struct net *net = turns->net;
    struct grow *grow = arena_owner(sizeof(*grow));
    if (grow) {
        grow->net = net;
        grow->turns = turns;
        grow->reach = reach;
        grow->load = load;
    }
    if (!grow || !grow_allocate(grow) || rescue_create(&grow->rescue, net) < 0 ||
        ways_create(&grow->ways, turns) < 0 || hub_create(&grow->hub, grow->ways, load) < 0 ||
        price_create(&grow->price, load, turns) < 0) {
        grow_destroy(grow);
        return error_fail(-ENOMEM, "no memory to grow trees over %u switches", net->switch_count);
    }
    *out = grow;
    return 0;
}

void grow_destroy(struct grow *grow)
{
    if (!grow)
        return;
    price_destroy(grow->price);
    hub_destroy(grow->hub);
    ways_destroy(grow->ways);
    rescue_destroy(grow->rescue);
    arena_owner_free(grow);
}

static void join(struct grow *grow, uint32_t at, uint32_t level, uint64_t cost)
{
    grow->level[at] = level;
    grow->cost[at] = cost;
    grow->order[grow->order_count++] = at;
}

/* What a switch pays to go on by another: the hub's privilege counts inside a group only. */
static uint64_t cost_mask(const struct grow *grow, uint32_t at)
{
    return grow->price_at[at] == grow->price->of[0] ? UINT64_MAX : ~COST_ASIDE;
}

/* The cheapest choice of a switch, all of which are allowed. The innermost loop of all. */
static uint32_t cheapest_find(const struct grow *grow, uint32_t at, uint64_t *cost)
{
    const struct net *net = grow->net;
    const uint64_t *choice = ways_choice(grow->ways, at);
    const uint64_t *price = grow->price_at[at] + net->first[at];
    const uint32_t *head = net->head + net->first[at];
    uint64_t least = COST_NONE, mask = cost_mask(grow, at);
    uint32_t best = LFT_NONE;
    for (uint32_t w = 0; w < grow->turns->words; w++) {
        for (uint64_t bits = choice[w]; bits; bits &= bits - 1) {
            uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
            uint64_t through = (grow->cost[head[slot]] & mask) + price[slot];
            best = through < least ? slot : best;
            least = through < least ? through : least;
        }
    }
    *cost = least;
    return best;
}

/* The same where a choice is good only if the next switch has chosen what may follow. */
static uint32_t cheapest_fitting_find(const struct grow *grow, uint32_t at, const uint8_t *next,
                                      uint64_t *cost)
{
    const struct net *net = grow->net;
    const uint64_t *choice = ways_choice(grow->ways, at);
    uint64_t least = COST_NONE, mask = cost_mask(grow, at);
    uint32_t best = LFT_NONE;
    for (uint32_t w = 0; w < grow->turns->words; w++) {
        for (uint64_t bits = choice[w]; bits; bits &= bits - 1) {
            uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
            uint32_t out = net->first[at] + slot, to = net->head[out];
            uint64_t through = (grow->cost[to] & mask) + grow->price_at[at][out];
            if (through >= least)
                continue;
            if (to != grow->ways->root &&
                !turns_allowed(grow->turns, out, net->first[to] + next[to]))
                continue;
            best = slot;
            least = through;
        }
    }
    *cost = least;
    return best;
}

/* Nothing is sent to a switch without hosts but a few words of management: any choice will do. They
 * are dealt round, so that no cable has more of them to lose than others. */
static uint32_t dealt_find(const struct grow *grow, uint32_t at, const uint8_t *next,
                           uint64_t *cost)
{
    const struct net *net = grow->net;
    const uint64_t *choice = ways_choice(grow->ways, at);
    *cost = 0;
    uint32_t degree = net_degree(net, at), start = grow->ways->root;
    for (uint32_t i = 0; i < degree; i++) {
        uint32_t slot = (start + i) % degree, out = net->first[at] + slot, to = net->head[out];
        if ((choice[slot / 64] >> (slot % 64) & 1) == 0 || grow->level[to] == UINT32_MAX)
            continue;
        if (to == grow->ways->root || turns_allowed(grow->turns, out, net->first[to] + next[to]))
            return slot;
    }
    return LFT_NONE;
}

/* The candidates have chosen their ways: one of them is favoured from here on. */
static void hub_favour(struct grow *grow, const uint8_t *next)
{
    struct hub *hub = grow->hub;
    hub_choose(hub, next);
    for (uint32_t i = 0; i < hub->count; i++) {
        uint32_t at = hub->candidates[i];
        if (!hub->chosen[at])
            grow->cost[at] |= COST_ASIDE;
    }
}

/* Every switch chooses, nearest first. Those that have no choice left must wait. */
static void choices_make(struct grow *grow, uint8_t *next)
{
    const struct ways *ways = grow->ways;
    bool waiting = !grow->bare && grow->hub->level > 0;
    for (uint32_t i = 1; i < ways->order_count; i++) {
        uint32_t at = ways->order[i];
        uint64_t cost;
        if (waiting && ways->level[at] > grow->hub->level) {
            waiting = false;
            hub_favour(grow, next);
        }
        uint32_t slot = grow->bare          ? dealt_find(grow, at, next, &cost)
                        : ways->depends[at] ? cheapest_fitting_find(grow, at, next, &cost)
                                            : cheapest_find(grow, at, &cost);
        next[at] = (uint8_t)slot;
        if (slot != LFT_NONE)
            join(grow, at, ways->level[at], cost);
        else
            grow->waiting[grow->waiting_count++] = at;
    }
}

/* The best way over neighbours that have one. Returns its length, UINT32_MAX if there is none. */
static uint32_t late_way_find(const struct grow *grow, uint32_t at, const uint8_t *next,
                              uint32_t *best)
{
    const struct net *net = grow->net;
    uint32_t level = UINT32_MAX;
    uint64_t least = COST_NONE;
    for (uint32_t out = net->first[at]; out < net->first[at + 1]; out++) {
        uint32_t to = net->head[out];
        uint64_t through = grow->cost[to] + grow->price_at[at][out];
        if (grow->level[to] >= level || (grow->level[to] + 1 == level && through >= least))
            continue;
        if (next[to] != LFT_HERE && !turns_allowed(grow->turns, out, net->first[to] + next[to]))
            continue;
        level = grow->level[to] + 1;
        least = through;
        *best = out;
    }
    return level;
}

/* Those that wait join over others that have joined, in rounds, the nearest first. */
static void waiting_join(struct grow *grow, uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t *best = grow->scratch, *level = grow->scratch + net->switch_count;
    uint32_t least = 0;
    while (grow->waiting_count > 0 && least != UINT32_MAX) {
        uint32_t left = 0;
        least = UINT32_MAX;
        for (uint32_t i = 0; i < grow->waiting_count; i++) {
            level[i] = late_way_find(grow, grow->waiting[i], next, &best[i]);
            least = level[i] < least ? level[i] : least;
        }
        for (uint32_t i = 0; i < grow->waiting_count; i++) {
            uint32_t at = grow->waiting[i];
            if (level[i] != least || least == UINT32_MAX) {
                grow->waiting[left++] = at;
                continue;
            }
            uint32_t to = net->head[best[i]];
            next[at] = (uint8_t)(best[i] - net->first[at]);
            join(grow, at, least, grow->cost[to] + grow->price_at[at][best[i]]);
        }
        grow->waiting_count = left;
    }
}

/* Neighbours without a way join a switch, as far as they may turn to its output. */
static void offer(struct grow *grow, uint32_t at, const uint64_t *row, uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t first = net->first[at];
    for (uint32_t w = 0; w < grow->turns->words; w++) {
        for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
            uint32_t out = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
            uint32_t from = net->head[out], channel = net->reverse[out];
            if (grow->level[from] != UINT32_MAX)
                continue;
            next[from] = (uint8_t)(channel - net->first[from]);
            join(grow, from, grow->level[at] + 1, grow->cost[at] + grow->price_at[from][channel]);
        }
    }
}

/* Lets neighbours that have no way yet join the switches from order[from] on, as far as that
 * goes. */
static void spread(struct grow *grow, uint32_t from, uint8_t *next)
{
    const struct net *net = grow->net;
    for (uint32_t i = from; i < grow->order_count; i++) {
        uint32_t at = grow->order[i];
        offer(grow, at, turns_row(grow->turns, net->first[at] + next[at]), next);
    }
}

bool grow_stragglers_join(struct grow *grow, uint32_t target, uint8_t *next)
{
    const struct net *net = grow->net;
    bool changed = false;
    rescue_busy_mark(grow, next);
    uint32_t rounds = grow->frugal && !net_has_hosts(net, net->target_switch[target]) ? 1 : 2;
    /* those with hosts first: the others' ways matter less, and must not stand in the way */
    for (uint32_t i = 0; i < rounds * net->switch_count; i++) {
        uint32_t s = i % net->switch_count, from = grow->order_count;
        if (grow->level[s] != UINT32_MAX || net_has_hosts(net, s) != (i < net->switch_count))
            continue;
        if (!grow_rescue(grow, target, s, next, &changed))
            continue;
        spread(grow, from, next);
        if (net_has_hosts(net, s)) {
            rescue_busy_mark(grow, next);
            changed = true;
        }
    }
    return changed;
}

static void grow_start(struct grow *grow, uint32_t target, uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t root = net->target_switch[target];
    memset(next, LFT_NONE, net->switch_count);
    for (uint32_t s = 0; s < net->switch_count; s++) {
        grow->price_at[s] = grow->price->of[traffic_class(grow->load->traffic, s, target)];
        grow->level[s] = UINT32_MAX;
        grow->cost[s] = COST_NONE;
    }
    grow->order_count = grow->waiting_count = 0;
    next[root] = LFT_HERE;
    join(grow, root, 0, 0);
}

void grow_tree(struct grow *grow, uint32_t target, uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t root = net->target_switch[target];
    grow_start(grow, target, next);
    grow->bare = !net_has_hosts(net, root);
    if (grow->ways->root != root) {
        ways_find(grow->ways, root);
        hub_candidates_find(grow->hub, target);
    }
    choices_make(grow, next);
    waiting_join(grow, next);
    if (grow->order_count < net->switch_count && grow_stragglers_join(grow, target, next) &&
        target < net->host_count)
        grow->order_count = lft_order_find(net, next, root, grow->order, grow->scratch);
}

void grow_tree_load(struct grow *grow, uint32_t target, const uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t classes = grow->load->traffic->class_count;
    if (target >= net->host_count)
        return;
    for (uint32_t k = 0; k < classes; k++)
        traffic_sources(grow->load->traffic, target, k, grow->flow[k]);
    /* farthest first: when a switch's turn comes, all that flows through it is known */
    for (uint32_t i = grow->order_count; i-- > 1;) {
        uint32_t at = grow->order[i], channel = net->first[at] + next[at];
        bool carries = false;
        for (uint32_t k = 0; k < classes; k++) {
            float flow = grow->flow[k][at];
            if (flow == 0)
                continue;
            grow->load->channel[k][channel] += flow;
            grow->flow[k][net->head[channel]] += flow;
            carries = true;
        }
        if (carries)
            price_update(grow->price, channel);
    }
    price_settle(grow->price);
}
