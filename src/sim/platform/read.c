/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of a platform. See platform.h for what they are.
 */
#include "sim/platform/read.h"

#include "base/error.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define INCLUDES_MAX 8 /* deep; more are a circle */

/* Without blanks at both ends; cuts the text. */
static char *trimmed(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* The part before a separator, which becomes its end; *text goes behind it. NULL: no separator. */
static char *part_take(char **text, char separator)
{
    char *end = strchr(*text, separator), *part = *text;
    if (!end)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return trimmed(part);
}

static int name_find(const struct lines_place *place, const char *name, size_t *index)
{
    char what[96];
    if (sim_constant_find(name, index))
        return 0;
    const char *near = sim_constant_nearest(name);
    if (!near)
        return lines_wrong(place, "`rhinet sim constants` does not list", name);
    snprintf(what, sizeof(what), "there is a constant %s, but none is called", near);
    return lines_wrong(place, what, name);
}

static int value_read(const struct lines_place *place, char *text, const struct sim_constant *at,
                      int64_t *value)
{
    char what[96];
    uint64_t number;
    const char *unit = at->unit[0] ? at->unit : "-";
    char *said = text + strcspn(text, " \t");
    if (*said) {
        *said = '\0';
        said = trimmed(said + 1);
    }
    if (!text_to_u64(text, &number) || number > INT64_MAX)
        return lines_wrong(place, "a value is a whole number, not", text);
    if (strcmp(said, unit) != 0) {
        snprintf(what, sizeof(what), "the unit of %s is %s, not", at->name, unit);
        return lines_wrong(place, what, said);
    }
    *value = (int64_t)number;
    return 0;
}

static int class_read(const struct lines_place *place, const char *text,
                      struct platform_origin *origin)
{
    for (int i = 0; platform_class_names[i]; i++) {
        size_t length = strlen(platform_class_names[i]);
        if (strncmp(text, platform_class_names[i], length) != 0)
            continue;
        const char *row = text + length + strspn(text + length, " \t");
        bool has_row = row[0] != '\0' && row > text + length;
        if (i == PLATFORM_CALIBRATED ? !has_row : row[0] != '\0')
            break;
        origin->class = (enum platform_class)i;
        snprintf(origin->row, sizeof(origin->row), "%s", row);
        return 0;
    }
    return lines_wrong(place, "a class is known, calibrated on ROW, assumed or what-if, not", text);
}

/* "NAME = VALUE UNIT; CLASS; SOURCE" */
static int constant_read(struct platform *platform, const struct lines_place *place, char *line)
{
    struct platform_origin origin = {.is_set = true, .line = place->line};
    char twice[96], *rest = line;
    size_t index;
    int64_t value = 0;
    const char *name = part_take(&rest, '=');
    char *number = name ? part_take(&rest, ';') : NULL;
    const char *class = number ? part_take(&rest, ';') : NULL;
    if (!class)
        return lines_wrong(place, "a line is NAME = VALUE UNIT; CLASS; SOURCE, not", line);
    const char *source = trimmed(rest);
    snprintf(origin.file, sizeof(origin.file), "%s", place->path);
    snprintf(origin.source, sizeof(origin.source), "%s", source);
    int result = name_find(place, name, &index);
    if (result == 0)
        result = value_read(place, number, &sim_constant_list[index], &value);
    if (result == 0)
        result = class_read(place, class, &origin);
    if (result < 0)
        return result;
    if (origin.class == PLATFORM_KNOWN && source[0] == '\0')
        return lines_wrong(place, "what is known has a source, which is missing for", name);
    const struct platform_origin *before = &platform->origins[index];
    if (before->is_set && strcmp(before->file, origin.file) == 0) {
        snprintf(twice, sizeof(twice), "line %u has said already what is", before->line);
        return lines_wrong(place, twice, name);
    }
    platform->origins[index] = origin;
    sim_constant_put(&platform->constants, index, value);
    return 0;
}

static int line_read(struct platform *platform, const struct lines_place *place, char *line,
                     unsigned depth)
{
    char *text = trimmed(line);
    if (strncmp(text, "include", 7) == 0 && isspace((unsigned char)text[7])) {
        if (depth + 1 == INCLUDES_MAX)
            return lines_wrong(place, "includes go in a circle, or deeper than 8, at", text);
        return platform_read(platform, trimmed(text + 8), place, depth + 1);
    }
    return constant_read(platform, place, text);
}

int platform_read_lines(struct platform *platform, struct lines *lines, unsigned depth)
{
    int more = 0, result = 0;
    while (result == 0 && (more = lines_next(lines)) > 0) {
        char *line = lines->line;
        size_t length = strcspn(line, "#");
        bool is_title = depth == 0 && line[0] == '#' && platform->title[0] == '\0' &&
                        strncmp(line, "# SPDX", 6) != 0;
        if (is_title)
            snprintf(platform->title, sizeof(platform->title), "%s", trimmed(line + 1));
        line[length] = '\0';
        if (line[strspn(line, " \t\r")] != '\0')
            result = line_read(platform, &lines->place, line, depth);
    }
    lines_close(lines);
    return more < 0 ? more : result;
}

/* A file that is included lies beside the one that includes it. */
static int file_open(struct lines *lines, const char *name, const struct lines_place *from,
                     char path[PATH_MAX])
{
    const char *slash = from ? strrchr(from->path, '/') : NULL;
    if (slash && name[0] != '/')
        snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - from->path), from->path, name);
    else
        snprintf(path, PATH_MAX, "%s", name);
    if (access(path, F_OK) == 0)
        return lines_open(lines, path);
    const char *names[16];
    size_t count = 0;
    for (const struct platform_file *at = platform_files; at->name && count < 16; at++)
        names[count++] = at->name;
    const char *near = text_nearest(name, names, count);
    if (from)
        return lines_wrong(from, "no file and no platform of `rhinet sim platform list`:", name);
    return error_fail(-ENOENT,
                      "'%s' is no file and no platform of `rhinet sim platform list`%s%s%s", name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int platform_read(struct platform *platform, const char *name, const struct lines_place *from,
                  unsigned depth)
{
    struct lines lines;
    char path[PATH_MAX];
    const struct platform_file *own = platform_file_find(name);
    int result = own ? lines_from(&lines, own->name, own->text, own->length)
                     : file_open(&lines, name, from, path);
    return result < 0 ? result : platform_read_lines(platform, &lines, depth);
}
