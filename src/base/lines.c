/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lines.h.
 */
#include "base/lines.h"

#include "base/array.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (4ull << 30)

static int file_read(struct lines *lines, FILE *file)
{
    struct stat status;
    bool sized = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    size_t capacity = sized && status.st_size > 0 ? (size_t)status.st_size + 1 : 1 << 16;
    lines->text = malloc(capacity);
    while (lines->text) {
        lines->length += fread(lines->text + lines->length, 1, capacity - lines->length, file);
        if (lines->length < capacity)
            return ferror(file) ? -errno : 0;
        if (capacity >= FILE_MAX)
            return -EFBIG;
        if (!array_grow(&lines->text, &capacity, capacity + 1))
            break;
    }
    return -ENOMEM;
}

int lines_open(struct lines *lines, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    *lines = (struct lines){.place.path = is_stdin ? "standard input" : path};
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    int result = file ? file_read(lines, file) : -errno;
    if (file && !is_stdin)
        fclose(file);
    if (result == 0)
        return 0;
    lines_close(lines);
    return error_fail(result, "cannot read %s: %s", lines->place.path, strerror(-result));
}

int lines_from(struct lines *lines, const char *name, const void *bytes, size_t length)
{
    *lines = (struct lines){.place.path = name, .length = length, .text = malloc(length + 1)};
    if (!lines->text)
        return error_fail(-ENOMEM, "no memory for %zu bytes", length);
    memcpy(lines->text, bytes, length);
    return 0;
}

void lines_close(struct lines *lines)
{
    free(lines->text);
    free(lines->line);
    lines->text = lines->line = NULL;
}

void lines_rewind(struct lines *lines)
{
    lines->at = 0;
    lines->place.line = 0;
}

int lines_next(struct lines *lines)
{
    if (lines->at >= lines->length)
        return 0;
    lines->place.line++;
    const char *start = lines->text + lines->at;
    size_t left = lines->length - lines->at;
    const char *end = memchr(start, '\n', left);
    size_t length = end ? (size_t)(end - start) : left;
    lines->at += length + (end != NULL);
    if (length >= lines->room && !array_grow(&lines->line, &lines->room, length + 1))
        return error_fail(-ENOMEM, "no memory for a line of %s", lines->place.path);
    memcpy(lines->line, start, length);
    lines->line[length] = '\0';
    if (strlen(lines->line) != length)
        return lines_wrong(&lines->place, "a byte 0; this is no text file, after", lines->line);
    while (length > 0 && isspace((unsigned char)lines->line[length - 1]))
        length--;
    lines->line[length] = '\0';
    return 1;
}

int lines_read(const char *path, void *context,
               int (*take)(void *context, const struct lines_place *place, char *line))
{
    struct lines lines;
    int more, result = lines_open(&lines, path);
    if (result < 0)
        return result;
    while (result == 0 && (more = lines_next(&lines)) != 0) {
        char *line = lines.line;
        if (more > 0)
            line[strcspn(line, "#")] = '\0';
        if (more < 0)
            result = more;
        else if (line[strspn(line, " \t\r")] != '\0')
            result = take(context, &lines.place, line);
    }
    lines_close(&lines);
    return result;
}

int lines_wrong(const struct lines_place *place, const char *what, const char *word)
{
    return error_fail(-EINVAL, "%s:%u: %s '%s'", place->path, place->line, what, word ? word : "");
}
