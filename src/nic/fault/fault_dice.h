/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which fault, if any, happens to the next operation.
 *
 * Deterministic: each item of the specification numbers the operations that it could happen to, and
 * whether it does is a function of (seed, rank, item, number) alone. So the same calls in the same
 * order meet the same faults, whatever time it is and whatever other ranks do.
 */
#pragma once

#include "nic/fault/fault_spec.h"

#include <stdatomic.h>

struct fault_dice {
    struct fault_spec spec;
    int rank;
    _Atomic uint64_t seen[FAULT_ITEMS_MAX]; /* operations that item could have happened to */
};

#define FAULT_NONE FAULT_KIND_COUNT

/* What happens to one operation. Delays add up; of the other kinds the item written first wins. */
struct fault_plan {
    enum fault_kind effect; /* any but FAULT_DELAY, or FAULT_NONE */
    int code;               /* FAULT_FAIL */
    int64_t delay_ns;
    uint64_t number; /* of the operation, as `effect`'s item counts */
    uint64_t random; /* for choices within the fault */
};

void fault_dice_init(struct fault_dice *dice, const struct fault_spec *spec, int rank);

/* possible: set of FAULT_BIT(enum fault_kind) that make sense for this very call. */
struct fault_plan fault_dice_roll(struct fault_dice *dice, enum fault_operation operation,
                                  unsigned possible);

/* A well-mixed function of x, for choices that must repeat. */
uint64_t fault_mix(uint64_t x);
