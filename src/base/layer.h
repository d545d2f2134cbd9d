/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each layer has by name: settings, counters, the waits that people hear of, reserved SIDs.
 *
 * A layer says so in a file of its own, NAME_layer.c, and has numbers for it in NAME_layer.h. These
 * files are data and nothing else, so they are part of this library whatever else is linked: a
 * program that has nothing of a layer can still read what another process of that layer has counted
 * and waits for (`rhinet top` and `doctor`, task managers, ranks that use other layers), and knows
 * its settings from a slip of the pen.
 *
 * The numbers of counters and waits are on boards, so they are the same in all processes of a job
 * (ROSTER_VERSION says which).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum layer_number {
    LAYER_BASE,
    LAYER_WATCH,
    LAYER_NIC,
    LAYER_JOB,
    LAYER_RMA,
    LAYER_MSG,
    LAYER_DSM,
    LAYER_PM,
    LAYER_CACHE,
    LAYER_COUNT
};

/* Numbers that a layer has for its counters; the same for waits. Both are on boards; settings are
 * not, and have more. */
#define LAYER_NUMBERS       16
#define LAYER_FIRST(layer)  ((layer)*LAYER_NUMBERS)
#define LAYER_AT(number)    ((number) % LAYER_NUMBERS) /* in the layer's list */
#define LAYER_NUMBERS_COUNT (LAYER_COUNT * LAYER_NUMBERS)

#define LAYER_SETTINGS             32
#define LAYER_SETTING_FIRST(layer) ((layer)*LAYER_SETTINGS)
#define LAYER_SETTING_AT(number)   ((number) % LAYER_SETTINGS)

struct counter_spec; /* base/counters.h */
struct setting_spec; /* base/settings.h */
struct wait_spec;    /* watch/board.h */

struct layer {
    const struct setting_spec *settings;
    const struct counter_spec *counters;
    const struct wait_spec *waits;
    size_t setting_count, counter_count, wait_count;
    uint32_t sid_first, sid_last; /* SIDs that are the layer's own; 0: none */
    const char *sid_name;         /* what they are for, as in "the mailbox of rank 3" */
};

/* Fills a list and its count. */
#define LAYER_LIST(what, list) .what##s = (list), .what##_count = sizeof(list) / sizeof((list)[0])

/* All of them, by number. */
extern const struct layer *const layers[LAYER_COUNT];

/* The layer that has number `number` of anything. Never NULL for 0 to LAYER_NUMBERS_COUNT - 1. */
static inline const struct layer *layer_of(uint32_t number)
{
    return number < LAYER_NUMBERS_COUNT ? layers[number / LAYER_NUMBERS] : NULL;
}

/* The layer that a reserved SID belongs to, or NULL. */
const struct layer *layer_of_sid(uint32_t sid);
