/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See table.h.
 */
#include "cli/table.h"

#include "base/array.h"
#include "base/text.h"
#include "cli/incomplete.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP             2  /* spaces between columns */
#define PROSE_WIDTH_MIN 24 /* narrower than this, wrapping hurts more than a long line */

struct table {
    const struct table_column *columns;
    size_t column_count;
    char **cells;
    size_t cell_count;
    size_t cell_room;
};

/* Which columns are shown and how wide; the last shown one is not padded. */
struct layout {
    size_t width[TABLE_COLUMNS_MAX];
    bool shown[TABLE_COLUMNS_MAX];
    size_t last;
    size_t total; /* of the columns before the last, with their gaps */
};

struct table *table_create(const struct table_column *columns, size_t column_count)
{
    struct table *table = calloc(1, sizeof(*table));
    if (!table || column_count > TABLE_COLUMNS_MAX) {
        free(table);
        incomplete_note();
        return NULL;
    }
    table->columns = columns;
    table->column_count = column_count;
    return table;
}

void table_destroy(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}

void table_cell(struct table *table, const char *format, ...)
{
    if (!table)
        return;
    if (!array_grow(&table->cells, &table->cell_room, table->cell_count + 1)) {
        incomplete_note();
        return;
    }
    char *cell = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&cell, format, arguments) < 0) {
        cell = NULL;
        incomplete_note();
    }
    va_end(arguments);
    table->cells[table->cell_count++] = cell;
}

static const char *cell_at(const struct table *table, size_t row, size_t column)
{
    size_t index = row * table->column_count + column;
    const char *cell = index < table->cell_count ? table->cells[index] : NULL;
    return cell ? cell : "";
}

static size_t row_count(const struct table *table)
{
    return (table->cell_count + table->column_count - 1) / table->column_count;
}

static bool has_titles(const struct table *table)
{
    return table->columns[0].title != NULL;
}

static void layout_sum(const struct table *table, struct layout *layout)
{
    layout->total = 0;
    layout->last = 0;
    for (size_t column = 0; column < table->column_count; column++) {
        if (layout->shown[column])
            layout->last = column;
    }
    for (size_t column = 0; column < layout->last; column++) {
        if (layout->shown[column])
            layout->total += layout->width[column] + GAP;
    }
}

/* Hide the least important column that is still shown; false if all that is left must stay. */
static bool layout_drop(const struct table *table, struct layout *layout)
{
    size_t least = table->column_count;
    for (size_t column = 0; column < table->column_count; column++) {
        int rank = table->columns[column].rank;
        if (layout->shown[column] && rank > 0 &&
            (least == table->column_count || rank > table->columns[least].rank))
            least = column;
    }
    if (least == table->column_count)
        return false;
    layout->shown[least] = false;
    layout_sum(table, layout);
    return true;
}

static void layout_make(const struct table *table, struct layout *layout, size_t width)
{
    for (size_t column = 0; column < table->column_count; column++) {
        const char *title = table->columns[column].title;
        layout->shown[column] = true;
        layout->width[column] = title ? strlen(title) : 0;
        for (size_t row = 0; row < row_count(table); row++) {
            size_t length = strlen(cell_at(table, row, column));
            if (length > layout->width[column])
                layout->width[column] = length;
        }
    }
    layout_sum(table, layout);
    while (width > 0) {
        size_t last = layout->width[layout->last];
        bool is_prose = !table->columns[layout->last].is_number && last > PROSE_WIDTH_MIN;
        if (layout->total + (is_prose ? PROSE_WIDTH_MIN : last) <= width)
            break;
        if (!layout_drop(table, layout))
            break;
    }
}

/* Prints prose from column `indent` on, broken at spaces so that it ends before `width`. */
static void print_wrapped(FILE *out, const char *text, size_t indent, size_t width)
{
    size_t room = width > indent + PROSE_WIDTH_MIN ? width - indent : SIZE_MAX;
    while (strlen(text) > room) {
        size_t cut = room;
        while (cut > 0 && text[cut] != ' ')
            cut--;
        if (cut == 0)
            break;
        fprintf(out, "%.*s\n%*s", (int)cut, text, (int)indent, "");
        text += cut + 1;
    }
    fputs(text, out);
}

/* Nothing is printed for an empty cell until another follows it: no spaces at the end of a line. */
static void print_row(const struct table *table, const struct layout *layout, FILE *out,
                      const char *const *cells, size_t width)
{
    size_t at = 0, start = 0;
    for (size_t column = 0; column < table->column_count; column++) {
        if (!layout->shown[column])
            continue;
        const char *cell = cells[column] ? cells[column] : "";
        size_t length = strlen(cell);
        size_t column_width = layout->width[column];
        size_t target = start + (table->columns[column].is_number ? column_width - length : 0);
        if (length > 0) {
            fprintf(out, "%*s", (int)(target - at), "");
            if (column == layout->last)
                print_wrapped(out, cell, target, width);
            else
                fputs(cell, out);
            at = target + length;
        }
        start += column_width + GAP;
    }
    fputc('\n', out);
}

void table_print(const struct table *table, FILE *out, int width)
{
    if (!table)
        return;
    const char *cells[TABLE_COLUMNS_MAX];
    struct layout layout;
    size_t columns_wide = width > 0 ? (size_t)width : 0;
    layout_make(table, &layout, columns_wide);
    if (has_titles(table)) {
        for (size_t column = 0; column < table->column_count; column++)
            cells[column] = table->columns[column].title;
        print_row(table, &layout, out, cells, columns_wide);
    }
    for (size_t row = 0; row < row_count(table); row++) {
        for (size_t column = 0; column < table->column_count; column++)
            cells[column] = cell_at(table, row, column);
        print_row(table, &layout, out, cells, columns_wide);
    }
}

int terminal_width(void)
{
    uint64_t columns;
    const char *text = getenv("COLUMNS");
    if (text && text_to_u64(text, &columns) && columns > 0 && columns < 10000)
        return (int)columns;
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int terminal_height(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static const char *unit_text(char text[UNIT_TEXT_MAX], double value, double step,
                             const char *const *units)
{
    size_t unit = 0;
    /* 999.95 would print as 1000.0: go up a unit before rounding does. */
    while (units[unit + 1] && value >= step - (unit == 0 ? 0.5 : 0.05)) {
        value /= step;
        unit++;
    }
    int digits = unit == 0 ? 0 : 1;
    snprintf(text, UNIT_TEXT_MAX, "%.*f%s", digits, value, units[unit]);
    return text;
}

const char *unit_bytes(char text[UNIT_TEXT_MAX], double bytes)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", NULL};
    return unit_text(text, bytes, 1024, units);
}

const char *unit_count(char text[UNIT_TEXT_MAX], double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", NULL};
    return unit_text(text, count, 1000, units);
}
