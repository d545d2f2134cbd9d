/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the turns that may be used beside a table in use. See repair.h.
 *
 * Turn addition once more, with the turns that the table uses, and their reverses, allowed before
 * all others. A table that does not treat turns in pairs may have a loop with its reverses; then it
 * is refused, and must be replaced as a whole.
 */
#include "route/repair.h"

#include "base/error.h"
#include "base/log.h"
#include "route/parallel.h"
#include "route/turn_addition.h"

#include <stdlib.h>
#include <string.h>

#define PARTS        4
#define WISHING_MOST 80 /* switches around the failure whose wishes are heard */

struct collect {
    const struct lft *lft;
    struct turns *parts[PARTS];
};

/* Notes the turns of a share of the targets. */
static void part_run(void *context, uint32_t part)
{
    struct collect *collect = context;
    const struct net *net = collect->lft->net;
    struct turns *turns = collect->parts[part];
    for (uint32_t t = part; t < net->target_count; t += PARTS) {
        const uint8_t *next = lft_tree(collect->lft, t);
        for (uint32_t s = 0; s < net->switch_count; s++) {
            if (next[s] >= LFT_HERE)
                continue;
            uint32_t in = net->first[s] + next[s], at = net->head[in];
            if (next[at] >= LFT_HERE)
                continue;
            uint32_t i = net->reverse[in] - net->first[at], j = next[at];
            if (i != j)
                turns_row(turns, net->first[at] + j)[i / 64] |= 1ull << (i % 64);
        }
    }
}

/* Adds up the parts and makes the matrix symmetric. */
static void parts_join(struct turns *turns, const struct collect *collect)
{
    const struct net *net = turns->net;
    size_t words = (size_t)net->channel_count * turns->words;
    for (uint32_t p = 0; p < PARTS; p++) {
        for (size_t i = 0; i < words; i++)
            turns->rows[i] |= collect->parts[p]->rows[i];
    }
    for (uint32_t out = 0; out < net->channel_count; out++) {
        uint32_t first = net->first[net->tail[out]];
        for (uint32_t w = 0; w < turns->words; w++) {
            for (uint64_t bits = turns_row(turns, out)[w]; bits; bits &= bits - 1) {
                uint32_t in_slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
                turns_allow(turns, net->reverse[first + in_slot], out);
            }
        }
    }
}

static int used_collect(struct turns *turns, const struct lft *lft)
{
    struct collect collect = {.lft = lft};
    int result = 0;
    for (uint32_t p = 0; p < PARTS && result == 0; p++)
        result = turns_create(&collect.parts[p], lft->net);
    if (result == 0) {
        parallel_run(PARTS, part_run, &collect);
        parts_join(turns, &collect);
    }
    for (uint32_t p = 0; p < PARTS; p++)
        turns_destroy(collect.parts[p]);
    return result;
}

struct wish {
    struct turn_pair pair;
    uint32_t count; /* ways that would be shortest with it */
};

static int more_first(const void *a, const void *b)
{
    const struct wish *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->pair.in != y->pair.in)
        return x->pair.in < y->pair.in ? -1 : 1;
    return x->pair.out < y->pair.out ? -1 : x->pair.out > y->pair.out;
}

struct wishing {
    const struct lft *lft;
    struct wish *wishes; /* a matrix of turns for each switch that wishes */
    uint32_t *number;    /* switch -> its matrix, UINT32_MAX: none */
    uint32_t count;      /* matrices */
    size_t width;
};

/* A switch has lost its way to a target: counts the turns by which it could follow a neighbour. */
static void switch_wish(struct wishing *wishing, uint32_t at, const uint8_t *next)
{
    const struct net *net = wishing->lft->net;
    if (wishing->number[at] == UINT32_MAX && wishing->count < WISHING_MOST)
        wishing->number[at] = wishing->count++;
    if (wishing->number[at] == UINT32_MAX)
        return;
    struct wish *row = wishing->wishes + wishing->number[at] * wishing->width * wishing->width;
    for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++, row += wishing->width) {
        uint32_t to = net->head[c], out = net->first[to] + next[to];
        if (next[to] >= LFT_HERE || out == net->reverse[c])
            continue;
        row[next[to]].pair = (struct turn_pair){.in = c, .out = out};
        row[next[to]].count++;
    }
}

/* The wishes of switches with dead entries, and of those just behind them. */
static void targets_wish(struct wishing *wishing)
{
    const struct net *net = wishing->lft->net;
    for (uint32_t t = 0; t < net->host_count; t++) {
        const uint8_t *next = lft_tree(wishing->lft, t), *at = next;
        const uint8_t *end = next + net->switch_count;
        while ((at = memchr(at, LFT_NONE, (size_t)(end - at))) != NULL) {
            uint32_t dead = (uint32_t)(at++ - next);
            switch_wish(wishing, dead, next);
            for (uint32_t c = net->first[dead]; c < net->first[dead + 1]; c++) {
                uint32_t behind = net->head[c];
                if (next[behind] == net->reverse[c] - net->first[behind])
                    switch_wish(wishing, behind, next);
            }
        }
    }
}

/* Turns that would help around the failure, most wanted first. */
static int wishes_find(const struct lft *lft, struct turn_pair **pairs, size_t *count)
{
    const struct net *net = lft->net;
    struct wishing wishing = {.lft = lft, .width = net->degree_max};
    size_t most = WISHING_MOST * wishing.width * wishing.width;
    wishing.wishes = calloc(most, sizeof(*wishing.wishes));
    wishing.number = malloc(net->switch_count * sizeof(*wishing.number));
    *pairs = malloc(most * sizeof(**pairs));
    bool enough = wishing.wishes && wishing.number && *pairs;
    *count = 0;
    if (enough) {
        memset(wishing.number, 0xff, net->switch_count * sizeof(*wishing.number));
        targets_wish(&wishing);
        qsort(wishing.wishes, wishing.count * wishing.width * wishing.width,
              sizeof(*wishing.wishes), more_first);
    }
    for (size_t i = 0; enough && i < most && wishing.wishes[i].count > 0; i++)
        (*pairs)[(*count)++] = wishing.wishes[i].pair;
    free(wishing.wishes);
    free(wishing.number);
    return enough ? 0 : error_set(-ENOMEM, ERROR_NO_RANK, "no memory for turns to add");
}

/* If all turns in use follow the ranks: these turns, and what switches with dead entries would like
 * to have, as far as it fits. Do they still lead from everywhere to everywhere? */
static int rank_try(struct turns *turns, const struct lft *in_use, const struct turns *used,
                    const int64_t *rank, bool *fits)
{
    const struct net *net = turns->net;
    size_t words = (size_t)net->channel_count * turns->words, count = 0;
    struct turn_pair *pairs = NULL;
    struct reach *reach = NULL;
    uint32_t from, to;
    turns_from_rank(turns, rank);
    for (size_t i = 0; i < words; i++) {
        if (used->rows[i] & ~turns->rows[i])
            return 0;
    }
    int result = wishes_find(in_use, &pairs, &count);
    if (result == 0 && count > 0)
        result = turn_addition_local(turns, used, rank, pairs, count);
    if (result == 0)
        result = reach_create(&reach, turns);
    if (result == 0)
        *fits = reach_complete(reach, &from, &to);
    reach_destroy(reach);
    free(pairs);
    return result;
}

/* Turn addition beside what is in use. */
static int addition_try(struct turns *turns, const struct turns *used,
                        const struct traffic *traffic)
{
    struct demand *demand = NULL;
    int result = demand_create(&demand, traffic);
    if (result == 0)
        result = turn_addition_beside(turns, demand, used);
    demand_destroy(demand);
    return result;
}

int repair_turns(struct turns **out, const struct lft *in_use, const struct traffic *traffic,
                 const int64_t *rank)
{
    struct turns *turns = NULL, *used = NULL;
    bool fits = false;
    int result = turns_create(&turns, in_use->net);
    if (result == 0)
        result = turns_create(&used, in_use->net);
    if (result == 0)
        result = used_collect(used, in_use);
    if (result == 0 && rank)
        result = rank_try(turns, in_use, used, rank, &fits);
    if (result == 0 && rank)
        log_debug("repair: the ranks %s", fits ? "still fit" : "do not fit any more");
    if (result == 0 && !fits)
        result = addition_try(turns, used, traffic);
    turns_destroy(used);
    if (result < 0) {
        turns_destroy(turns);
        return result;
    }
    *out = turns;
    return 0;
}
