/* SPDX-License-Identifier: BSD-3-Clause
 *
 * splitmix64 (Steele, Lea, Flood): chance that is the same on every machine and libc, from one word
 * of state; and its finaliser, in which every bit of the result depends on every bit of the word.
 */
#pragma once

#include <stdint.h>

#define SPLITMIX_STEP 0x9e3779b97f4a7c15u /* 2^64 divided by the golden ratio */

static inline uint64_t splitmix_mix(uint64_t word)
{
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

static inline uint64_t splitmix_next(uint64_t *state)
{
    return splitmix_mix(*state += SPLITMIX_STEP);
}
