/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names in folders that the user has declared unchanging, as this process's calls give them.
 */
#pragma once

#include "cache/client/named.h"
#include "cache/interposer/scope.h"

/* A quick no for all others. */
static inline bool named_may_be(int folder, const char *path)
{
    return !atomic_load_explicit(&scope_declares_nothing, memory_order_relaxed) && path &&
           path[0] && scope_may_cover(folder, path);
}

/* What it leads to: 0 or a negative errno as cache_name_find(); -EAGAIN: the kernel is to be asked;
 * -EXDEV: it is not in such a folder. errno stays. */
int named_find(int folder, const char *path, bool follows, struct cache_name *name);

/* Whether the mode plainly permits it to this process: R_OK, X_OK or both. What is not plain is the
 * kernel's to say. */
bool named_permits(const struct listing_status *status, int access);

static inline bool named_may_read(const struct listing_status *status)
{
    return named_permits(status, 4 /* R_OK */);
}

/* Whether the result of the above leaves the answer to the kernel; it is counted which. */
bool named_is_left(int result);
