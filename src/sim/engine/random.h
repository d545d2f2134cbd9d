/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stream of chance: xoshiro256++ (Blackman and Vigna), seeded by splitmix64. Private to the
 * engine.
 */
#pragma once

#include "base/splitmix.h"

#include <math.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

static inline void random_seed(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix_next(&seed);
}

static inline uint64_t random_rotate(uint64_t value, int by)
{
    return value << by | value >> (64 - by);
}

static inline uint64_t random_next(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = random_rotate(s[0] + s[3], 23) + s[0];
    uint64_t kept = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= kept;
    s[3] = random_rotate(s[3], 45);
    return result;
}

/* Mean 1. Neither 0 nor infinite: the argument of the logarithm lies inside 0 … 1. */
static inline double random_exponential(struct random *random)
{
    return -log(((double)(random_next(random) >> 12) + 0.5) * 0x1p-52);
}
