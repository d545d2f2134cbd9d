/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data that can be recognised: a seeded random stream, byte patterns that depend on their place,
 * and buffers between guards. Every byte is a function of (seed, position), so a misplaced byte is
 * found as surely as a wrong one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A small random stream (splitmix64): same seed, same numbers. */
struct prng {
    uint64_t state;
};

uint64_t prng_next(struct prng *prng);

/* A number from 0 to limit - 1. limit must not be 0. */
uint64_t prng_below(struct prng *prng, uint64_t limit);

/* Fill [base, base + length) with the pattern of seed. */
void pattern_fill(void *base, size_t length, uint64_t seed);

/* Where the memory first differs from the pattern of seed, or length if nowhere. */
size_t pattern_find_difference(const void *base, size_t length, uint64_t seed);

/* What byte stands at position in the pattern of seed. */
unsigned char pattern_byte(uint64_t seed, size_t position);

#define CANARY      0xA5
#define GUARD_BYTES 256

/* Where memory that should be all `value` first is not, or length. */
size_t pattern_find_other(const void *base, size_t length, unsigned char value);

/* Memory between two guards, zeroed. guarded_check() returns 0, or -1 if a guard was hit. NULL if
 * there is no memory. */
void *guarded_create(size_t length);
int guarded_check(const void *base);
void guarded_destroy(void *base);
