/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See price.h.
 */
#include "route/trees/price.h"

#include "base/error.h"

#include <math.h>

/* A step must be smaller than what one source sends to one target, or loads cannot be told apart;
 * the sum over some thirty hops must fit into 64 bits. */
#define PRICE_STEPS    4096.0f
#define PRICE_LIMIT    16384u /* steps beyond which the scale is doubled */
#define PRICE_TIE_BITS 12
#define PRICE_TIE_MAX  127u

int price_create(struct price **out, const struct load *load, const struct turns *turns)
{
    const struct net *net = load->net;
    struct price *price = arena_owner(sizeof(*price));
    if (price) {
        price->load = load;
        ARENA_TAKE(&price->memory, price->narrow, net->channel_count + 1);
    }
    for (uint32_t k = 0; price && k < load->traffic->class_count; k++) {
        price->scale[k] = 1;
        ARENA_TAKE(&price->memory, price->of[k], net->channel_count + 1);
    }
    if (!price || price->memory.is_short) {
        price_destroy(price);
        return error_fail(-ENOMEM, "no memory for the prices of %u channels", net->channel_count);
    }
    for (uint32_t c = 0; c < net->channel_count; c++)
        price->narrow[c] = (uint8_t)(net->degree_max - turns_in_count(turns, c));
    price_fill(price);
    *out = price;
    return 0;
}

void price_destroy(struct price *price)
{
    arena_owner_free(price);
}

void price_update(struct price *price, uint32_t channel)
{
    uint32_t classes = price->load->traffic->class_count;
    uint64_t steps[TRAFFIC_CLASSES] = {0}, sum = 0;
    for (uint32_t k = 0; k < classes; k++) {
        float load = price->load->channel[k][channel];
        steps[k] = load > 0 ? (uint64_t)(load * PRICE_STEPS / price->scale[k] + 0.5f) : 0;
        sum += steps[k];
    }
    /* ties between groups: the other class's load counts, and an output few may turn to is worth
     * less. Inside a group ties stay ties: there the first slot wins everywhere, and the switches
     * of a tree choose in step, which is what keeps a fat tree in perfect balance */
    uint64_t tie = sum / 128 + price->narrow[channel];
    if (tie > PRICE_TIE_MAX)
        tie = PRICE_TIE_MAX;
    for (uint32_t k = 0; k < classes; k++) {
        uint64_t own = steps[k] < 2 * PRICE_LIMIT ? steps[k] : 2 * PRICE_LIMIT;
        if (price->sharp && k > 0)
            own = own * own / (2 * PRICE_LIMIT);
        price->of[k][channel] = (own * own * own << PRICE_TIE_BITS) + (k == 0 ? 0 : tie);
        if (steps[k] > PRICE_LIMIT)
            price->rescale = true;
    }
}

void price_fill(struct price *price)
{
    for (uint32_t c = 0; c < price->load->net->channel_count; c++)
        price_update(price, c);
    price_settle(price);
}

void price_settle(struct price *price)
{
    while (price->rescale) {
        price->rescale = false;
        for (uint32_t k = 0; k < price->load->traffic->class_count; k++) {
            float most = 0;
            for (uint32_t c = 0; c < price->load->net->channel_count; c++)
                most = fmaxf(most, price->load->channel[k][c]);
            while (most * PRICE_STEPS / price->scale[k] > PRICE_LIMIT)
                price->scale[k] *= 2;
        }
        for (uint32_t c = 0; c < price->load->net->channel_count; c++)
            price_update(price, c);
    }
}
