/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text files, line by line: all that read one parse from here, so a test or a fuzzer can hand them
 * bytes instead of a file.
 */
#pragma once

#include <stddef.h>

/* Where we are in a file, for what we say of it. */
struct lines_place {
    const char *path;
    unsigned line;
};

struct lines {
    struct lines_place place; /* of the line at hand */
    char *line;               /* without its end and blanks before that; may be cut up */
    size_t room;
    char *text; /* all of it */
    size_t length, at;
};

/* Read a whole file (path "-": standard input); lines_close() frees it. A negative errno, with its
 * text, if it cannot be read to its end. */
int lines_open(struct lines *lines, const char *path);
/* The same with a copy of these bytes. */
int lines_from(struct lines *lines, const char *name, const void *bytes, size_t length);
void lines_close(struct lines *lines);

/* Fetch the next line, however long. 1, 0 at the end, or a negative error: byte 0, no memory. */
int lines_next(struct lines *lines);
void lines_rewind(struct lines *lines);

/* Small files in which '#' begins a comment and empty lines are skipped: calls take for each line
 * with something on it; stops at the first that does not return 0, and returns that, or an error as
 * above. */
int lines_read(const char *path, void *context,
               int (*take)(void *context, const struct lines_place *place, char *line));

/* "FILE:LINE: what 'word'"; returns -EINVAL. */
int lines_wrong(const struct lines_place *place, const char *what, const char *word);
