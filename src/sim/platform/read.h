/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading platforms. Private to sim/platform.
 */
#pragma once

#include "base/lines.h"
#include "sim/platform/platform.h"

/* One of the program's, or NULL. */
const struct platform_file *platform_file_find(const char *name);

/* Takes the lines of a platform by its name or of a file, which may lie beside `from`, into
 * `platform`. depth: of includes. */
int platform_read(struct platform *platform, const char *name, const struct lines_place *from,
                  unsigned depth);
/* The lines, which it closes. */
int platform_read_lines(struct platform *platform, struct lines *lines, unsigned depth);
