/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See turn_list.h.
 *
 * Rotation: the equal turns of one switch whose far ends lie on the same levels (distance from the
 * nearest hosts) form a family. A family's members are taken one a round, starting at the port
 * number by which the upper far end knows this switch. Neighbouring switches thus start at
 * different far ends, and neither allowed nor prohibited turns pile up on one of them.
 */
#include "route/turns/turn_list.h"

#include "base/arena.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of one step count as equal: a step is half an octave. In a regular network turns are
 * exactly equal or far apart. Where a cable has failed they are nearly equal, and without rotation
 * the prohibited turns would bunch up around the failure. */
#define STEPS_AN_OCTAVE 2
#define STEPS_MAX       4096 /* of the heaviest */
#define ROUND_BITS      14
#define ROUND_MAX       ((1u << ROUND_BITS) - 1)
#define SWITCH_BITS     20

static uint64_t weight_steps(double part_of_heaviest)
{
    double steps = STEPS_MAX + STEPS_AN_OCTAVE * log2(part_of_heaviest);
    return steps > 0 ? (uint64_t)llround(steps) : 0;
}

/* All that decides the order in one number: heavier first, then the round, then the switch. */
static uint64_t item_key(const struct turn_item *item)
{
    uint64_t weight = STEPS_MAX - item->weight;
    uint64_t round = item->round < ROUND_MAX ? item->round : ROUND_MAX;
    return weight << (ROUND_BITS + SWITCH_BITS) | round << SWITCH_BITS | item->at;
}

struct keyed {
    uint64_t key;
    uint32_t index;
};

#define DIGIT_BITS 16
#define DIGITS     (1u << DIGIT_BITS)

/* Sorts by key, digit by digit; stable, so what is equal stays as it was listed. `start` has room
 * for where the keys of each digit begin: DIGITS + 1. */
static void keys_sort(struct keyed *keys, struct keyed *spare, size_t count, size_t *start)
{
    for (uint32_t shift = 0; shift < 64; shift += DIGIT_BITS) {
        memset(start, 0, (DIGITS + 1) * sizeof(*start));
        for (size_t i = 0; i < count; i++)
            start[(keys[i].key >> shift & (DIGITS - 1)) + 1]++;
        for (uint32_t d = 0; d < DIGITS; d++)
            start[d + 1] += start[d];
        for (size_t i = 0; i < count; i++)
            spare[start[keys[i].key >> shift & (DIGITS - 1)]++] = keys[i];
        struct keyed *swap = keys;
        keys = spare;
        spare = swap;
    }
}

/* Four digits: the result is back where it started. */
static bool items_sort(struct turn_list *list)
{
    struct arena memory = {0};
    struct keyed *keys = ARENA_TAKE(&memory, keys, list->count + 1);
    struct keyed *spare = ARENA_TAKE(&memory, spare, list->count + 1);
    struct turn_item *sorted = malloc((list->count + 1) * sizeof(*sorted));
    size_t *start = ARENA_TAKE(&memory, start, DIGITS + 1);
    bool enough = sorted && !memory.is_short;
    for (size_t i = 0; enough && i < list->count; i++)
        keys[i] = (struct keyed){.key = item_key(&list->items[i]), .index = (uint32_t)i};
    if (enough)
        keys_sort(keys, spare, list->count, start);
    for (size_t i = 0; enough && i < list->count; i++)
        sorted[i] = list->items[keys[i].index];
    arena_free(&memory);
    free(enough ? list->items : sorted);
    if (enough)
        list->items = sorted;
    return enough;
}

/* Distance of each switch from the nearest one with hosts. */
static void levels_find(const struct net *net, uint32_t *level, uint32_t *queue)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < net->switch_count; s++) {
        if (net_has_hosts(net, s))
            queue[count++] = s;
    }
    net_levels(net, level, queue, count);
}

struct family {
    uint64_t weight;
    uint32_t low, high; /* levels of the far ends */
    uint32_t size, offset;
};

static uint32_t family_find(struct family *families, uint32_t *count, struct family wanted)
{
    for (uint32_t i = *count; i-- > 0;) {
        const struct family *at = &families[i];
        if (at->weight == wanted.weight && at->low == wanted.low && at->high == wanted.high)
            return i;
    }
    families[*count] = wanted;
    return (*count)++;
}

/* Members were numbered 0, 1, … in their family: turns the numbers so that the family's start,
 * which differs from switch to switch, comes first. */
static void rounds_rotate(struct turn_item *items, size_t count, const uint32_t *family_of,
                          const struct family *families)
{
    for (size_t i = 0; i < count; i++) {
        const struct family *family = &families[family_of[i]];
        uint32_t start = family->offset % family->size;
        items[i].round = (items[i].round + family->size - start) % family->size;
    }
}

struct scratch {
    struct family *families;
    uint32_t *family_of;
    uint32_t *level, *queue;
    double heaviest;
};

/* Appends the turns of one switch that carry traffic. */
static size_t switch_append(const struct demand *demand, uint32_t at, struct turn_item *items,
                            const struct scratch *scratch)
{
    const struct net *net = demand->net;
    uint32_t first = net->first[at], degree = net_degree(net, at), family_count = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < degree; i++) {
        for (uint32_t j = i + 1; j < degree; j++) {
            double weight = demand_pair(demand, at, i, j);
            if (weight <= 0)
                continue;
            uint64_t steps = weight_steps(weight / scratch->heaviest);
            uint32_t level_i = scratch->level[net->head[first + i]];
            uint32_t level_j = scratch->level[net->head[first + j]];
            uint32_t upper = level_i > level_j ? i : j;
            struct family family = {.weight = steps,
                                    .low = level_i < level_j ? level_i : level_j,
                                    .high = level_i < level_j ? level_j : level_i,
                                    .offset = net_slot_in(net, first + upper)};
            uint32_t which = family_find(scratch->families, &family_count, family);
            scratch->family_of[count] = which;
            items[count++] = (struct turn_item){.weight = steps,
                                                .round = scratch->families[which].size++,
                                                .at = at,
                                                .in_slot = (uint8_t)i,
                                                .out_slot = (uint8_t)j};
        }
    }
    rounds_rotate(items, count, scratch->family_of, scratch->families);
    return count;
}

static double heaviest_find(const struct demand *demand)
{
    double most = 0;
    for (uint32_t s = 0; s < demand->net->switch_count; s++) {
        for (uint32_t i = 0; i < net_degree(demand->net, s); i++) {
            for (uint32_t j = 0; j < i; j++)
                most = fmax(most, demand_pair(demand, s, i, j));
        }
    }
    return most;
}

int turn_list_create(struct turn_list *list, const struct demand *demand)
{
    const struct net *net = demand->net;
    size_t most = demand->base[net->switch_count] / 2 + 1, per_switch = net->degree_max + 1u;
    struct arena memory = {0};
    struct scratch scratch = {.heaviest = heaviest_find(demand)};
    ARENA_TAKE(&memory, scratch.families, per_switch * per_switch);
    ARENA_TAKE(&memory, scratch.family_of, per_switch * per_switch);
    ARENA_TAKE(&memory, scratch.level, net->switch_count);
    ARENA_TAKE(&memory, scratch.queue, net->switch_count);
    *list = (struct turn_list){.net = net, .items = malloc(most * sizeof(struct turn_item))};
    bool enough = list->items && !memory.is_short;
    if (enough)
        levels_find(net, scratch.level, scratch.queue);
    for (uint32_t s = 0; enough && s < net->switch_count; s++)
        list->count += switch_append(demand, s, list->items + list->count, &scratch);
    arena_free(&memory);
    if (!enough || !items_sort(list)) {
        turn_list_destroy(list);
        return error_fail(-ENOMEM, "no memory to sort %zu turns", most);
    }
    return 0;
}

void turn_list_destroy(struct turn_list *list)
{
    free(list->items);
    list->items = NULL;
}
