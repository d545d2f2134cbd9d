/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See pattern.h.
 */
#include "pattern.h"

#include "base/splitmix.h"

#include <stdlib.h>
#include <string.h>

uint64_t prng_next(struct prng *prng)
{
    return splitmix_next(&prng->state);
}

uint64_t prng_below(struct prng *prng, uint64_t limit)
{
    return prng_next(prng) % limit;
}

/* One multiplication per word: a gigabyte has to be filled and checked in a test's time. */
static uint64_t word_at(uint64_t seed, size_t index)
{
    uint64_t x = (seed + index) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

static uint64_t stream_of(uint64_t seed)
{
    return splitmix_next(&seed);
}

void pattern_fill(void *base, size_t length, uint64_t seed)
{
    unsigned char *bytes = base;
    uint64_t stream = stream_of(seed);
    size_t word_count = length / 8;
    for (size_t i = 0; i < word_count; i++) {
        uint64_t word = word_at(stream, i);
        memcpy(bytes + i * 8, &word, 8);
    }
    uint64_t last = word_at(stream, word_count);
    if (length % 8 > 0)
        memcpy(bytes + word_count * 8, &last, length % 8);
}

unsigned char pattern_byte(uint64_t seed, size_t position)
{
    uint64_t word = word_at(stream_of(seed), position / 8);
    return (unsigned char)(word >> position % 8 * 8);
}

size_t pattern_find_difference(const void *base, size_t length, uint64_t seed)
{
    const unsigned char *bytes = base;
    uint64_t stream = stream_of(seed);
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        if (word != word_at(stream, at / 8))
            break;
    }
    while (at < length && bytes[at] == pattern_byte(seed, at))
        at++;
    return at;
}

size_t pattern_find_other(const void *base, size_t length, unsigned char value)
{
    const unsigned char *bytes = base;
    size_t at = 0;
    while (at < length && bytes[at] == value)
        at++;
    return at;
}

/* Layout: length, guard, memory, guard. */
struct guarded {
    size_t length;
    unsigned char padding[56]; /* so that the memory starts on a cache line */
    unsigned char guard[GUARD_BYTES];
    unsigned char memory[];
};

static struct guarded *guarded_of(const void *base)
{
    return (struct guarded *)((uintptr_t)base - offsetof(struct guarded, memory));
}

void *guarded_create(size_t length)
{
    struct guarded *guarded = NULL;
    if (posix_memalign((void **)&guarded, 64, sizeof(*guarded) + length + GUARD_BYTES) != 0)
        return NULL;
    guarded->length = length;
    memset(guarded->guard, CANARY, GUARD_BYTES);
    memset(guarded->memory, 0, length);
    memset(guarded->memory + length, CANARY, GUARD_BYTES);
    return guarded->memory;
}

int guarded_check(const void *base)
{
    const struct guarded *guarded = guarded_of(base);
    if (pattern_find_other(guarded->guard, GUARD_BYTES, CANARY) < GUARD_BYTES)
        return -1;
    if (pattern_find_other(guarded->memory + guarded->length, GUARD_BYTES, CANARY) < GUARD_BYTES)
        return -1;
    return 0;
}

void guarded_destroy(void *base)
{
    if (base)
        free(guarded_of(base));
}
