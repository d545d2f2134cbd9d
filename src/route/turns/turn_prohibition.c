/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turn-Prohibition: the switch whose turns carry the least traffic is chosen, all turns through it
 * are prohibited, it is taken away with its cables, and so on. Only turns between cables that are
 * still there count and are prohibited, and only if what is left still connects their far ends:
 * where the switch holds two parts together, turns from one part to the other can close no loop,
 * and are the only way across.
 */
#include "base/arena.h"
#include "route/turns/algorithm.h"

#include "base/error.h"

#include <math.h>

struct prohibition {
    struct arena memory; /* of the arrays */
    const struct net *net;
    const struct demand *demand;
    struct turns *turns;
    uint8_t *gone;
    const struct demand *inside; /* of traffic inside groups only */
    double *sum;                 /* traffic of the turns that would be prohibited */
    double *inside_sum;          /* the part of it inside groups */
    uint32_t *part; /* which part of the rest a switch is in, for the removal at hand */
    uint32_t *queue;
    uint32_t part_count; /* numbers given so far, over all removals */
};

static bool prohibition_allocate(struct prohibition *work)
{
    uint32_t count = work->net->switch_count;
    ARENA_TAKE(&work->memory, work->gone, count);
    ARENA_TAKE(&work->memory, work->sum, count);
    ARENA_TAKE(&work->memory, work->inside_sum, count);
    ARENA_TAKE(&work->memory, work->part, count);
    ARENA_TAKE(&work->memory, work->queue, count);
    return !work->memory.is_short;
}

static void sum_fill(struct prohibition *work, uint32_t at)
{
    const struct net *net = work->net;
    uint32_t first = net->first[at], degree = net_degree(net, at);
    double sum = 0, inside = 0;
    for (uint32_t i = 0; i < degree; i++) {
        for (uint32_t j = 0; j < i && !work->gone[net->head[first + i]]; j++) {
            if (work->gone[net->head[first + j]])
                continue;
            sum += demand_pair(work->demand, at, i, j);
            inside += demand_pair(work->inside, at, i, j);
        }
    }
    work->sum[at] = sum;
    work->inside_sum[at] = inside;
}

/* Neighbours of a switch that are left and not yet in a part numbered above `numbers`. */
static uint32_t unmarked_count(const struct prohibition *work, uint32_t at, uint32_t numbers)
{
    const struct net *net = work->net;
    uint32_t count = 0;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++)
        count += !work->gone[net->head[c]] && work->part[net->head[c]] <= numbers;
    return count;
}

/* Numbers the part that `from` is in; stops early once all neighbours of `at` are found. */
static void part_mark(struct prohibition *work, uint32_t at, uint32_t from, uint32_t numbers)
{
    const struct net *net = work->net;
    uint32_t count = 1, number = ++work->part_count, left = unmarked_count(work, at, numbers);
    work->queue[0] = from;
    work->part[from] = number;
    for (uint32_t i = 0; i < count && left > 0; i++) {
        for (uint32_t c = net->first[work->queue[i]]; c < net->first[work->queue[i] + 1]; c++) {
            uint32_t to = net->head[c];
            if (work->gone[to] || work->part[to] > numbers)
                continue;
            work->part[to] = number;
            work->queue[count++] = to;
        }
        if (i % 64 == 0)
            left = unmarked_count(work, at, numbers);
    }
}

/* Decides the turns of a switch that goes: those to neighbours that went before are allowed. */
static void switch_decide(struct prohibition *work, uint32_t at)
{
    const struct net *net = work->net;
    uint32_t numbers = work->part_count;
    work->gone[at] = 1;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
        if (!work->gone[net->head[c]] && work->part[net->head[c]] <= numbers)
            part_mark(work, at, net->head[c], numbers);
        work->turns->width[c] = work->gone[net->head[c]] ? 2 : -1;
    }
    for (uint32_t i = net->first[at]; i < net->first[at + 1]; i++) {
        for (uint32_t j = i + 1; j < net->first[at + 1]; j++) {
            uint32_t a = net->head[i], b = net->head[j];
            if (work->gone[a] || work->gone[b] || work->part[a] != work->part[b])
                turns_allow(work->turns, net->reverse[i], j);
        }
    }
}

/* Sums that differ in their last bits only are equal. */
static int sum_compare(double a, double b)
{
    double slack = 1e-9 * fabs(b);
    return a < b - slack ? -1 : a > b + slack;
}

/* The paper wants the balance inside groups first, and only then between them; so does the choice.
 * Among equals the lowest number goes. */
static bool is_less(const struct prohibition *work, uint32_t a, uint32_t b)
{
    int inside = sum_compare(work->inside_sum[a], work->inside_sum[b]);
    return inside < 0 || (inside == 0 && sum_compare(work->sum[a], work->sum[b]) < 0);
}

static uint32_t next_find(const struct prohibition *work)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t s = 0; s < work->net->switch_count; s++) {
        if (work->gone[s])
            continue;
        if (best == UINT32_MAX || is_less(work, s, best))
            best = s;
    }
    return best;
}

int algorithm_turn_prohibition(struct turns *turns, struct reach **reach,
                               const struct demand *demand, const struct algorithm_options *options)
{
    const struct net *net = turns->net;
    struct prohibition work = {.net = net, .demand = demand, .turns = turns};
    struct demand *inside = NULL;
    struct traffic inside_traffic = *demand->traffic;
    inside_traffic.between_weight = 0;
    work.inside = demand;
    if (inside_traffic.class_count > 1) {
        int result = demand_create(&inside, &inside_traffic);
        if (result < 0)
            return result;
        work.inside = inside;
    }
    if (!prohibition_allocate(&work)) {
        demand_destroy(inside);
        arena_free(&work.memory);
        return error_fail(-ENOMEM, "no memory for %u switches", net->switch_count);
    }
    for (uint32_t s = 0; s < net->switch_count; s++)
        sum_fill(&work, s);
    for (uint32_t left = net->switch_count; left > 0; left--) {
        uint32_t at = next_find(&work);
        switch_decide(&work, at);
        for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
            if (!work.gone[net->head[c]])
                sum_fill(&work, net->head[c]);
        }
    }
    demand_destroy(inside);
    arena_free(&work.memory);
    return reach_create(reach, turns);
}
