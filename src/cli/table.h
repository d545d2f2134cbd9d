/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables for people: columns as wide as their content, fitted to the terminal. On a narrow terminal
 * the least important columns go first; a last column of prose is wrapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 16

struct table_column {
    const char *title; /* NULL in the first column: the table has no title line */
    bool is_number;    /* flush right */
    int rank;          /* importance: 0 always stays, the highest goes first */
};

struct table;

/* NULL when memory is out; the other calls accept that. columns must outlive the table. */
struct table *table_create(const struct table_column *columns, size_t column_count);
void table_destroy(struct table *table);

/* Add the next cell, row by row. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* width 0: as wide as it gets. */
void table_print(const struct table *table, FILE *out, int width);

/* Columns and lines of the terminal behind stdout, 0 if there is none. COLUMNS overrules. */
int terminal_width(void);
int terminal_height(void);

/* "1.5 GiB", "12.3M": into text, which is returned. */
#define UNIT_TEXT_MAX 24
const char *unit_bytes(char text[UNIT_TEXT_MAX], double bytes);
const char *unit_count(char text[UNIT_TEXT_MAX], double count);
