/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams on files of the cache.
 */
#ifndef CACHE_INTERPOSER_STREAM_H
#define CACHE_INTERPOSER_STREAM_H

#include <stdbool.h>
#include <stdio.h>

/* Whether it is a stream of ours, which knows bytes only. */
bool stream_is_ours(FILE *stream);

#endif
