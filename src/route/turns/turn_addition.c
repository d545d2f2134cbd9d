/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See turn_addition.h.
 *
 * Turns that carry no traffic at all are not tried one by one. When all others are decided, the
 * order of channels that has grown meanwhile already answers for them: every turn that goes forward
 * in it may be allowed, all at once, and every other closes a loop. That is the result of some
 * order of trying equals, so it is the paper's method still, at no cost.
 *
 * The paper argues that a prohibited turn always leaves a way around. That holds only if a turn is
 * refused because of a loop in one direction. Where a turn and its reverse close a loop together
 * and neither does alone, refusing both can cut the network in two (two rings joined by one cable).
 * So the result is checked, and if a pair of switches has lost its way, the decision is made again
 * with all turns of a spanning tree allowed first: these close no loop, and connect everything.
 */
#include "route/turns/turn_addition.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "route/turns/algorithm.h"
#include "route/turns/order.h"
#include "route/turns/reach.h"
#include "route/turns/turn_list.h"

#include <stdlib.h>
#include <string.h>

#define LOCAL_WORK 500 /* steps of a search: a turn whose place is far away is not worth it */

/* Allows all turns between cables of a breadth-first tree from the switch with most turn traffic,
 * where the tree's turns cost the rest least. */
static int tree_allow(struct order *order, const struct demand *demand)
{
    const struct net *net = order->net;
    uint32_t root = 0, count = 1;
    double most = -1;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        double sum = 0;
        for (size_t i = demand->base[s]; i < demand->base[s + 1]; i++)
            sum += demand->turn[i];
        if (sum > most) {
            most = sum;
            root = s;
        }
    }
    struct arena memory = {0};
    uint32_t *queue = ARENA_TAKE(&memory, queue, net->switch_count);
    uint8_t *in_tree = ARENA_TAKE(&memory, in_tree, net->channel_count + 1);
    uint8_t *seen = ARENA_TAKE(&memory, seen, net->switch_count);
    bool enough = !memory.is_short;
    if (enough) {
        queue[0] = root;
        seen[root] = 1;
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t c = net->first[queue[i]]; c < net->first[queue[i] + 1]; c++) {
                if (seen[net->head[c]])
                    continue;
                seen[net->head[c]] = 1;
                in_tree[c] = in_tree[net->reverse[c]] = 1;
                queue[count++] = net->head[c];
            }
        }
        for (uint32_t in = 0; in < net->channel_count; in++) {
            uint32_t at = net->head[in];
            for (uint32_t out = net->first[at]; in_tree[in] && out < net->first[at + 1]; out++) {
                if (in_tree[out] && out != net->reverse[in] &&
                    !turns_allowed(order->turns, in, out))
                    order_turn_add(order, in, out);
            }
        }
    }
    arena_free(&memory);
    return enough ? 0 : error_fail(-ENOMEM, "no memory for a spanning tree");
}

/* Allows every turn that goes forward in the order. The mean of the order and its mirror image is
 * as good an order, and antisymmetric, so turns and their reverses agree. */
static int order_close(const struct order *order, struct turns *turns)
{
    const struct net *net = order->net;
    int64_t *rank = malloc((net->channel_count + 1) * sizeof(*rank));
    uint32_t *place = malloc((net->channel_count + 1) * sizeof(*place));
    int result = rank && place
                     ? 0
                     : error_fail(-ENOMEM, "no memory to rank %u channels", net->channel_count);
    if (result == 0) {
        order_places(order, place);
        for (uint32_t c = 0; c < net->channel_count; c++)
            rank[c] = (int64_t)place[c] - place[net->reverse[c]];
        result = turns_rank_by_key(rank, rank, net);
    }
    if (result == 0)
        turns_from_rank(turns, rank);
    free(rank);
    free(place);
    return result;
}

/* Allows turns that are in use. */
static int in_use_allow(struct order *order, const struct turns *in_use)
{
    const struct net *net = order->net;
    for (uint32_t out = 0; out < net->channel_count; out++) {
        uint32_t first = net->first[net->tail[out]];
        for (uint32_t w = 0; w < in_use->words; w++) {
            for (uint64_t bits = turns_row(in_use, out)[w]; bits; bits &= bits - 1) {
                uint32_t in = net->reverse[first + w * 64 + (uint32_t)__builtin_ctzll(bits)];
                if (!turns_allowed(order->turns, in, out) && !order_turn_add(order, in, out))
                    return error_fail(-ELOOP, "the turns in use close a loop at '%s'",
                                      net_name(net, net->tail[out]));
            }
        }
    }
    return 0;
}

/* What is allowed before the list is tried: nothing, a spanning tree, or what is in use. */
struct start {
    bool tree;      /* a spanning tree */
    bool tree_last; /* the same, but after the list, as far as it still fits */
    const struct turns *in_use;
};

static int decide(struct turns *turns, const struct demand *demand, const struct turn_list *list,
                  struct start start)
{
    bool any_first = start.tree || start.in_use;
    struct turns *accepted = NULL;
    struct order *order = NULL;
    int result = turns_create(&accepted, turns->net);
    if (result == 0)
        result = order_create(&order, accepted, demand->position);
    if (result == 0 && start.tree)
        result = tree_allow(order, demand);
    if (result == 0 && start.in_use)
        result = in_use_allow(order, start.in_use);
    for (size_t i = 0; result == 0 && i < list->count; i++) {
        struct turn_pair pair = turn_list_pair(list, i);
        if (!any_first || !turns_allowed(accepted, pair.in, pair.out))
            order_turn_add(order, pair.in, pair.out);
    }
    if (result == 0 && start.tree_last)
        result = tree_allow(order, demand);
    if (result == 0)
        result = order_close(order, turns);
    if (result == 0)
        log_debug("turn addition: %zu turns tried, %llu searches", list->count,
                  (unsigned long long)order->search_count);
    order_destroy(order);
    turns_destroy(accepted);
    return result;
}

/* A pair of switches between which no allowed turns lead. */
struct lost {
    bool any;
    uint32_t from, to;
};

/* Decides from one start after the other until everything is connected, which *reach then says. */
static int decide_connected(struct turns *turns, struct reach **reach, const struct demand *demand,
                            const struct start *starts, size_t start_count, struct lost *lost)
{
    struct turn_list list;
    int result = turn_list_create(&list, demand);
    if (result < 0)
        return result;
    lost->any = true;
    for (size_t i = 0; i < start_count && result == 0; i++) {
        result = decide(turns, demand, &list, starts[i]);
        if (result == 0)
            result = reach_create(reach, turns);
        lost->any = result == 0 && !reach_complete(*reach, &lost->from, &lost->to);
        if (!lost->any)
            break;
        log_debug("turn addition: '%s' has lost its way to '%s'", net_name(turns->net, lost->from),
                  net_name(turns->net, lost->to));
        reach_destroy(*reach);
        *reach = NULL;
    }
    turn_list_destroy(&list);
    return result;
}

int algorithm_turn_addition(struct turns *turns, struct reach **reach, const struct demand *demand,
                            const struct algorithm_options *options)
{
    static const struct start starts[] = {{.tree = false}, {.tree_last = true}, {.tree = true}};
    struct lost lost;
    int result = decide_connected(turns, reach, demand, starts, 3, &lost);
    if (result == 0 && lost.any)
        result = error_fail(
            -ENETUNREACH,
            "turn addition left '%s' without a way to '%s': please report this fabric",
            net_name(turns->net, lost.from), net_name(turns->net, lost.to));
    return result;
}

int turn_addition_beside(struct turns *turns, struct reach **reach, const struct demand *demand,
                         const struct turns *in_use)
{
    struct start starts[] = {{.in_use = in_use}, {.in_use = in_use, .tree_last = true}};
    struct lost lost;
    int result = decide_connected(turns, reach, demand, starts, 2, &lost);
    if (result == 0 && lost.any)
        result = error_fail(
            -ENETUNREACH,
            "beside the ways in use no way can lead from '%s' to '%s'; the table must "
            "be replaced in two stages",
            net_name(turns->net, lost.from), net_name(turns->net, lost.to));
    return result;
}

int turn_addition_local(struct turns *turns, const struct turns *in_use, const int64_t *rank,
                        const struct turn_pair *pairs, size_t pair_count)
{
    const struct net *net = turns->net;
    double *initial = malloc((net->channel_count + 1) * sizeof(*initial));
    struct turns *accepted = NULL;
    struct order *order = NULL;
    int result = initial ? turns_create(&accepted, net)
                         : error_fail(-ENOMEM, "no memory for the channels");
    for (uint32_t c = 0; result == 0 && c < net->channel_count; c++)
        initial[c] = (double)rank[c];
    if (result == 0)
        result = order_create(&order, accepted, initial);
    if (result == 0) {
        memcpy(accepted->rows, in_use->rows,
               (size_t)net->channel_count * accepted->words * sizeof(uint64_t));
        order->work_max = LOCAL_WORK;
        for (size_t i = 0; i < pair_count; i++) {
            if (!turns_allowed(accepted, pairs[i].in, pairs[i].out))
                order_turn_add(order, pairs[i].in, pairs[i].out);
        }
        log_debug("turn addition: %zu turns tried beside those in use, %llu searches", pair_count,
                  (unsigned long long)order->search_count);
        result = order_close(order, turns);
    }
    order_destroy(order);
    turns_destroy(accepted);
    free(initial);
    return result;
}
