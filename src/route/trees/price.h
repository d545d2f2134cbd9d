/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What it costs to use a channel, by class: rises steeply with its load.
 *
 * Prices are whole numbers, so that channels in equal positions cost exactly the same: the high
 * bits hold the cube of the load in small steps, the low bits what breaks ties. The
 * cube is the marginal cost of the sum of fourth powers: steep enough to spread the load, not so
 * steep that small differences on the way outweigh a free last hop.
 */
#pragma once

#include "base/arena.h"
#include "route/tables/load.h"
#include "route/turns/turns.h"

struct price {
    struct arena memory; /* of the arrays */
    const struct load *load;
    uint64_t *of[TRAFFIC_CLASSES];
    float scale[TRAFFIC_CLASSES]; /* load that is counted as 1 */
    uint8_t *narrow;              /* channel: how many slots may not turn to it */
    bool sharp; /* between groups the sixth power counts: the busiest cable decides */
    bool rescale;
};

int price_create(struct price **price, const struct load *load, const struct turns *turns);
void price_destroy(struct price *price);

void price_fill(struct price *price);                     /* of all channels */
void price_update(struct price *price, uint32_t channel); /* after its load has changed */
void price_settle(struct price *price);                   /* after a batch of updates */
