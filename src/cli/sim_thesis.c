/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim thesis`: the thesis's figures beside the simulated ones.
 */
#include "sim/thesis/thesis.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/json_put.h"
#include "cli/plot.h"
#include "cli/route.h"
#include "cli/sim.h"
#include "cli/table.h"
#include "experiment/experiment.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { JSON = 256, PLOT, SET, TRACE };

static const struct option long_options[] = {
    {"json", required_argument, NULL, JSON},
    {"plot", required_argument, NULL, PLOT},
    {"set", required_argument, NULL, SET},
    {"timeline", required_argument, NULL, TRACE},
    {NULL, 0, NULL, 0},
};

static const struct table_column columns[] = {
    {"id", false, 0},   {"what", false, 2},  {"thesis", true, 0}, {"simulated", true, 0},
    {"unit", false, 1}, {"class", false, 0}, {"error", true, 0},  {"holds", false, 0},
};

static void number_cell(struct table *table, double value)
{
    if (isnan(value))
        table_cell(table, "-");
    else
        table_cell(table, fabs(value) < 100 ? "%.3f" : "%.1f", value);
}

static void report_text(const struct thesis_report *report)
{
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    uint32_t held = 0, simulated = 0;
    for (uint32_t i = 0; i < report->result_count; i++) {
        const struct thesis_result *result = &report->results[i];
        table_cell(table, "%s", result->row->id);
        table_cell(table, "%s", result->row->what);
        number_cell(table, result->row->thesis);
        number_cell(table, result->simulated);
        table_cell(table, "%s", result->row->unit);
        table_cell(table, "%c", result->row->class);
        if (isnan(result->error_percent))
            table_cell(table, "-");
        else
            table_cell(table, "%+.2f %%", result->error_percent);
        table_cell(table, "%s", !result->is_simulated ? "not yet" : result->holds ? "yes" : "NO");
        simulated += result->is_simulated;
        held += result->is_simulated && result->holds;
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
    printf("%u rows, %u simulated, %u of them hold\n", report->result_count, simulated, held);
}

static void real_or_null(json_t *object, const char *name, double value)
{
    json_object_set_new(object, name, isnan(value) ? json_null() : json_real(value));
}

static int report_json(const struct thesis_report *report, const char *path)
{
    FILE *out = route_output_open(path);
    if (!out)
        return 1;
    for (uint32_t i = 0; i < report->result_count; i++) {
        const struct thesis_result *result = &report->results[i];
        char class[2] = {result->row->class, '\0'};
        json_t *row = json_object();
        json_put_text(row, "id", result->row->id);
        json_put_text(row, "group", result->row->group);
        json_put_text(row, "what", result->row->what);
        real_or_null(row, "thesis", result->row->thesis);
        real_or_null(row, "simulated", result->simulated);
        json_put_text(row, "unit", result->row->unit);
        json_put_text(row, "class", class);
        real_or_null(row, "error_percent", result->error_percent);
        json_object_set_new(row, "holds",
                            result->is_simulated ? json_boolean(result->holds) : json_null());
        json_put_text(row, "status", result->is_simulated ? "simulated" : "not yet");
        json_dumpf(row, out, JSON_COMPACT);
        fputc('\n', out);
        json_decref(row);
    }
    return route_output_close(out, path, 0);
}

/* All curves of one figure into DIR/FIGURE.svg. */
static int figure_plot(const struct thesis_report *report, const char *group, const char *folder)
{
    struct plot plot = {.title = group, .x_label = "size, B", .is_x_log = true};
    char path[4096], label[64];
    for (uint32_t i = 0; i < report->curve_count; i++) {
        const struct thesis_curve *curve = &report->curves[i];
        if (strcmp(curve->group, group) != 0 || plot.line_count == PLOT_LINES_MAX)
            continue;
        snprintf(label, sizeof(label), "%s", curve->y_unit);
        if (strcmp(curve->x_unit, "B") != 0)
            plot.x_label = curve->x_unit;
        plot.lines[plot.line_count++] = (struct plot_line){curve->name, curve->x, curve->y,
                                                           curve->count};
    }
    plot.y_label = label;
    snprintf(path, sizeof(path), "%s/%s.svg", folder, group);
    return plot_write(&plot, path);
}

static int figures_plot(const struct thesis_report *report, const char *folder)
{
    if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
        fprintf(stderr, "rhinet sim: cannot make %s: %s\n", folder, strerror(errno));
        return 1;
    }
    int status = 0;
    for (uint32_t i = 0; i < report->curve_count && status == 0; i++) {
        const char *group = report->curves[i].group;
        bool is_first = true;
        for (uint32_t k = 0; k < i; k++)
            is_first = is_first && strcmp(report->curves[k].group, group) != 0;
        if (is_first)
            status = figure_plot(report, group, folder);
    }
    return status;
}

static int trace_write(const char *path, const struct sim_constants *constants)
{
    FILE *out = route_output_open(path);
    if (!out)
        return 1;
    struct trace *trace = trace_open(out);
    int result = trace ? thesis_trace(trace, constants) : -ENOMEM;
    if (trace && trace_close(trace) < 0)
        result = -EIO;
    return route_output_close(out, path, result < 0 ? sim_fail() : 0);
}

int cli_sim_thesis(int argc, char **argv)
{
    struct sim_constants constants = sim_constants_default();
    const char *json = NULL, *plot = NULL, *which = "all", *timeline = NULL;
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == JSON)
            json = optarg;
        else if (option == PLOT)
            plot = optarg;
        else if (option == TRACE)
            timeline = optarg;
        else if (option != SET)
            return cli_usage_error("sim", "thesis does not understand its options");
        else if (sim_constants_set(&constants, optarg) < 0)
            return sim_fail();
    }
    if (argc - optind == 1)
        which = argv[optind];
    if (argc - optind > 1 || !thesis_knows(which))
        return cli_usage_error("sim",
                               "thesis takes all, a table or figure such as table-6.2, or a "
                               "row's id, not '%s'",
                               argv[argc - 1]);
    struct thesis_report *report = calloc(1, sizeof(*report));
    int status = 0;
    if (!report || thesis_run(report, which, &constants, experiment_parts) < 0)
        status = sim_fail();
    if (status == 0 && (!json || strcmp(json, "-") != 0))
        report_text(report);
    if (status == 0 && json)
        status = report_json(report, json);
    if (status == 0 && plot)
        status = figures_plot(report, plot);
    if (status == 0 && timeline)
        status = trace_write(timeline, &constants);
    free(report);
    return status;
}
