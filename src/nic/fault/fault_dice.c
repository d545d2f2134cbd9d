/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fault_dice.h.
 */
#include "nic/fault/fault_dice.h"

#include "base/splitmix.h"

#include <string.h>

void fault_dice_init(struct fault_dice *dice, const struct fault_spec *spec, int rank)
{
    memset(dice, 0, sizeof(*dice));
    dice->spec = *spec;
    dice->rank = rank;
    if (spec->rank != FAULT_EVERY_RANK && spec->rank != rank)
        dice->spec.item_count = 0;
}

uint64_t fault_mix(uint64_t x)
{
    return splitmix_next(&x);
}

static uint64_t draw(const struct fault_dice *dice, size_t index, uint64_t number)
{
    uint64_t stream = fault_mix(dice->spec.seed ^ fault_mix((uint64_t)dice->rank << 32 | index));
    return fault_mix(stream + number);
}

static bool happens(const struct fault_item *item, uint64_t number, uint64_t random)
{
    if (item->first > 0)
        return item->onward ? number >= item->first : number == item->first;
    return (double)(random >> 11) * 0x1p-53 < item->rate; /* 53 bits: exact in a double */
}

struct fault_plan fault_dice_roll(struct fault_dice *dice, enum fault_operation operation,
                                  unsigned possible)
{
    struct fault_plan plan = {.effect = FAULT_NONE};
    for (size_t i = 0; i < dice->spec.item_count; i++) {
        const struct fault_item *item = &dice->spec.item[i];
        if (!(item->operations & FAULT_BIT(operation)) || !(possible & FAULT_BIT(item->kind)))
            continue;
        /* relaxed: the number orders nothing but itself */
        uint64_t number = 1 + atomic_fetch_add_explicit(&dice->seen[i], 1, memory_order_relaxed);
        uint64_t random = draw(dice, i, number);
        if (!happens(item, number, random))
            continue;
        if (item->kind == FAULT_DELAY) {
            plan.delay_ns += item->delay_ns;
        } else if (plan.effect == FAULT_NONE) {
            plan.effect = item->kind;
            plan.code = item->code;
            plan.number = number;
            plan.random = fault_mix(random);
        }
    }
    return plan;
}
