/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The listing of one declared folder (cache/listing.h), as its blocks are in the arena, or asked of
 * the agent; see named.h. Nobody but named.c includes this.
 */
#pragma once

#include "cache/client/named.h"

/* A listing, by its folder. */
struct listed {
    struct cache_client *client;
    const struct cache_declared *declared;
    uint32_t number; /* of the declared one */
    const char *below;
    size_t length;
    uint64_t id[2];
};

/* What is said of the folder itself. 0 or -EAGAIN. */
int listed_head(const struct listed *folder, struct listing_head *head);

/* A name in it: status and target are filled in. 0, -ENOENT or -EAGAIN. */
int listed_find(const struct listed *folder, const char *name, size_t length,
                struct cache_name *found);

/* All of it; see cache_names_list(). */
int listed_all(const struct listed *folder, struct cache_names *names);
