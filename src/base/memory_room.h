/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that is reserved before anyone touches it, so that "full" is an error code with the sizes
 * in its text and never a SIGBUS or a visit of the out-of-memory killer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Bytes this process could still take: the machine's available memory, or less if a control group
 * sets a limit. *limit names what sets it, for messages. */
uint64_t memory_room(const char **limit);

struct memory_shape {
    const char *name; /* shown in /proc only */
    uint64_t length;  /* rounded up to whole pages by the kernel */
    bool huge_pages;
    bool is_sparse; /* pages are reserved part by part, by memory_reserve() */
};

/* Make anonymous shared memory of a fixed, sealed length with its pages reserved and zeroed.
 * Returns a close-on-exec descriptor, the caller's. Errors: RH_ENOSPACE, RH_EREFUSED. */
int memory_create(const struct memory_shape *shape);

/* Reserve this part of sparse memory, as often as one likes. RH_ENOSPACE. */
int memory_reserve(int fd, uint64_t offset, uint64_t length);

/* From here on only mappings that exist already can write it, whoever holds or re-opens the
 * descriptor. Kernels before 5.1 lack this seal; then members of a job are trusted. */
void memory_seal_read_only(int fd);

/* Whether a descriptor that came from elsewhere is such memory: sealed against resizing. Gives its
 * length. */
bool memory_is_sealed(int fd, uint64_t *length);
