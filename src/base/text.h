/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small helpers on text: numbers with units, and the nearest of several names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each parses the whole text or returns false and leaves *value alone. */
bool text_to_u64(const char *text, uint64_t *value);
bool text_to_size(const char *text, uint64_t *bytes);       /* 4096, 64K, 1M, 2G */
bool text_to_duration(const char *text, int64_t *value_ns); /* 250ns, 10us, 5ms, 2s, 1.5s */
bool text_to_real(const char *text, double *value);

/* The name with the smallest edit distance to text, or NULL if none is near enough to suggest. */
const char *text_nearest(const char *text, const char *const *names, size_t name_count);
