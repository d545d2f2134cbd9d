/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading at the file's own offset.
 *
 * The offset stays in the kernel, where all who have the descriptor by dup, fork, exec or a message
 * share it, also with programs that we are not in. A read claims its part of the file by moving the
 * offset with one lseek(SEEK_CUR), which is atomic; the data is then read at the place that was
 * claimed. That is half of what read(2) costs. Near the end of the file it is not known how much to
 * claim, so there the data is read first, and the claim comes second.
 */
#pragma once

#include "cache/interposer/table.h"

/* As readv(2), for a file of the cache. Returns -errno instead of setting it. */
ssize_t position_read(struct description *description, int fd, const struct iovec *parts,
                      int part_count);

/* More parts are left to the kernel. */
#define POSITION_PARTS_MAX 16

/* The most that the kernel reads at a time. */
#define POSITION_LENGTH_MAX 0x7ffff000ul

/* The bytes of all parts, or SIZE_MAX if that is more than the kernel takes at a time. */
size_t position_length(const struct iovec *parts, int part_count);
