/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Up-down routing: switches are ranked by their distance from a root, equals by their number; a
 * packet that has gone down never goes up again. Without given roots every switch is tried, as in
 * the paper, and the one wins whose prohibited turns would carry the least traffic. The fat-tree
 * algorithm is the same rule with another ranking: distance from the hosts.
 */
#include "base/arena.h"
#include "route/turns/algorithm.h"

#include "base/error.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

struct levels {
    struct arena memory; /* of the arrays */
    uint32_t *level, *queue;
};

static bool levels_allocate(struct levels *levels, const struct net *net)
{
    ARENA_TAKE(&levels->memory, levels->level, net->switch_count);
    ARENA_TAKE(&levels->memory, levels->queue, net->switch_count);
    return !levels->memory.is_short;
}

static bool is_up(const struct net *net, const struct levels *levels, uint32_t channel)
{
    uint32_t from = net->tail[channel], to = net->head[channel];
    if (levels->level[from] != levels->level[to])
        return levels->level[to] < levels->level[from];
    return to < from;
}

/* Traffic of the turns that would be prohibited: those between two cables that both lead up. */
static double prohibited_sum(const struct demand *demand, const struct levels *levels)
{
    const struct net *net = demand->net;
    double sum = 0;
    uint32_t ups[FABRIC_PORTS_MAX];
    for (uint32_t s = 0; s < net->switch_count; s++) {
        uint32_t count = 0;
        for (uint32_t c = net->first[s]; c < net->first[s + 1]; c++) {
            if (is_up(net, levels, c))
                ups[count++] = c - net->first[s];
        }
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t j = 0; j < i; j++)
                sum += demand_pair(demand, s, ups[i], ups[j]);
        }
    }
    return sum;
}

struct root_search {
    const struct demand *demand;
    double *sum;
    _Atomic bool failed;
};

#define ROOTS_PER_PART 16

static void roots_try(void *context, uint32_t part)
{
    struct root_search *search = context;
    const struct net *net = search->demand->net;
    struct levels levels = {0};
    bool enough = levels_allocate(&levels, net);
    for (uint32_t i = 0; enough && i < ROOTS_PER_PART; i++) {
        uint32_t root = part * ROOTS_PER_PART + i;
        if (root >= net->switch_count)
            break;
        levels.queue[0] = root;
        net_levels(net, levels.level, levels.queue, 1);
        search->sum[root] = prohibited_sum(search->demand, &levels);
    }
    if (!enough)
        search->failed = true;
    arena_free(&levels.memory);
}

static int best_root_find(const struct demand *demand, uint32_t *root)
{
    uint32_t count = demand->net->switch_count;
    struct root_search search = {.demand = demand, .sum = malloc(count * sizeof(double))};
    if (search.sum)
        parallel_run((count + ROOTS_PER_PART - 1) / ROOTS_PER_PART, roots_try, &search);
    if (!search.sum || search.failed) {
        free(search.sum);
        return error_fail(-ENOMEM, "no memory to try %u roots", count);
    }
    *root = 0;
    for (uint32_t s = 1; s < count; s++) {
        /* much less, not by rounding: otherwise the lowest number wins */
        if (search.sum[s] < search.sum[*root] * (1 - 1e-9))
            *root = s;
    }
    free(search.sum);
    return 0;
}

static int turns_by_levels(struct turns *turns, const struct levels *levels, int64_t sign)
{
    const struct net *net = turns->net;
    int64_t *height = malloc(net->switch_count * sizeof(*height));
    if (!height)
        return error_fail(-ENOMEM, "no memory for %u heights", net->switch_count);
    for (uint32_t s = 0; s < net->switch_count; s++)
        height[s] = sign * ((int64_t)levels->level[s] * (net->switch_count + 1ll)) - s;
    algorithm_turns_by_height(turns, height);
    free(height);
    return 0;
}

/* Puts the roots into the queue, each once: a user may name one twice, and there is room for each
 * switch once. Returns how many. */
static uint32_t roots_list(const struct levels *levels, const struct net *net,
                           const struct algorithm_options *options)
{
    uint32_t count = 0;
    memset(levels->level, 0xff, net->switch_count * sizeof(*levels->level));
    for (uint32_t i = 0; i < options->root_count; i++) {
        if (levels->level[options->roots[i]] == 0)
            continue;
        levels->level[options->roots[i]] = 0;
        levels->queue[count++] = options->roots[i];
    }
    return count;
}

int algorithm_up_down(struct turns *turns, struct reach **reach, const struct demand *demand,
                      const struct algorithm_options *options)
{
    const struct net *net = turns->net;
    struct levels levels = {0};
    bool given = options && options->root_count > 0;
    uint32_t best = 0;
    int result = 0;
    if (!levels_allocate(&levels, net))
        result = error_fail(-ENOMEM, "no memory for %u levels", net->switch_count);
    else if (!given)
        result = best_root_find(demand, &best);
    if (result == 0) {
        levels.queue[0] = best;
        uint32_t count = given ? roots_list(&levels, net, options) : 1;
        net_levels(net, levels.level, levels.queue, count);
        result = turns_by_levels(turns, &levels, -1);
    }
    if (result == 0)
        result = reach_create(reach, turns);
    arena_free(&levels.memory);
    return result;
}

int algorithm_fat_tree(struct turns *turns, struct reach **reach, const struct demand *demand,
                       const struct algorithm_options *options)
{
    const struct net *net = turns->net;
    struct levels levels = {0};
    uint32_t count = 0, from = 0, to = 0;
    int result = 0;
    if (!levels_allocate(&levels, net))
        result = error_fail(-ENOMEM, "no memory for %u levels", net->switch_count);
    for (uint32_t s = 0; result == 0 && s < net->switch_count; s++) {
        if (net_has_hosts(net, s))
            levels.queue[count++] = s;
    }
    if (result == 0) {
        net_levels(net, levels.level, levels.queue, count);
        result = turns_by_levels(turns, &levels, 1);
    }
    if (result == 0)
        result = reach_create(reach, turns);
    if (result == 0 && !reach_complete(*reach, &from, &to)) {
        reach_destroy(*reach);
        *reach = NULL;
        result = error_fail(
            -ENETUNREACH,
            "not a plain fat tree: no way up and then down leads from '%s' to '%s'; "
            "use turn-addition",
            net_name(net, from), net_name(net, to));
    }
    arena_free(&levels.memory);
    return result;
}
