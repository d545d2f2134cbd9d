/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the readers of files share: taking words and numbers from a line (base/lines.h), and errors
 * that name file, line and reason.
 */
#pragma once

#include "base/lines.h"

#include <stdbool.h>
#include <stdint.h>

/* "FILE:LINE: reason" as the error text; returns -EINVAL. */
int source_error(const struct lines *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for an error that a deeper call has set: puts file and line in front of it. */
int source_error_wrap(const struct lines *source, int code);

/* Cursor helpers on the line at hand: each moves *at past what it took, or returns false and leaves
 * it alone. */
void source_blanks_skip(const char **at);
bool source_take(const char **at, const char *word);
bool source_number_take(const char **at, uint32_t *value); /* decimal */
bool source_hex_take(const char **at, uint64_t *value);    /* with or without 0x */
int source_hex_digit(char digit);                          /* its value, -1 if it is none */
/* A "quoted" word, or one up to a blank. False too if it is longer than there is room. */
bool source_word_take(const char **at, char *word, size_t size);
/* What stands between this character and the next of it, or the matching bracket; cut to size. */
bool source_between_take(const char **at, char open, char close, char *word, size_t size);
