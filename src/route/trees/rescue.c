/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rescues switches that growth left without an output.
 *
 * From the straggler a search goes over channels, along allowed turns, towards the root. It ends
 * where it meets a switch whose output may follow. On the way, switches may have to change their
 * output; they change to a wider one only, so all that have joined them stay joined. First the
 * search leaves alone the switches that carry traffic to this target, then it may change these too.
 *
 * Why that always succeeds if the turns lead from the straggler to the root at all: take at every
 * switch the widest output from which the turns lead to the root. If any output with a way to the
 * root may follow the channel we came by, so may the widest; it is never the U-turn, else the
 * switch we came from would have had a wider way itself; and since the turns have no loop,
 * following these outputs ends, which it can only at the root. The search covers that way.
 */
#include "base/arena.h"
#include "route/trees/grow.h"

#include "base/error.h"

#include <string.h>

#define HINT_LENGTH 6

struct rescue {
    struct arena memory; /* of the arrays */
    uint32_t *queue;     /* channels found */
    uint32_t *before;    /* channel -> the one it was found from */
    uint32_t *mark;      /* channel -> number of the search that found it */
    uint32_t number;
    uint8_t *busy;  /* switch: carries traffic to the target at hand */
    uint32_t *hint; /* switch -> the way that rescued it last, HINT_LENGTH channels at most */
};

int rescue_create(struct rescue **out, const struct net *net)
{
    struct rescue *rescue = arena_owner(sizeof(*rescue));
    size_t channels = net->channel_count + 1u, hints = (size_t)net->switch_count * HINT_LENGTH;
    if (rescue) {
        ARENA_TAKE(&rescue->memory, rescue->queue, channels);
        ARENA_TAKE(&rescue->memory, rescue->before, channels);
        ARENA_TAKE(&rescue->memory, rescue->mark, channels);
        ARENA_TAKE(&rescue->memory, rescue->busy, net->switch_count);
        ARENA_TAKE(&rescue->memory, rescue->hint, hints);
    }
    if (!rescue || rescue->memory.is_short) {
        rescue_destroy(rescue);
        return error_fail(-ENOMEM, "no memory to search %u channels", net->channel_count);
    }
    memset(rescue->hint, 0xff, hints * sizeof(uint32_t));
    *out = rescue;
    return 0;
}

void rescue_destroy(struct rescue *rescue)
{
    arena_owner_free(rescue);
}

void rescue_busy_mark(struct grow *grow, const uint8_t *next)
{
    const struct net *net = grow->net;
    uint8_t *busy = grow->rescue->busy;
    memset(busy, 0, net->switch_count);
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (!net_has_hosts(net, s))
            continue;
        for (uint32_t at = s; !busy[at] && next[at] < LFT_HERE;) {
            busy[at] = 1;
            at = net->head[net->first[at] + next[at]];
        }
    }
}

/* May the switch at the end of `in` change to this output, or does it have it already? */
static bool output_possible(const struct grow *grow, uint32_t out, const uint8_t *next,
                            bool careful)
{
    const struct net *net = grow->net;
    uint32_t at = net->tail[out];
    if (next[at] == LFT_NONE || net->first[at] + next[at] == out)
        return true;
    if (careful && grow->rescue->busy[at])
        return false;
    return grow->turns->width[out] >= grow->turns->width[net->first[at] + next[at]];
}

struct hunt {
    uint32_t root, count;
    bool careful;
};

static void channel_found(struct grow *grow, struct hunt *hunt, uint32_t channel, uint32_t before)
{
    struct rescue *rescue = grow->rescue;
    if (rescue->mark[channel] == rescue->number)
        return;
    if (grow->reach && !reach_has(grow->reach, channel, hunt->root))
        return; /* leads away: spares the search a detour, no more */
    rescue->mark[channel] = rescue->number;
    rescue->before[channel] = before;
    rescue->queue[hunt->count++] = channel;
}

/* Does the way end well behind this channel? */
static bool is_home(const struct grow *grow, const struct hunt *hunt, uint32_t channel,
                    const uint8_t *next)
{
    const struct net *net = grow->net;
    uint32_t at = net->head[channel];
    return at == hunt->root ||
           (next[at] != LFT_NONE && turns_allowed(grow->turns, channel, net->first[at] + next[at]));
}

/* The last channel of a shortest way home, or UINT32_MAX. */
static uint32_t way_find(struct grow *grow, struct hunt *hunt, uint32_t from, const uint8_t *next)
{
    const struct net *net = grow->net;
    grow->rescue->number++;
    hunt->count = 0;
    for (uint32_t c = net->first[from]; c < net->first[from + 1]; c++)
        channel_found(grow, hunt, c, UINT32_MAX);
    for (uint32_t i = 0; i < hunt->count; i++) {
        uint32_t channel = grow->rescue->queue[i], first = net->first[net->head[channel]];
        if (is_home(grow, hunt, channel, next))
            return channel;
        const uint64_t *row = turns_row(grow->turns, net->reverse[channel]);
        for (uint32_t w = 0; w < grow->turns->words; w++) {
            for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
                uint32_t out = first + w * 64 + (uint32_t)__builtin_ctzll(bits);
                if (output_possible(grow, out, next, hunt->careful))
                    channel_found(grow, hunt, out, channel);
            }
        }
    }
    return UINT32_MAX;
}

static void way_take(struct grow *grow, uint32_t channel, uint8_t *next)
{
    const struct net *net = grow->net;
    for (; channel != UINT32_MAX; channel = grow->rescue->before[channel]) {
        uint32_t at = net->tail[channel];
        next[at] = (uint8_t)(channel - net->first[at]);
        grow->rescue_count++;
        if (grow->level[at] == UINT32_MAX) {
            grow->level[at] = net->switch_count;
            grow->order[grow->order_count++] = at;
        }
    }
}

/* What rescued a switch for one target mostly does for the next: spares the search. */
static uint32_t hint_try(struct grow *grow, const struct hunt *hunt, uint32_t from,
                         const uint8_t *next)
{
    const uint32_t *hint = grow->rescue->hint + (size_t)from * HINT_LENGTH;
    uint32_t before = UINT32_MAX;
    for (uint32_t i = 0; i < HINT_LENGTH && hint[i] != UINT32_MAX; i++) {
        if (i > 0 && !output_possible(grow, hint[i], next, true))
            return UINT32_MAX;
        grow->rescue->before[hint[i]] = before;
        before = hint[i];
    }
    return before != UINT32_MAX && is_home(grow, hunt, before, next) ? before : UINT32_MAX;
}

static void hint_keep(struct grow *grow, uint32_t from, uint32_t last)
{
    uint32_t *hint = grow->rescue->hint + (size_t)from * HINT_LENGTH, count = 0;
    for (uint32_t c = last; c != UINT32_MAX; c = grow->rescue->before[c])
        count++;
    memset(hint, 0xff, HINT_LENGTH * sizeof(*hint));
    for (uint32_t c = last; count <= HINT_LENGTH && count > 0; c = grow->rescue->before[c])
        hint[--count] = c;
}

bool grow_rescue(struct grow *grow, uint32_t target, uint32_t at, uint8_t *next, bool *bold)
{
    struct hunt hunt = {.root = grow->net->target_switch[target], .careful = true};
    uint32_t last = hint_try(grow, &hunt, at, next);
    if (last == UINT32_MAX)
        last = way_find(grow, &hunt, at, next);
    if (last == UINT32_MAX) {
        hunt.careful = false;
        *bold = true;
        last = way_find(grow, &hunt, at, next);
    }
    if (last == UINT32_MAX)
        return false;
    hint_keep(grow, at, last);
    way_take(grow, last, next);
    return true;
}
