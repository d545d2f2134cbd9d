/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ways.h.
 *
 * A breadth-first search from the root. A neighbour may join a switch if it may turn to one of that
 * switch's choices at least; whether that is the one the switch will take is seen later.
 */
#include "route/trees/ways.h"

#include "base/error.h"

#include <string.h>

int ways_create(struct ways **out, const struct turns *turns)
{
    const struct net *net = turns->net;
    struct ways *ways = arena_owner(sizeof(*ways));
    if (ways) {
        ways->turns = turns;
        ways->root = UINT32_MAX;
        ARENA_TAKE(&ways->memory, ways->order, net->switch_count);
        ARENA_TAKE(&ways->memory, ways->level, net->switch_count);
        ARENA_TAKE(&ways->memory, ways->choice, (size_t)net->switch_count * turns->words);
        ARENA_TAKE(&ways->memory, ways->depends, net->switch_count);
    }
    if (!ways || ways->memory.is_short) {
        ways_destroy(ways);
        return error_fail(-ENOMEM, "no memory for ways over %u switches", net->switch_count);
    }
    *out = ways;
    return 0;
}

void ways_destroy(struct ways *ways)
{
    arena_owner_free(ways);
}

/* How many of a switch's choices may follow somebody who comes in by a slot's cable. */
enum fit { FIT_NONE, FIT_SOME, FIT_ALL };

static enum fit choice_fit(const struct ways *ways, uint32_t at, uint32_t out)
{
    const uint64_t *choice = ways_choice(ways, at), *row = turns_row(ways->turns, out);
    uint64_t good = 0, bad = 0;
    if (at == ways->root)
        return FIT_ALL;
    for (uint32_t w = 0; w < ways->turns->words; w++) {
        good |= choice[w] & row[w];
        bad |= choice[w] & ~row[w];
    }
    return !good ? FIT_NONE : bad ? FIT_SOME : FIT_ALL;
}

/* Lets the neighbours of a switch join it. */
static void neighbours_join(struct ways *ways, uint32_t at)
{
    const struct net *net = ways->turns->net;
    uint32_t words = ways->turns->words, level = ways->level[at] + 1;
    for (uint32_t out = net->first[at]; out < net->first[at + 1]; out++) {
        uint32_t from = net->head[out];
        if (ways->level[from] < level)
            continue;
        enum fit fit = choice_fit(ways, at, out);
        if (fit == FIT_NONE)
            continue;
        uint64_t *choice = ways->choice + (size_t)from * words;
        if (ways->level[from] == UINT32_MAX) {
            ways->level[from] = level;
            ways->order[ways->order_count++] = from;
            ways->depends[from] = 0;
            memset(choice, 0, words * sizeof(*choice));
        }
        uint32_t slot = net->reverse[out] - net->first[from];
        choice[slot / 64] |= 1ull << (slot % 64);
        ways->depends[from] |= fit == FIT_SOME;
    }
}

void ways_find(struct ways *ways, uint32_t root)
{
    if (ways->root == root)
        return;
    ways->root = root;
    memset(ways->level, 0xff, ways->turns->net->switch_count * sizeof(*ways->level));
    ways->level[root] = 0;
    ways->order[0] = root;
    ways->order_count = 1;
    for (uint32_t i = 0; i < ways->order_count; i++)
        neighbours_join(ways, ways->order[i]);
}
