/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small text files, line by line: '#' begins a comment, empty lines are skipped.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

/* Where we are in a file, for what we say of it. */
struct lines_place {
    const char *path;
    unsigned line;
};

/* Calls take for each line with something on it, however long, which it may cut up; stops at the
 * first that does not return 0, and returns that. path "-": standard input. A negative errno, with
 * its text, if the file cannot be read to its end or is no text. */
int lines_read(const char *path, void *context,
               int (*take)(void *context, const struct lines_place *place, char *line));

/* "FILE, line N: what 'word'"; returns -EINVAL. */
int lines_wrong(const struct lines_place *place, const char *what, const char *word);

#endif
