/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Line numbers from .debug_line, as gcc and clang write it (DWARF 2 to 5): enough to say where
 * firmware was. A reader that has come to the end, or to what it does not know, gives 0 from there
 * on, so that damage can only make the table shorter.
 */
#include "sim/processor/inside.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MOST   64
#define FORMATS_MOST 8
#define LINES_MOST   65536

enum form {
    FORM_BLOCK = 0x09,
    FORM_DATA1 = 0x0b,
    FORM_DATA2 = 0x05,
    FORM_DATA4 = 0x06,
    FORM_DATA16 = 0x1e,
    FORM_UDATA = 0x0f,
    FORM_STRING = 0x08,
    FORM_LINE_STRP = 0x1f
};
#define CONTENT_PATH 1

struct reader {
    const uint8_t *at, *end;
    struct processor_section strings;
};

/* One table of lines, of one source file and what it includes. */
struct table {
    uint32_t version, least, range, opcodes; /* as the header has them */
    int32_t line_base;
    const uint8_t *lengths; /* of the standard operations' arguments */
    const char *files[FILES_MOST];
    uint32_t file_count;
};

static uint64_t take(struct reader *reader, uint32_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->at = reader->end;
        return 0;
    }
    for (uint32_t i = 0; i < bytes; i++)
        value |= i < 8 ? (uint64_t)reader->at[i] << i * 8 : 0;
    reader->at += bytes;
    return value;
}

/* LEB128. */
static uint64_t take_number(struct reader *reader, bool is_signed)
{
    uint64_t value = 0;
    uint32_t shift = 0;
    uint8_t byte = 0;
    do {
        byte = (uint8_t)take(reader, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && reader->at < reader->end);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= UINT64_MAX << shift;
    return value;
}

static const char *take_string(struct reader *reader)
{
    const char *text = (const char *)reader->at;
    const uint8_t *end = memchr(reader->at, 0, (size_t)(reader->end - reader->at));
    reader->at = end ? end + 1 : reader->end;
    return end ? text : "";
}

static const char *string_at(const struct reader *reader, uint64_t offset)
{
    const struct processor_section *strings = &reader->strings;
    if (offset >= strings->size ||
        !memchr(strings->bytes + offset, 0, strings->size - (size_t)offset))
        return "";
    return (const char *)strings->bytes + offset;
}

/* A value of an entry of DWARF 5; its text, if it is one. */
static const char *take_form(struct reader *reader, uint64_t form)
{
    switch ((enum form)form) {
    case FORM_STRING:
        return take_string(reader);
    case FORM_LINE_STRP:
        return string_at(reader, take(reader, 4));
    case FORM_UDATA:
        take_number(reader, false);
        return NULL;
    case FORM_DATA1:
        take(reader, 1);
        return NULL;
    case FORM_DATA2:
        take(reader, 2);
        return NULL;
    case FORM_DATA4:
        take(reader, 4);
        return NULL;
    case FORM_DATA16:
        take(reader, 16);
        return NULL;
    case FORM_BLOCK: {
        uint64_t length = take_number(reader, false);
        take(reader, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length);
        return NULL;
    }
    }
    reader->at = reader->end; /* unknown, so is its length */
    return NULL;
}

/* Directories or files of DWARF 5. */
static void entries_take(struct reader *reader, struct table *table, bool are_files)
{
    uint64_t formats[FORMATS_MOST][2] = {0};
    uint32_t format_count = (uint32_t)take(reader, 1);
    if (format_count > FORMATS_MOST) {
        reader->at = reader->end;
        return;
    }
    for (uint32_t i = 0; i < format_count; i++) {
        formats[i][0] = take_number(reader, false);
        formats[i][1] = take_number(reader, false);
    }
    uint64_t count = take_number(reader, false);
    for (uint64_t i = 0; i < count && reader->at < reader->end; i++) {
        const char *path = NULL;
        for (uint32_t j = 0; j < format_count; j++) {
            const char *text = take_form(reader, formats[j][1]);
            if (formats[j][0] == CONTENT_PATH && text)
                path = text;
        }
        if (are_files && table->file_count < FILES_MOST)
            table->files[table->file_count++] = path ? path : "";
    }
}

/* Files before DWARF 5: names, each with three numbers; the first is number 1. */
static void names_take(struct reader *reader, struct table *table)
{
    while (*take_string(reader) && reader->at < reader->end) /* directories */
        continue;
    table->files[table->file_count++] = "";
    while (reader->at < reader->end) {
        const char *name = take_string(reader);
        if (!*name)
            return;
        for (int i = 0; i < 3; i++)
            take_number(reader, false);
        if (table->file_count < FILES_MOST)
            table->files[table->file_count++] = name;
    }
}

/* False: not understood. The reader is at the program then. */
static bool header_take(struct reader *reader, struct table *table)
{
    table->version = (uint32_t)take(reader, 2);
    if (table->version < 2 || table->version > 5)
        return false;
    if (table->version == 5)
        take(reader, 2); /* sizes of an address and of a selector */
    uint64_t length = take(reader, 4);
    if (length > (uint64_t)(reader->end - reader->at))
        return false;
    struct reader header = *reader;
    header.end = reader->at + length;
    reader->at = header.end;
    table->least = (uint32_t)take(&header, 1);
    if (table->version >= 4)
        take(&header, 1); /* operations of an instruction */
    take(&header, 1);     /* is it a statement? */
    table->line_base = (int8_t)take(&header, 1);
    table->range = (uint32_t)take(&header, 1);
    table->opcodes = (uint32_t)take(&header, 1);
    table->lengths = header.at;
    if (table->range == 0 || table->opcodes == 0 ||
        table->opcodes - 1 > (size_t)(header.end - header.at))
        return false;
    take(&header, table->opcodes - 1);
    if (table->version < 5) {
        names_take(&header, table);
        return true;
    }
    entries_take(&header, table, false);
    entries_take(&header, table, true);
    return true;
}

struct state {
    uint32_t address, line;
    uint64_t file;
};

static int row_add(struct processor_image *image, size_t *room, const struct table *table,
                   const struct state *state)
{
    if (image->line_count >= LINES_MOST)
        return 0;
    if (!array_grow(&image->lines, room, image->line_count + 1))
        return error_fail(-ENOMEM, "no memory for the line numbers of firmware");
    const char *path = state->file < table->file_count ? table->files[state->file] : "";
    const char *slash = strrchr(path, '/');
    image->lines[image->line_count++] = (struct processor_line){state->address, state->line,
                                                                slash ? slash + 1 : path};
    return 0;
}

/* Operations beyond the standard ones. True: the sequence ends here. */
static bool extended_take(struct reader *reader, struct state *state)
{
    uint64_t length = take_number(reader, false);
    if (length == 0 || length > (uint64_t)(reader->end - reader->at)) {
        reader->at = reader->end;
        return false;
    }
    const uint8_t *next = reader->at + length;
    uint64_t operation = take(reader, 1);
    if (operation == 2) /* address */
        state->address = (uint32_t)take(reader, (uint32_t)length - 1);
    reader->at = next;
    return operation == 1;
}

/* Standard operations. True: a row is to be added. */
static bool standard_take(struct reader *reader, const struct table *table, uint32_t operation,
                          struct state *state)
{
    switch (operation) {
    case 1:
        return true;
    case 2:
        state->address += (uint32_t)take_number(reader, false) * table->least;
        return false;
    case 3:
        state->line += (uint32_t)take_number(reader, true);
        return false;
    case 4:
        state->file = take_number(reader, false);
        return false;
    case 8:
        state->address += (255 - table->opcodes) / table->range * table->least;
        return false;
    case 9:
        state->address += (uint32_t)take(reader, 2);
        return false;
    default:
        for (uint32_t i = 0; i < table->lengths[operation - 1]; i++)
            take_number(reader, false);
        return false;
    }
}

static int program_run(struct processor_image *image, size_t *room, struct reader *reader,
                       const struct table *table)
{
    struct state state = {.line = 1, .file = 1};
    int result = 0;
    while (result == 0 && reader->at < reader->end) {
        uint32_t operation = (uint32_t)take(reader, 1);
        bool is_row = false;
        if (operation == 0 && extended_take(reader, &state)) {
            state.line = 0; /* nothing is known from here on */
            result = row_add(image, room, table, &state);
            state = (struct state){.line = 1, .file = 1};
        } else if (operation >= table->opcodes) {
            uint32_t special = operation - table->opcodes;
            state.address += special / table->range * table->least;
            state.line += (uint32_t)(table->line_base + (int32_t)(special % table->range));
            is_row = true;
        } else if (operation > 0) {
            is_row = standard_take(reader, table, operation, &state);
        }
        if (is_row)
            result = row_add(image, room, table, &state);
    }
    return result;
}

/* By address; where one sequence ends and another begins, the beginning counts. */
static int line_order(const void *a, const void *b)
{
    const struct processor_line *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->line > 0) - (y->line > 0);
}

int processor_lines_read(struct processor_image *image, struct processor_section lines,
                         struct processor_section strings)
{
    struct reader all = {lines.bytes, lines.bytes + lines.size, strings};
    size_t room = 0;
    int result = 0;
    while (result == 0 && all.at < all.end) {
        struct table table = {0};
        uint64_t length = take(&all, 4);
        if (length == 0 || length > (uint64_t)(all.end - all.at))
            break;
        struct reader one = {all.at, all.at + length, strings};
        all.at = one.end;
        if (header_take(&one, &table))
            result = program_run(image, &room, &one, &table);
    }
    if (image->line_count)
        qsort(image->lines, image->line_count, sizeof(*image->lines), line_order);
    return result;
}
