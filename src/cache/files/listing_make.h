/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asking the file system what a folder has in it; see cache/listing.h for what becomes of it.
 */
#pragma once

#include "cache/listing.h"

/* A listing as its blocks have it, one after the other. */
struct listing {
    char *data;
    uint64_t length;
    uint32_t part_length;
};

/* List a folder of this device. 0; -EXDEV: another file system is mounted there; -ENOMEM; or what
 * the file system says. Takes a request for each name. */
int listing_make(struct listing *listing, const char *path, uint64_t device);
void listing_free(struct listing *listing);

/* The bytes of one block, copied to `target`; 0, or -ESTALE: it has none such, or not so long. */
int listing_block(const struct listing *listing, uint64_t block, void *target, uint64_t length);
