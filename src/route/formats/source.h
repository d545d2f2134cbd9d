/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A text file being read: its lines one by one, and errors that name file, line and reason. All
 * readers parse from here, so a test or a fuzzer can hand them bytes instead of a file.
 */
#ifndef ROUTE_FORMATS_SOURCE_H
#define ROUTE_FORMATS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_LINE_MAX 4096

struct source {
    const char *name; /* for messages */
    char *text;
    size_t length, at;
    uint32_t line_number;
    char line[SOURCE_LINE_MAX]; /* the line at hand, without its end */
};

/* Reads a whole file ("-": standard input); source_close() frees it. */
int source_open(struct source *source, const char *path);
/* Takes a copy of the bytes. */
int source_from(struct source *source, const char *name, const void *bytes, size_t length);
void source_close(struct source *source);

/* Fetches the next line. Returns 1, 0 at the end, or a negative error (line too long, byte 0). */
int source_next(struct source *source);
void source_rewind(struct source *source);

/* "FILE:LINE: reason" as the error text; returns -EINVAL. */
int source_error(const struct source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for an error that a deeper call has set: puts file and line in front of it. */
int source_error_wrap(const struct source *source, int code);

/* Cursor helpers on the line at hand: each moves *at past what it took, or returns false and leaves
 * it alone. */
void source_skip_blanks(const char **at);
bool source_take(const char **at, const char *word);
bool source_take_number(const char **at, uint32_t *value); /* decimal */
bool source_take_hex(const char **at, uint64_t *value);    /* with or without 0x */
int source_hex_digit(char digit);                          /* its value, -1 if it is none */
/* A "quoted" word, or one up to a blank. False too if it is longer than there is room. */
bool source_take_word(const char **at, char *word, size_t size);
/* What stands between this character and the next of it, or the matching bracket; cut to size. */
bool source_take_between(const char **at, char open, char close, char *word, size_t size);

#endif
