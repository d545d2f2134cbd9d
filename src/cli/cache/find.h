/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Caches of this host that run for this user, found by their memory in /proc. It is read with
 * pread, never mapped, copied and checked.
 */
#pragma once

#include "cache/layout.h"

#include <stddef.h>

#define CACHE_FIND_MAX 256

/* A copy of a node's control memory, checked; NULL: it is none. free() it. */
struct cache_control *cache_control_copy(int fd);

/* Copies of the nodes' control memory, by job and rank; returns how many. free() each. */
size_t cache_find(struct cache_control *nodes[CACHE_FIND_MAX]);

/* Keep the nodes of one job: the one with this number (hex), or with NULL the only one there is. 0,
 * or an exit status after it has said what is wrong; then all are freed. */
int cache_find_job(struct cache_control **nodes, size_t *count, const char *job);
