/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was measured, as a table for people or one JSON object per line for programs.
 */
#include "bench.h"
#include "cli/json_put.h"
#include "cli/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum verdict { VERDICT_NONE, VERDICT_OK, VERDICT_MISSED, VERDICT_UNSURE };

static const char *const verdict_text[] = {"", "ok", "missed", "too few good rounds"};

static enum verdict judge(const struct bench_case *which, const struct bench_figure *figure,
                          const struct bench_round *median)
{
    double ratio = median->value / median->raw;
    if (which->bound == BENCH_NO_BOUND)
        return VERDICT_NONE;
    if (figure->round_count < BENCH_ROUNDS_MIN)
        return VERDICT_UNSURE;
    bool is_met = which->bound == BENCH_RATIO_AT_MOST    ? ratio <= which->bound_value
                  : which->bound == BENCH_RATIO_AT_LEAST ? ratio >= which->bound_value
                                                         : median->value <= which->bound_value;
    return is_met ? VERDICT_OK : VERDICT_MISSED;
}

static void bound_text(const struct bench_case *which, char *text, size_t text_size)
{
    switch (which->bound) {
    case BENCH_RATIO_AT_MOST:
        snprintf(text, text_size, "<= %.2f x raw", which->bound_value);
        return;
    case BENCH_RATIO_AT_LEAST:
        snprintf(text, text_size, ">= %.2f x raw", which->bound_value);
        return;
    case BENCH_VALUE_AT_MOST:
        snprintf(text, text_size, "<= %g %s", which->bound_value, which->unit);
        return;
    case BENCH_NO_BOUND:
        text[0] = '\0';
    }
}

/* ---- Table ---------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {.title = "NAME"},
    {.title = "VALUE", .is_number = true},
    {.title = "UNIT"},
    {.title = "RAW", .is_number = true, .rank = 1},
    {.title = "RATIO", .is_number = true},
    {.title = "MUST REACH", .rank = 2},
    {.title = ""},
    {.title = "LINE TRIP", .is_number = true, .rank = 3},
    {.title = "ROUNDS", .is_number = true, .rank = 4},
    {.title = "DISCARDED", .is_number = true, .rank = 5},
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

static void add_row(struct table *table, const struct bench_case *which,
                    const struct bench_figure *figure)
{
    struct bench_round median;
    char bound[32];
    bool is_there = bench_figure_median(figure, &median);
    bound_text(which, bound, sizeof(bound));
    table_cell(table, "%s", which->name);
    table_cell(table, is_there ? "%.1f" : "-", median.value);
    table_cell(table, "%s", which->unit);
    table_cell(table, is_there ? "%.1f" : "-", median.raw);
    table_cell(table, is_there ? "%.2f" : "-", median.value / median.raw);
    table_cell(table, "%s", bound);
    table_cell(table, "%s",
               is_there ? verdict_text[judge(which, figure, &median)] : "not measured");
    table_cell(table, is_there && median.trip > 0 ? "%.0f ns" : "-", median.trip);
    table_cell(table, "%u", figure->round_count);
    table_cell(table, "%u", figure->discarded_count);
}

static int write_table(const struct bench_sheet *sheet)
{
    struct table *table = table_create(columns, COLUMN_COUNT);
    for (int i = 0; i < bench_case_count; i++) {
        if (sheet->wishes.is_chosen[i])
            add_row(table, &bench_cases[i], &sheet->figure[i]);
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
    return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Four digits are more than any of this is worth, and easier to read. */
static double rounded(double value)
{
    double scale = value > 0 ? pow(10, 3 - floor(log10(value))) : 1;
    return round(value * scale) / scale;
}

static json_t *make_object(const struct bench_case *which, const struct bench_figure *figure)
{
    struct bench_round median;
    char bound[32];
    json_t *object = json_object();
    bound_text(which, bound, sizeof(bound));
    json_put_text(object, "name", which->name);
    if (bench_figure_median(figure, &median)) {
        enum verdict verdict = judge(which, figure, &median);
        json_put_real(object, "value", rounded(median.value));
        json_put_text(object, "unit", which->unit);
        json_put_real(object, "raw", rounded(median.raw));
        json_put_real(object, "ratio", rounded(median.value / median.raw));
        if (median.trip > 0)
            json_put_real(object, "line_trip_ns", rounded(median.trip));
        if (verdict == VERDICT_OK || verdict == VERDICT_MISSED)
            json_put_flag(object, "ok", verdict == VERDICT_OK);
    }
    if (bound[0] != '\0')
        json_put_text(object, "target", bound);
    json_put_number(object, "rounds", figure->round_count);
    json_put_number(object, "discarded", figure->discarded_count);
    if (figure->one_core_count > 0)
        json_put_number(object, "discarded_one_core", figure->one_core_count);
    return object;
}

static int write_json(const struct bench_sheet *sheet, FILE *out)
{
    for (int i = 0; i < bench_case_count; i++) {
        if (!sheet->wishes.is_chosen[i])
            continue;
        json_t *object = make_object(&bench_cases[i], &sheet->figure[i]);
        json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
        fputc('\n', out);
        json_decref(object);
    }
    return ferror(out) ? -EIO : 0;
}

int bench_report_write(const struct bench_report *report)
{
    if (!report->json_path)
        return write_table(report->sheet);
    if (strcmp(report->json_path, "-") == 0)
        return write_json(report->sheet, stdout);
    write_table(report->sheet);
    FILE *out = fopen(report->json_path, "we");
    int result = out ? write_json(report->sheet, out) : -errno;
    if (out && fclose(out) != 0 && result == 0)
        result = -errno;
    if (result < 0)
        fprintf(stderr, "rhinet bench: %s: %s\n", report->json_path, strerror(-result));
    return result;
}
