/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the simulator's tests share.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/engine/engine.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A world; fails the test when there is none. */
static inline struct sim *world_make(uint64_t seed)
{
    struct sim *sim = NULL;
    assert_int_equal(sim_create(&sim, seed), 0);
    return sim;
}
