/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See grow.h.
 */
#include "route/grow.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int grow_create(struct grow **out, const struct turns *turns, const struct reach *reach,
                struct load *load)
{
    const struct net *net = turns->net;
    struct grow *grow = calloc(1, sizeof(*grow));
    bool enough = grow != NULL;
    if (grow) {
        grow->net = net;
        grow->turns = turns;
        grow->reach = reach;
        grow->load = load;
        grow->price_at = malloc(net->switch_count * sizeof(*grow->price_at));
        grow->cost = malloc(net->switch_count * sizeof(*grow->cost));
        grow->level = malloc(net->switch_count * sizeof(*grow->level));
        grow->order = malloc(net->switch_count * sizeof(*grow->order));
        grow->scratch = malloc(LFT_SCRATCH(net) * sizeof(*grow->scratch));
        grow->flow = malloc(net->switch_count * sizeof(*grow->flow));
        enough = grow->price_at && grow->cost && grow->level && grow->order && grow->scratch &&
                 grow->flow;
    }
    if (!enough || rescue_create(&grow->rescue, net) < 0 ||
        price_create(&grow->price, load, turns) < 0) {
        grow_destroy(grow);
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory to grow trees over %u switches",
                         net->switch_count);
    }
    *out = grow;
    return 0;
}

void grow_destroy(struct grow *grow)
{
    if (!grow)
        return;
    price_destroy(grow->price);
    free(grow->price_at);
    free(grow->cost);
    free(grow->level);
    free(grow->order);
    free(grow->scratch);
    free(grow->flow);
    rescue_destroy(grow->rescue);
    free(grow);
}

/* Offers the way over `at` to the neighbours that may turn to its output. */
static void offer(struct grow *grow, uint32_t at, const uint64_t *row, uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t first = net->first[at], level = grow->level[at] + 1;
    uint64_t cost = grow->cost[at];
    for (uint32_t w = 0; w < grow->turns->words; w++) {
        for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
            uint32_t out = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
            uint32_t from = net->head[out], channel = net->reverse[out];
            if (grow->level[from] < level)
                continue;
            uint64_t through = cost + grow->price_at[from][channel];
            if (grow->level[from] == UINT32_MAX) {
                grow->level[from] = level;
                grow->order[grow->order_count++] = from;
            } else if (grow->late || through >= grow->cost[from]) {
                continue;
            }
            grow->cost[from] = through;
            next[from] = (uint8_t)(channel - net->first[from]);
        }
    }
}

/* Every switch that has joined makes its offers in turn; the list grows meanwhile. */
void grow_spread(struct grow *grow, uint32_t from, uint32_t target, uint8_t *next)
{
    const struct net *net = grow->net;
    static const uint64_t all[4] = {~0ull, ~0ull, ~0ull, ~0ull};
    uint32_t root = net->target_switch[target];
    for (uint32_t i = from; i < grow->order_count; i++) {
        uint32_t at = grow->order[i];
        if (at == root) {
            uint64_t row[4] = {0};
            for (uint32_t left = net_degree(net, at), w = 0; left > 0; w++) {
                row[w] = left >= 64 ? all[w] : (1ull << left) - 1;
                left -= left >= 64 ? 64 : left;
            }
            offer(grow, at, row, next);
        } else {
            offer(grow, at, turns_row(grow->turns, net->first[at] + next[at]), next);
        }
    }
}

void grow_tree(struct grow *grow, uint32_t target, uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t root = net->target_switch[target];
    memset(next, LFT_NONE, net->switch_count);
    memset(grow->level, 0xff, net->switch_count * sizeof(*grow->level));
    for (uint32_t s = 0; s < net->switch_count; s++)
        grow->price_at[s] = grow->price->of[traffic_class(grow->load->traffic, s, target)];
    grow->late = false;
    grow->level[root] = 0;
    grow->cost[root] = 0;
    grow->order[0] = root;
    grow->order_count = 1;
    next[root] = LFT_HERE;
    grow_spread(grow, 0, target, next);
    if (grow->order_count < net->switch_count && grow_stragglers_join(grow, target, next))
        grow->order_count = lft_order_find(net, next, root, grow->order, grow->scratch);
}

void grow_tree_order(struct grow *grow, const struct lft *table, uint32_t target)
{
    grow->order_count = lft_order_find(grow->net, lft_tree(table, target),
                                       grow->net->target_switch[target], grow->order,
                                       grow->scratch);
}

void grow_tree_load(struct grow *grow, uint32_t target, const uint8_t *next, float sign)
{
    const struct net *net = grow->net;
    if (target >= net->host_count)
        return;
    struct load_tree tree = {.next = next,
                             .order = grow->order,
                             .order_count = grow->order_count,
                             .target = target,
                             .sign = sign};
    load_tree_add(grow->load, &tree, grow->flow);
    for (uint32_t i = 1; i < grow->order_count; i++)
        price_update(grow->price, net->first[grow->order[i]] + next[grow->order[i]]);
    price_settle(grow->price);
}
