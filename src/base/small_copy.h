/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and clears of a few bytes where the time of a call, or of a string instruction's start,
 * counts: compilers make those of a memcpy() or memset() of which they know the length only partly,
 * or that it is some hundred bytes.
 */
#pragma once

#include "base/assert.h"

#include <stdint.h>
#include <string.h>

#define SMALL_COPY_MAX 64 /* bytes */

/* memmove() of up to SMALL_COPY_MAX bytes: all is loaded before anything is stored, and from both
 * ends, so that few lengths have to be told apart. 1, 2, 4 and 8 bytes are one store each. */
static inline void small_copy(char *target, const char *source, size_t length)
{
    struct pair {
        uint64_t low, high;
    } a, b, c, d;
    uint64_t word, last_word;
    uint32_t half, last_half;
    uint16_t quarter;
    if (length >= sizeof(a)) {
        memcpy(&a, source, sizeof(a));
        memcpy(&b, source + length - sizeof(b), sizeof(b));
        if (length > 2 * sizeof(a)) {
            memcpy(&c, source + sizeof(a), sizeof(c));
            memcpy(&d, source + length - 2 * sizeof(d), sizeof(d));
            memcpy(target + sizeof(a), &c, sizeof(c));
            memcpy(target + length - 2 * sizeof(d), &d, sizeof(d));
        }
        memcpy(target, &a, sizeof(a));
        if (length > sizeof(a))
            memcpy(target + length - sizeof(b), &b, sizeof(b));
    } else if (length >= sizeof(word)) {
        memcpy(&word, source, sizeof(word));
        memcpy(&last_word, source + length - sizeof(last_word), sizeof(last_word));
        memcpy(target, &word, sizeof(word));
        if (length > sizeof(word))
            memcpy(target + length - sizeof(last_word), &last_word, sizeof(last_word));
    } else if (length >= sizeof(half)) {
        memcpy(&half, source, sizeof(half));
        memcpy(&last_half, source + length - sizeof(last_half), sizeof(last_half));
        memcpy(target, &half, sizeof(half));
        if (length > sizeof(half))
            memcpy(target + length - sizeof(last_half), &last_half, sizeof(last_half));
    } else if (length > 0) {
        char last = source[length - 1];
        if (length >= sizeof(quarter)) {
            memcpy(&quarter, source, sizeof(quarter));
            memcpy(target, &quarter, sizeof(quarter));
        }
        if (length != sizeof(quarter))
            target[length - 1] = last;
    }
}

/* memset() to 0 of a constant multiple of 8 bytes, by plain stores. */
static inline void small_clear(void *target, size_t length)
{
    size_t at = 0;
    ASSERT(length % sizeof(uint64_t) == 0);
    for (; at + SMALL_COPY_MAX <= length; at += SMALL_COPY_MAX)
        memset((char *)target + at, 0, SMALL_COPY_MAX);
    for (; at < length; at += sizeof(uint64_t))
        memset((char *)target + at, 0, sizeof(uint64_t));
}
