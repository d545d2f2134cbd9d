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
    } reasons[] = {{CACHE_TOTAL_CHANGED, "file that changed while it was open",
                    "files that changed while they were open"},
                   {CACHE_TOTAL_NEW, "open of a file that had just changed",
                    "opens of files that had just changed"},
                   {CACHE_TOTAL_WRITTEN, "open of a file that was being written",
                    "opens of files that were being written"},
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

/* What the kernel gave by an open that the cache had no part in is not known: no 0 then. */
static void add_bypassed(struct line *line, const uint64_t *values)
{
    char text[UNIT_TEXT_MAX];
    uint64_t known = values[CACHE_TOTAL_FALLBACK] + values[CACHE_TOTAL_MAPPED_BYTES];
    bool is_all = values[CACHE_TOTAL_NEW] + values[CACHE_TOTAL_WRITTEN] == 0;
    if (known > 0)
        add(line, "%s%s", unit_bytes(text, (double)known), is_all ? "" : " and ");
    else if (is_all)
        add(line, "0");
    add(line, "%s bypassed", is_all ? "" : "an unknown amount");
    add_reasons(line, values);
}

void cache_totals_print(const uint64_t *values)
{
    struct line line = {.used = 0};
    char read[UNIT_TEXT_MAX], own[UNIT_TEXT_MAX], others[UNIT_TEXT_MAX], loaded[UNIT_TEXT_MAX];
    uint64_t served = values[CACHE_TOTAL_SERVED];
    /* What was read ahead and never wanted came from somewhere, too, but was not read. */
    uint64_t from_files = least(values[CACHE_TOTAL_LOADED], served);
    uint64_t from_others = least(values[CACHE_TOTAL_REMOTE], served - from_files);
    add(&line, "%s read: %s from this node, %s from others, %s from the file system; ",
        unit_bytes(read, (double)(served + values[CACHE_TOTAL_FALLBACK])),
        unit_bytes(own, (double)(served - from_files - from_others)),
        unit_bytes(others, (double)from_others), unit_bytes(loaded, (double)from_files));
    add_bypassed(&line, values);
    fprintf(stderr, "rhinet cache: %s\n", line.text);
}
