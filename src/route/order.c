/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See order.h.
 *
 * Searches mark out-slots in a bit row for each switch. At a switch where most turns are allowed a
 * second arrival then finds nearly all slots marked and costs a few word operations, not a walk
 * over all its turns; without this the dense upper levels of a fat tree take most of the time.
 */
#include "route/order.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

struct standing {
    double where;
    uint32_t channel;
};

static int standing_compare(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    if (x->where != y->where)
        return x->where < y->where ? -1 : 1;
    return x->channel < y->channel ? -1 : x->channel > y->channel;
}

static bool places_fill(struct order *order, const double *initial)
{
    uint32_t count = order->net->channel_count;
    struct standing *standings = malloc((count + 1) * sizeof(*standings));
    if (!standings)
        return false;
    for (uint32_t c = 0; c < count; c++)
        standings[c] = (struct standing){.where = initial[c], .channel = c};
    qsort(standings, count, sizeof(*standings), standing_compare);
    for (uint32_t i = 0; i < count; i++)
        order->place[standings[i].channel] = i;
    free(standings);
    return true;
}

int order_create(struct order **out, struct turns *turns, const double *initial)
{
    const struct net *net = turns->net;
    size_t channels = net->channel_count + 1;
    struct order *order = calloc(1, sizeof(*order));
    if (!order)
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for an order of channels");
    order->net = net;
    order->turns = turns;
    order->place = malloc(channels * sizeof(uint32_t));
    order->seen = calloc((size_t)net->switch_count * turns->words, sizeof(uint64_t));
    order->touched = malloc(net->switch_count * sizeof(uint32_t));
    order->ahead = malloc(channels * sizeof(uint32_t));
    order->behind = malloc(channels * sizeof(uint32_t));
    order->places = malloc(channels * sizeof(uint32_t));
    order->standing = malloc(channels * sizeof(uint32_t));
    if (!order->place || !order->seen || !order->touched || !order->ahead || !order->behind ||
        !order->places || !order->standing || !places_fill(order, initial)) {
        order_destroy(order);
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for an order of %u channels",
                         net->channel_count);
    }
    *out = order;
    return 0;
}

void order_destroy(struct order *order)
{
    if (!order)
        return;
    free(order->place);
    free(order->seen);
    free(order->touched);
    free(order->ahead);
    free(order->behind);
    free(order->places);
    free(order->standing);
    free(order);
}

static void seen_clear(struct order *order)
{
    uint32_t words = order->turns->words;
    for (uint32_t i = 0; i < order->touched_count; i++)
        memset(order->seen + (size_t)order->touched[i] * words, 0, words * sizeof(uint64_t));
    order->touched_count = 0;
}

/* Slots of a row that this search has not met at that switch; marks them. Returns false if none. */
static bool seen_take(struct order *order, uint32_t at, const uint64_t *row, uint64_t *fresh)
{
    uint32_t words = order->turns->words;
    uint64_t *seen = order->seen + (size_t)at * words;
    uint64_t any = 0, before = 0;
    for (uint32_t w = 0; w < words; w++) {
        before |= seen[w];
        fresh[w] = row[w] & ~seen[w];
        any |= fresh[w];
        seen[w] |= fresh[w];
    }
    if (any && !before)
        order->touched[order->touched_count++] = at;
    return any != 0;
}

/* Channels that `from` leads to, up to the place of `to`. Returns their number, or -1 if `to` is
 * among them. */
static int64_t search_ahead(struct order *order, uint32_t from, uint32_t to)
{
    const struct net *net = order->net;
    uint64_t fresh[4];
    uint32_t limit = order->place[to], count = 1;
    order->ahead[0] = from;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t channel = order->ahead[i];
        uint32_t at = net->head[channel], first = net->first[at];
        const uint64_t *row = turns_row(order->turns, net->reverse[channel]);
        if (!seen_take(order, at, row, fresh))
            continue;
        for (uint32_t w = 0; w < order->turns->words; w++) {
            for (uint64_t bits = fresh[w]; bits; bits &= bits - 1) {
                uint32_t next = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
                if (next == to)
                    return -1;
                if (order->place[next] < limit)
                    order->ahead[count++] = next;
            }
        }
    }
    return count;
}

/* Channels that lead to `to`, down to the place of `from`. There is no loop, that is known. */
static uint32_t search_behind(struct order *order, uint32_t to, uint32_t from)
{
    const struct net *net = order->net;
    uint64_t fresh[4];
    uint32_t limit = order->place[from], count = 1;
    order->behind[0] = to;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t channel = order->behind[i];
        uint32_t at = net->tail[channel], first = net->first[at];
        if (!seen_take(order, at, turns_row(order->turns, channel), fresh))
            continue;
        for (uint32_t w = 0; w < order->turns->words; w++) {
            for (uint64_t bits = fresh[w]; bits; bits &= bits - 1) {
                uint32_t previous = net->reverse[first + w * 64 + (uint32_t)__builtin_ctzll(bits)];
                if (order->place[previous] > limit)
                    order->behind[count++] = previous;
            }
        }
    }
    return count;
}

static int number_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts channels by place: replaces them by their places, and remembers who stood there. */
static void by_place_sort(const struct order *order, uint32_t *channels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        order->standing[order->place[channels[i]]] = channels[i];
        channels[i] = order->place[channels[i]];
    }
    qsort(channels, count, sizeof(*channels), number_compare);
    for (uint32_t i = 0; i < count; i++)
        channels[i] = order->standing[channels[i]];
}

/* Deals the places of both sets out again: first to those behind, then to those ahead. */
static void places_deal(struct order *order, uint32_t ahead_count, uint32_t behind_count)
{
    by_place_sort(order, order->ahead, ahead_count);
    by_place_sort(order, order->behind, behind_count);
    uint32_t count = 0, a = 0, b = 0;
    while (a < ahead_count || b < behind_count) {
        bool take_ahead = b == behind_count ||
                          (a < ahead_count &&
                           order->place[order->ahead[a]] < order->place[order->behind[b]]);
        order->places[count++] = order->place[take_ahead ? order->ahead[a++] : order->behind[b++]];
    }
    for (uint32_t i = 0; i < behind_count; i++)
        order->place[order->behind[i]] = order->places[i];
    for (uint32_t i = 0; i < ahead_count; i++)
        order->place[order->ahead[i]] = order->places[behind_count + i];
}

/* Puts `in` before `out` in the order. Returns false if a path leads from `out` to `in`. */
static bool edge_fit(struct order *order, uint32_t in, uint32_t out)
{
    if (order->place[in] < order->place[out])
        return true;
    order->search_count++;
    int64_t ahead_count = search_ahead(order, out, in);
    seen_clear(order);
    if (ahead_count < 0)
        return false;
    uint32_t behind_count = search_behind(order, in, out);
    seen_clear(order);
    places_deal(order, (uint32_t)ahead_count, behind_count);
    return true;
}

bool order_turn_add(struct order *order, uint32_t in, uint32_t out)
{
    const struct net *net = order->net;
    uint32_t back_in = net->reverse[out], back_out = net->reverse[in];
    if (order->place[in] < order->place[out] && order->place[back_in] < order->place[back_out]) {
        turns_allow(order->turns, in, out);
        return true;
    }
    if (!edge_fit(order, in, out))
        return false;
    /* with the first direction in place; the row of a turn serves both */
    turns_allow(order->turns, in, out);
    if (edge_fit(order, back_in, back_out))
        return true;
    turns_prohibit(order->turns, in, out);
    return false;
}
