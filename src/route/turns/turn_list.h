/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The turns that carry traffic, in the order in which turn addition tries them: busiest first;
 * equals one for each switch in rotation, and at each switch starting from a different far end.
 */
#pragma once

#include "route/turns/turn_addition.h"

struct turn_list {
    const struct net *net;
    struct turn_item *items;
    size_t count;
};

struct turn_item {
    uint64_t weight; /* larger first */
    uint32_t round;  /* among equals, smaller first */
    uint32_t at;     /* then by switch */
    uint8_t in_slot, out_slot;
};

int turn_list_create(struct turn_list *list, const struct demand *demand);
void turn_list_destroy(struct turn_list *list);

static inline struct turn_pair turn_list_pair(const struct turn_list *list, size_t index)
{
    const struct turn_item *item = &list->items[index];
    uint32_t first = list->net->first[item->at];
    return (struct turn_pair){.in = list->net->reverse[first + item->in_slot],
                              .out = first + item->out_slot};
}
