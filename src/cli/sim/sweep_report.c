/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a sweep has found: table, JSON, CSV, pictures.
 */
#include "cli/sim/sweep.h"

#include "cli/json_put.h"
#include "cli/plot.h"
#include "cli/route/route.h"
#include "cli/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Student's t for 95 % on both sides, by degrees of freedom. */
static double student(size_t freedom)
{
    static const double table[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                   2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                                   2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                                   2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    size_t count = sizeof(table) / sizeof(table[0]);
    return freedom < count ? table[freedom] : 1.960 + 2.46 / (double)freedom;
}

struct sweep_estimate sweep_estimate(const struct sweep *sweep, size_t point, size_t metric)
{
    struct sweep_estimate sum = {.mean = NAN, .half = NAN, .least = NAN, .most = NAN};
    double total = 0, squares = 0;
    const double *first = &sweep->found[point * sweep->seeds * SWEEP_METRICS_MAX + metric];
    for (size_t i = 0; i < sweep->seeds; i++) {
        double value = first[i * SWEEP_METRICS_MAX];
        if (isnan(value))
            continue;
        sum.count++;
        total += value;
        sum.least = fmin(sum.least, value); /* fmin passes NAN over */
        sum.most = fmax(sum.most, value);
    }
    if (sum.count == 0)
        return sum;
    sum.mean = total / (double)sum.count;
    for (size_t i = 0; i < sweep->seeds; i++) {
        double value = first[i * SWEEP_METRICS_MAX];
        squares += isnan(value) ? 0 : (value - sum.mean) * (value - sum.mean);
    }
    size_t freedom = sum.count - 1;
    if (freedom > 0)
        sum.half = student(freedom) * sqrt(squares / (double)freedom / (double)sum.count);
    return sum;
}

#define VALUE_TEXT 32

/* The value of an axis: constants are whole numbers, of which no digit is lost. */
static const char *value_text(const struct sweep *sweep, size_t point, size_t axis, char *text)
{
    bool is_own = sweep->axes[axis].constant == SWEEP_OWN;
    snprintf(text, VALUE_TEXT, is_own ? "%g" : "%.0f", sweep_value(sweep, point, axis));
    return text;
}

/* ---- Table ----------------------------------------------------------------------------------- */

static void report_text(const struct sweep *sweep)
{
    struct table_column columns[SWEEP_AXES_MAX + 4];
    size_t count = 0;
    for (size_t i = 0; i < sweep->axis_count; i++)
        columns[count++] = (struct table_column){sweep->axes[i].name, true, 0};
    columns[count++] = (struct table_column){"figure", false, 0};
    columns[count++] = (struct table_column){"value", true, 0};
    if (sweep->seeds > 1)
        columns[count++] = (struct table_column){"95 %", true, 0};
    columns[count++] = (struct table_column){"unit", false, 1};
    struct table *table = table_create(columns, count);
    char text[VALUE_TEXT];
    for (size_t point = 0; point < sweep->point_count; point++) {
        for (size_t metric = 0; metric < sweep->metric_count; metric++) {
            struct sweep_estimate value = sweep_estimate(sweep, point, metric);
            if (value.count == 0)
                continue;
            for (size_t i = 0; i < sweep->axis_count; i++)
                table_cell(table, "%s", value_text(sweep, point, i, text));
            table_cell(table, "%s", sweep->metrics[metric].name);
            table_cell(table, "%.6g", value.mean);
            if (sweep->seeds > 1)
                table_cell(table, isnan(value.half) ? "-" : "+-%.2g", value.half);
            table_cell(table, "%s", sweep->metrics[metric].unit);
        }
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *point_json(const struct sweep *sweep, size_t point)
{
    json_t *row = json_object(), *at = json_object(), *figures = json_object();
    for (size_t i = 0; i < sweep->axis_count; i++)
        json_put_real(at, sweep->axes[i].name, sweep_value(sweep, point, i));
    for (size_t metric = 0; metric < sweep->metric_count; metric++) {
        struct sweep_estimate value = sweep_estimate(sweep, point, metric);
        json_t *one = json_object();
        if (value.count == 0) {
            json_decref(one);
            continue;
        }
        json_put_real(one, "mean", value.mean);
        json_object_set_new(one, "half_95",
                            isnan(value.half) ? json_null() : json_real(value.half));
        json_put_real(one, "least", value.least);
        json_put_real(one, "most", value.most);
        json_put_number(one, "seeds", value.count);
        json_object_set_new(figures, sweep->metrics[metric].name, one);
    }
    json_object_set_new(row, "at", at);
    json_object_set_new(row, "figures", figures);
    return row;
}

static int report_json(const struct sweep *sweep, const struct sweep_outputs *outputs)
{
    FILE *out = route_output_open(outputs->json);
    if (!out)
        return 1;
    json_t *object = json_object(), *axes = json_array(), *figures = json_array();
    json_t *points = json_array();
    json_put_format(object, "sweep 1");
    json_put_text(object, "what", outputs->what);
    json_put_number(object, "seeds", sweep->seeds);
    for (size_t i = 0; i < sweep->axis_count; i++)
        json_array_append_new(
            axes, json_pack("{s:s,s:s}", "name", sweep->axes[i].name, "unit", sweep->axes[i].unit));
    for (size_t i = 0; i < sweep->metric_count; i++)
        json_array_append_new(figures, json_pack("{s:s,s:s}", "name", sweep->metrics[i].name,
                                                 "unit", sweep->metrics[i].unit));
    for (size_t i = 0; i < sweep->point_count; i++)
        json_array_append_new(points, point_json(sweep, i));
    json_object_set_new(object, "axes", axes);
    json_object_set_new(object, "figures", figures);
    json_object_set_new(object, "points", points);
    int failed = json_dumpf(object, out, JSON_INDENT(1)) < 0;
    fputc('\n', out);
    json_decref(object);
    return route_output_close(out, outputs->json, failed);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static int report_csv(const struct sweep *sweep)
{
    char text[VALUE_TEXT];
    FILE *out = route_output_open(sweep->csv);
    if (!out)
        return 1;
    for (size_t i = 0; i < sweep->axis_count; i++)
        fprintf(out, "%s,", sweep->axes[i].name);
    fputs("figure,unit,mean,half_95,least,most,seeds\n", out);
    for (size_t point = 0; point < sweep->point_count; point++) {
        for (size_t metric = 0; metric < sweep->metric_count; metric++) {
            struct sweep_estimate value = sweep_estimate(sweep, point, metric);
            if (value.count == 0)
                continue;
            for (size_t i = 0; i < sweep->axis_count; i++)
                fprintf(out, "%s,", value_text(sweep, point, i, text));
            fprintf(out, "%s,%s,%.10g,", sweep->metrics[metric].name, sweep->metrics[metric].unit,
                    value.mean);
            fprintf(out, isnan(value.half) ? "-" : "%.10g", value.half);
            fprintf(out, ",%.10g,%.10g,%zu\n", value.least, value.most, value.count);
        }
    }
    return route_output_close(out, sweep->csv, 0);
}

/* ---- Pictures -------------------------------------------------------------------------------- */

/* One line of a picture: the axis that is drawn along changes, the others stay. */
struct drawn {
    char name[128];
    double x[SWEEP_VALUES_MAX], y[SWEEP_VALUES_MAX], half[SWEEP_VALUES_MAX];
};

/* The first point of line `line`, and how far the next of it is. */
static size_t line_first(const struct sweep *sweep, size_t line, size_t along, size_t *stride)
{
    *stride = 1;
    for (size_t i = sweep->axis_count; i-- > along + 1;)
        *stride *= sweep->axes[i].count;
    return line / *stride * *stride * sweep->axes[along].count + line % *stride;
}

static void line_name(const struct sweep *sweep, size_t point, size_t along, struct drawn *drawn)
{
    size_t used = 0;
    char text[VALUE_TEXT];
    snprintf(drawn->name, sizeof(drawn->name), "%s", sweep->axis_count == 1 ? "mean" : "");
    for (size_t i = 0; i < sweep->axis_count && used < sizeof(drawn->name); i++) {
        if (i != along)
            used += (size_t)snprintf(drawn->name + used, sizeof(drawn->name) - used, "%s%s %s",
                                     used ? ", " : "", sweep->axes[i].name,
                                     value_text(sweep, point, i, text));
    }
}

static int metric_plot(const struct sweep *sweep, size_t metric, size_t along, const char *folder)
{
    struct drawn drawn[PLOT_LINES_MAX];
    char path[4096], x_label[96], y_label[96];
    const struct sweep_axis *axis = &sweep->axes[along];
    struct plot plot = {
        .title = sweep->metrics[metric].name, .x_label = x_label, .y_label = y_label};
    size_t lines = sweep->point_count / axis->count;
    for (size_t line = 0; line < lines && line < PLOT_LINES_MAX; line++) {
        size_t stride, first = line_first(sweep, line, along, &stride);
        uint32_t count = 0;
        line_name(sweep, first, along, &drawn[line]);
        for (size_t i = 0; i < axis->count; i++) {
            struct sweep_estimate value = sweep_estimate(sweep, first + i * stride, metric);
            if (value.count == 0)
                continue;
            drawn[line].x[count] = axis->values[i];
            drawn[line].y[count] = value.mean;
            drawn[line].half[count++] = isnan(value.half) ? 0 : value.half;
        }
        plot.lines[plot.line_count++] = (struct plot_line){
            drawn[line].name, drawn[line].x, drawn[line].y, count,
            sweep->seeds > 1 ? drawn[line].half : NULL};
    }
    snprintf(x_label, sizeof(x_label), "%s%s%s", axis->name, axis->unit[0] ? ", " : "", axis->unit);
    snprintf(y_label, sizeof(y_label), "%s", sweep->metrics[metric].unit);
    snprintf(path, sizeof(path), "%s/%s.svg", folder, sweep->metrics[metric].name);
    return plot_write(&plot, path);
}

/* Along the command's own axis, or the first. */
static int report_plot(const struct sweep *sweep, const char *folder)
{
    size_t along = 0;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (sweep->axes[i].constant == SWEEP_OWN)
            along = i;
    }
    size_t lines = sweep->point_count / sweep->axes[along].count;
    if (lines > PLOT_LINES_MAX)
        cli_say("each picture has the first %d of %zu lines; JSON and CSV have all of them",
                PLOT_LINES_MAX, lines);
    int status = plot_folder_make(folder);
    for (size_t i = 0; i < sweep->metric_count && status == 0; i++)
        status = metric_plot(sweep, i, along, folder);
    return status;
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int sweep_outputs_check(const struct sweep *sweep, const struct sweep_outputs *outputs)
{
    if (is_stdout(outputs->json) && is_stdout(sweep->csv))
        return cli_usage_error("--json - and --csv - cannot share the output: name a file");
    if (outputs->plot && sweep->axis_count == 0)
        return cli_usage_error("a picture needs --sweep, or more than one load");
    return 0;
}

int sweep_report(const struct sweep *sweep, const struct sweep_outputs *outputs)
{
    int status = 0;
    if (!is_stdout(outputs->json) && !is_stdout(sweep->csv))
        report_text(sweep);
    if (outputs->json)
        status = report_json(sweep, outputs);
    if (status == 0 && sweep->csv)
        status = report_csv(sweep);
    return status == 0 && outputs->plot ? report_plot(sweep, outputs->plot) : status;
}
