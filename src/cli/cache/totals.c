/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet cache run` says at its end: how much was read, where it came from, and what went
 * past the cache, with the reasons.
 */
#include "cache/layout.h"
#include "cli/cache/cache.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdarg.h>

#define LINE_MAX_ 512

struct line {
    char text[LINE_MAX_];
    size_t used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, LINE_MAX_ - line->used, format, arguments);
    va_end(arguments);
    line->used += length > 0 ? (size_t)length : 0;
    if (line->used >= LINE_MAX_)
        line->used = LINE_MAX_ - 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Each reason that there is, behind a word that leads there. */
static void add_reasons(struct line *line, const uint64_t *values)
{
    static const struct {
        enum cache_total which;
        const char *one, *many;
    } reasons[] = {{CACHE_TOTAL_NEW, "file opened just after it changed",
                    "files opened just after they changed"},
                   {CACHE_TOTAL_WRITTEN, "file opened while it was written",
                    "files opened while they were written"},
                   {CACHE_TOTAL_MAPPED, "mapping", "mappings"}};
    char text[UNIT_TEXT_MAX];
    const char *before = " (";
    if (values[CACHE_TOTAL_FALLBACK] > 0) {
        add(line, "%s%s that could not be served", before,
            unit_bytes(text, (double)values[CACHE_TOTAL_FALLBACK]));
        before = ", ";
    }
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        uint64_t count = values[reasons[i].which];
        if (count == 0)
            continue;
        add(line, "%s%" PRIu64 " %s", before, count, count == 1 ? reasons[i].one : reasons[i].many);
        before = ", ";
    }
    if (before[0] == ',')
        add(line, ")");
}

void cache_totals_print(const uint64_t *values)
{
    struct line line = {.used = 0};
    char read[UNIT_TEXT_MAX], own[UNIT_TEXT_MAX], others[UNIT_TEXT_MAX], loaded[UNIT_TEXT_MAX],
        past[UNIT_TEXT_MAX];
    uint64_t served = values[CACHE_TOTAL_SERVED];
    /* What was read ahead and never wanted came from somewhere, too, but was not read. */
    uint64_t from_files = least(values[CACHE_TOTAL_LOADED], served);
    uint64_t from_others = least(values[CACHE_TOTAL_REMOTE], served - from_files);
    uint64_t bypassed = values[CACHE_TOTAL_FALLBACK] + values[CACHE_TOTAL_MAPPED_BYTES];
    add(&line, "%s read: %s from this node, %s from others, %s from the file system; ",
        unit_bytes(read, (double)(served + values[CACHE_TOTAL_FALLBACK])),
        unit_bytes(own, (double)(served - from_files - from_others)),
        unit_bytes(others, (double)from_others), unit_bytes(loaded, (double)from_files));
    add(&line, "%s bypassed", bypassed ? unit_bytes(past, (double)bypassed) : "0");
    add_reasons(&line, values);
    fprintf(stderr, "rhinet cache: %s\n", line.text);
}
