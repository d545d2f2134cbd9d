/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See order.h.
 *
 * Searches mark slots in a bit row for each switch. At a switch where most turns are allowed a
 * second arrival then finds nearly all slots marked and costs a few word operations, not a walk
 * over all its turns; without this the dense upper levels of a fat tree take most of the time.
 */
#include "route/turns/order.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_GAP (1ull << 36) /* between neighbours when the list is labelled anew */

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

struct labelled {
    uint64_t label;
    uint32_t channel;
};

static int labelled_compare(const void *a, const void *b)
{
    uint64_t x = ((const struct labelled *)a)->label, y = ((const struct labelled *)b)->label;
    return x < y ? -1 : x > y;
}

static void link_after(struct order *order, uint32_t channel, uint32_t left)
{
    uint32_t right = order->after[left];
    order->after[left] = order->before[right] = channel;
    order->before[channel] = left;
    order->after[channel] = right;
}

static void unlink_one(struct order *order, uint32_t channel)
{
    order->after[order->before[channel]] = order->after[channel];
    order->before[order->after[channel]] = order->before[channel];
}

static void labels_renew(struct order *order)
{
    uint32_t end = order->net->channel_count;
    uint64_t label = 0;
    for (uint32_t c = order->after[end]; c != end; c = order->after[c])
        order->label[c] = label += LABEL_GAP;
}

static bool list_fill(struct order *order, const double *initial)
{
    uint32_t count = order->net->channel_count;
    struct standing *standings = malloc((count + 1) * sizeof(*standings));
    if (!standings)
        return false;
    for (uint32_t c = 0; c < count; c++)
        standings[c] = (struct standing){.where = initial[c], .channel = c};
    qsort(standings, count, sizeof(*standings), standing_compare);
    order->after[count] = order->before[count] = count;
    for (uint32_t i = 0; i < count; i++)
        link_after(order, standings[i].channel, order->before[count]);
    labels_renew(order);
    free(standings);
    return true;
}

static void side_allocate(struct order_side *side, struct arena *memory, const struct turns *turns)
{
    const struct net *net = turns->net;
    ARENA_TAKE(memory, side->seen, (size_t)net->switch_count * turns->words);
    ARENA_TAKE(memory, side->touched, net->switch_count);
    ARENA_TAKE(memory, side->found, net->channel_count + 1);
    ARENA_TAKE(memory, side->mark, net->channel_count + 1);
}

int order_create(struct order **out, struct turns *turns, const double *initial)
{
    const struct net *net = turns->net;
    size_t channels = net->channel_count + 1;
    struct order *order = arena_owner(sizeof(*order));
    if (order) {
        order->net = net;
        order->turns = turns;
        ARENA_TAKE(&order->memory, order->label, channels);
        ARENA_TAKE(&order->memory, order->after, channels);
        ARENA_TAKE(&order->memory, order->before, channels);
        ARENA_TAKE(&order->memory, order->sorting, channels);
        side_allocate(&order->ahead, &order->memory, turns);
        side_allocate(&order->behind, &order->memory, turns);
    }
    if (!order || order->memory.is_short || !list_fill(order, initial)) {
        order_destroy(order);
        return error_fail(-ENOMEM, "no memory for an order of %u channels", net->channel_count);
    }
    *out = order;
    return 0;
}

void order_destroy(struct order *order)
{
    arena_owner_free(order);
}

static void seen_clear(struct order_side *side, uint32_t words)
{
    for (uint32_t i = 0; i < side->touched_count; i++)
        memset(side->seen + (size_t)side->touched[i] * words, 0, words * sizeof(uint64_t));
    side->touched_count = 0;
}

/* Slots of a row that this search has not met at that switch; marks them. Returns false if none. */
static bool seen_take(struct order_side *side, uint32_t at, const uint64_t *row, uint32_t words,
                      uint64_t *fresh)
{
    uint64_t *seen = side->seen + (size_t)at * words;
    uint64_t any = 0, before = 0;
    for (uint32_t w = 0; w < words; w++) {
        before |= seen[w];
        fresh[w] = row[w] & ~seen[w];
        any |= fresh[w];
        seen[w] |= fresh[w];
    }
    side->work++;
    if (any && !before)
        side->touched[side->touched_count++] = at;
    return any != 0;
}

static void side_start(const struct order *order, struct order_side *side, uint32_t channel)
{
    side->mark[channel] = (uint32_t)order->search_count;
    side->found[0] = channel;
    side->found_count = 1;
    side->done = 0;
    side->work = 0;
}

/* Notes a channel that a search has come to. Returns true if the other search was there. */
static bool side_meet(const struct order *order, struct order_side *side,
                      const struct order_side *other, uint32_t channel)
{
    side->work++;
    if (other->mark[channel] == (uint32_t)order->search_count)
        return true;
    side->mark[channel] = (uint32_t)order->search_count;
    side->found[side->found_count++] = channel;
    return false;
}

/* One channel further ahead, not beyond `limit`. Returns true if the searches have met. */
static bool step_ahead(struct order *order, uint64_t limit)
{
    const struct net *net = order->net;
    uint64_t fresh[4];
    uint32_t channel = order->ahead.found[order->ahead.done++], words = order->turns->words;
    uint32_t at = net->head[channel], first = net->first[at];
    const uint64_t *row = turns_row(order->turns, net->reverse[channel]);
    if (!seen_take(&order->ahead, at, row, words, fresh))
        return false;
    for (uint32_t w = 0; w < words; w++) {
        for (uint64_t bits = fresh[w]; bits; bits &= bits - 1) {
            uint32_t next = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (order->label[next] <= limit &&
                side_meet(order, &order->ahead, &order->behind, next))
                return true;
        }
    }
    return false;
}

/* The same backwards. */
static bool step_behind(struct order *order, uint64_t limit)
{
    const struct net *net = order->net;
    uint64_t fresh[4];
    uint32_t channel = order->behind.found[order->behind.done++], words = order->turns->words;
    uint32_t at = net->tail[channel], first = net->first[at];
    if (!seen_take(&order->behind, at, turns_row(order->turns, channel), words, fresh))
        return false;
    for (uint32_t w = 0; w < words; w++) {
        for (uint64_t bits = fresh[w]; bits; bits &= bits - 1) {
            uint32_t previous = net->reverse[first + w * 64 + (uint32_t)__builtin_ctzll(bits)];
            if (order->label[previous] >= limit &&
                side_meet(order, &order->behind, &order->ahead, previous))
                return true;
        }
    }
    return false;
}

/* Sorts channels by their place. */
static void by_label_sort(const struct order *order, uint32_t *channels, uint32_t count)
{
    struct labelled *items = order->sorting;
    for (uint32_t i = 0; i < count; i++)
        items[i] = (struct labelled){order->label[channels[i]], channels[i]};
    qsort(items, count, sizeof(*items), labelled_compare);
    for (uint32_t i = 0; i < count; i++)
        channels[i] = items[i].channel;
}

/* Moves what a search has found to behind `left`, in the order in which it stood. */
static void found_move(struct order *order, struct order_side *side, uint32_t left)
{
    uint32_t count = side->found_count, end = order->net->channel_count;
    by_label_sort(order, side->found, count);
    if (order->label[order->before[end]] > UINT64_MAX / 2)
        labels_renew(order); /* the list has grown at its end again and again */
    for (uint32_t i = 0; i < count; i++)
        unlink_one(order, side->found[i]);
    uint32_t right = order->after[left];
    uint64_t low = left == end ? 0 : order->label[left];
    uint64_t high = right == end ? low + (count + 1) * LABEL_GAP : order->label[right];
    uint64_t gap = (high - low) / (count + 1);
    for (uint32_t i = 0; i < count; i++) {
        link_after(order, side->found[i], left);
        left = side->found[i];
        order->label[left] = low += gap;
    }
    if (gap == 0)
        labels_renew(order);
}

/* Puts `in` before `out` in the order. Returns false if a path leads from `out` to `in`. */
static bool edge_fit(struct order *order, uint32_t in, uint32_t out)
{
    struct order_side *ahead = &order->ahead, *behind = &order->behind;
    uint64_t from = order->label[out], to = order->label[in];
    if (to < from)
        return true;
    bool met = false;
    order->search_count++;
    side_start(order, ahead, out);
    side_start(order, behind, in);
    while (!met && ahead->done < ahead->found_count && behind->done < behind->found_count) {
        met = ahead->work <= behind->work ? step_ahead(order, to) : step_behind(order, from);
        met = met || (order->work_max && ahead->work + behind->work > order->work_max);
    }
    seen_clear(ahead, order->turns->words);
    seen_clear(behind, order->turns->words);
    if (met)
        return false;
    if (ahead->done == ahead->found_count)
        found_move(order, ahead, in);
    else
        found_move(order, behind, order->before[out]);
    return true;
}

bool order_turn_add(struct order *order, uint32_t in, uint32_t out)
{
    const struct net *net = order->net;
    uint32_t back_in = net->reverse[out], back_out = net->reverse[in];
    if (order->label[in] < order->label[out] && order->label[back_in] < order->label[back_out]) {
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

void order_places(const struct order *order, uint32_t *place)
{
    uint32_t end = order->net->channel_count, count = 0;
    for (uint32_t c = order->after[end]; c != end; c = order->after[c])
        place[c] = count++;
}
