/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files of /proc and /sys: short, and read at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* path is relative to folder, as of openat(2). False if it cannot be read or is empty; text then is
 * empty, too. */
bool small_file_read(int folder, const char *path, char *text, size_t room);
