/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of algorithms, and those that need no more than a line. See algorithm.h.
 */
#include "route/turns/algorithm.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

const struct algorithm algorithms[] = {
    {"turn-addition", "allow the busiest turns first, unless they close a loop", ALGORITHM_ONE_LANE,
     true, algorithm_turn_addition},
    {"up-down", "away from a root never back towards it (Up*/Down*), best root or --roots",
     ALGORITHM_ONE_LANE, true, algorithm_up_down},
    {"turn-prohibition", "prohibit all turns of the least busy switch, take it away, repeat (TP)",
     ALGORITHM_ONE_LANE, true, algorithm_turn_prohibition},
    {"fat-tree", "up then down by distance from the hosts; plain fat trees only",
     ALGORITHM_ONE_LANE, true, algorithm_fat_tree},
    {"shortest", "shortest paths, may deadlock: for comparison only", ALGORITHM_ONE_LANE, false,
     algorithm_all_turns},
    {"buffer-pool", "shortest paths, one virtual channel for each hop (structured buffer pool)",
     ALGORITHM_LANE_PER_HOP, false, algorithm_all_turns},
    {"reduced-channels", "the same, but no new channel at switches with one or two cables",
     ALGORITHM_LANE_AT_BRANCHES, false, algorithm_all_turns},
    {NULL, NULL, ALGORITHM_ONE_LANE, false, NULL},
};

const struct algorithm *algorithm_find(const char *name)
{
    const char *names[16];
    size_t count = 0;
    for (const struct algorithm *at = algorithms; at->name; at++) {
        if (strcmp(at->name, name) == 0)
            return at;
        names[count++] = at->name;
    }
    const char *near = text_nearest(name, names, count);
    error_fail(-EINVAL, "no algorithm is called '%s'%s%s%s", name,
               near ? "; did you mean '" : "; `rhinet help route` lists them", near ? near : "",
               near ? "'?" : "");
    return NULL;
}

int algorithm_all_turns(struct turns *turns, struct reach **reach, const struct demand *demand,
                        const struct algorithm_options *options)
{
    turns_allow_all(turns);
    *reach = NULL; /* they have loops */
    return 0;
}

void algorithm_turns_by_height(struct turns *turns, const int64_t *height)
{
    const struct net *net = turns->net;
    for (uint32_t c = 0; c < net->channel_count; c++)
        turns->width[c] = height[net->head[c]] > height[net->tail[c]] ? -1 : 2;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        for (uint32_t i = net->first[s]; i < net->first[s + 1]; i++) {
            for (uint32_t j = i + 1; j < net->first[s + 1]; j++) {
                if (turns->width[i] + turns->width[j] > 0)
                    turns_allow(turns, net->reverse[i], j);
            }
        }
    }
}
