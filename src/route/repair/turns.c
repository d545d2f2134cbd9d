/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the turns that may be used beside a table in use. See repair.h.
 *
 * Turn addition once more, with the turns that the table uses, and their reverses, allowed before
 * all others. A table that does not treat turns in pairs may have a loop with its reverses; then it
 * is refused, and must be replaced as a whole.
 */
#include "route/repair/repair.h"

#include "base/error.h"
#include "base/log.h"
#include "route/turns/turn_addition.h"

#include <stdlib.h>
#include <string.h>

#define WISHING_MAX 80   /* switches around the failure whose wishes are heard */
#define WISHES_MAX  1500 /* most wanted ones that are tried */

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
    if (wishing->number[at] == UINT32_MAX && wishing->count < WISHING_MAX)
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
static void targets_wish(struct wishing *wishing, const struct dead_list *dead)
{
    const struct net *net = wishing->lft->net;
    for (size_t i = 0; i < dead->count && dead->items[i].target < net->host_count; i++) {
        const uint8_t *next = lft_tree(wishing->lft, dead->items[i].target);
        uint32_t at = dead->items[i].at;
        switch_wish(wishing, at, next);
        for (uint32_t c = net->first[at]; c < net->first[at + 1]; c++) {
            uint32_t behind = net->head[c];
            if (next[behind] == net->reverse[c] - net->first[behind])
                switch_wish(wishing, behind, next);
        }
    }
}

/* Turns that would help around the failure, most wanted first. */
static int wishes_find(const struct lft *lft, const struct dead_list *dead,
                       struct turn_pair **pairs, size_t *count)
{
    const struct net *net = lft->net;
    struct wishing wishing = {.lft = lft, .width = net->degree_max};
    size_t most = WISHING_MAX * wishing.width * wishing.width;
    wishing.wishes = calloc(most, sizeof(*wishing.wishes));
    wishing.number = malloc(net->switch_count * sizeof(*wishing.number));
    *pairs = malloc(most * sizeof(**pairs));
    bool enough = wishing.wishes && wishing.number && *pairs;
    *count = 0;
    if (enough) {
        memset(wishing.number, 0xff, net->switch_count * sizeof(*wishing.number));
        targets_wish(&wishing, dead);
        qsort(wishing.wishes, wishing.count * wishing.width * wishing.width,
              sizeof(*wishing.wishes), more_first);
    }
    for (size_t i = 0; enough && i < most && wishing.wishes[i].count > 0; i++)
        (*pairs)[(*count)++] = wishing.wishes[i].pair;
    free(wishing.wishes);
    free(wishing.number);
    return enough ? 0 : error_fail(-ENOMEM, "no memory for turns to add");
}

/* Wishes that the turns do not grant already. */
static size_t wishes_open(const struct turns *turns, struct turn_pair *pairs, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (!turns_allowed(turns, pairs[i].in, pairs[i].out))
            pairs[left++] = pairs[i];
    }
    return left < WISHES_MAX ? left : WISHES_MAX;
}

/* If all turns in use follow the ranks: these turns, and what switches with dead entries would like
 * to have, as far as it fits. */
static int rank_try(struct repair_room *room, const struct lft *in_use, const struct memo *memo,
                    const struct dead_list *dead, bool *fits)
{
    struct turns *turns = room->turns;
    size_t words = (size_t)turns->net->channel_count * turns->words, count = 0;
    struct turn_pair *pairs = NULL;
    uint32_t from, to;
    turns_from_rank(turns, memo->rank);
    for (size_t i = 0; i < words; i++) {
        if (memo->used->rows[i] & ~turns->rows[i])
            return 0;
    }
    int result = wishes_find(in_use, dead, &pairs, &count);
    if (result == 0)
        count = wishes_open(turns, pairs, count);
    if (result == 0 && count > 0)
        result = turn_addition_local(turns, memo->used, memo->rank, pairs, count);
    free(pairs);
    if (result == 0)
        result = reach_create(&room->reach, turns);
    *fits = result == 0 && reach_complete(room->reach, &from, &to);
    if (!*fits) {
        reach_destroy(room->reach);
        room->reach = NULL;
    }
    return result;
}

/* Turn addition beside what is in use. */
static int addition_try(struct repair_room *room, const struct lft *in_use,
                        const struct traffic *traffic)
{
    struct demand *demand = NULL;
    struct turns *used = NULL;
    int result = turns_create(&used, in_use->net);
    if (result == 0)
        result = memo_turns_collect(used, in_use);
    if (result == 0)
        result = demand_create(&demand, traffic);
    if (result == 0)
        result = turn_addition_beside(room->turns, &room->reach, demand, used);
    demand_destroy(demand);
    turns_destroy(used);
    return result;
}

int repair_room_find(struct repair_room *room, const struct lft *in_use,
                     const struct traffic *traffic, const struct memo *memo,
                     const struct dead_list *dead)
{
    bool fits = false;
    *room = (struct repair_room){.turns = NULL};
    int result = turns_create(&room->turns, in_use->net);
    if (result == 0 && memo) {
        result = rank_try(room, in_use, memo, dead, &fits);
        log_debug("repair: the ranks %s", fits ? "still fit" : "do not fit any more");
    }
    if (result == 0 && !fits)
        result = addition_try(room, in_use, traffic);
    if (result < 0)
        repair_room_free(room);
    return result;
}

void repair_room_free(struct repair_room *room)
{
    reach_destroy(room->reach);
    turns_destroy(room->turns);
    *room = (struct repair_room){.turns = NULL};
}
