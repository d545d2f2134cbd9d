/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim thesis`: the thesis's figures beside the simulated ones.
 */
#include "experiment/thesis/thesis.h"

#include "base/error.h"
#include "cli/json_put.h"
#include "cli/plot.h"
#include "cli/route/route.h"
#include "cli/sim/sim.h"
#include "cli/sim/sweep.h"
#include "cli/table.h"
#include "experiment/experiment.h"
#include "experiment/thesis/what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct table_column columns[] = {
    {"id", false, 0},       {"what", false, 2},  {"thesis", true, 0},
    {"simulated", true, 0}, {"unit", false, 1},  {"class", false, 0},
    {"error", true, 0},     {"holds", false, 0}, {"is", false, 1},
};

static void number_cell(struct table *table, double value)
{
    if (isnan(value))
        table_cell(table, "-");
    else
        table_cell(table, fabs(value) < 100 ? "%.3f" : "%.1f", value);
}

static const char *verdict(const struct thesis_result *result)
{
    if (result->row->kind == THESIS_FOUND || result->row->kind == THESIS_ABSENT)
        return "-"; /* there is nothing to compare */
    return !result->is_simulated ? "not yet" : result->holds ? "yes" : "NO";
}

/* What the figure is worth. */
static const char *worth(const struct thesis_row *row, char *text, size_t size)
{
    if (thesis_follows(row))
        snprintf(text, size, "from %s", thesis_follows(row));
    else
        snprintf(text, size, "%s",
                 row->kind == THESIS_ABSENT  ? "-"
                 : row->kind == THESIS_FOUND ? "unmeasured"
                 : thesis_is_prediction(row) ? "predicted"
                 : row->class == 'C'         ? "calibrated"
                                             : "constant");
    return text;
}

static void report_text(const struct thesis_report *report)
{
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    uint32_t held = 0, simulated = 0, found = 0, absent = 0, predicted = 0, right = 0;
    char text[32];
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
        table_cell(table, "%s", verdict(result));
        table_cell(table, "%s", worth(result->row, text, sizeof(text)));
        predicted += result->is_simulated && thesis_is_prediction(result->row);
        right += result->is_simulated && thesis_is_prediction(result->row) && result->holds;
        simulated += result->is_simulated;
        held += result->is_simulated && result->holds;
        found += result->row->kind == THESIS_FOUND;
        absent += result->row->kind == THESIS_ABSENT;
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
    printf("%u rows, %u simulated, %u of them hold", report->result_count, simulated, held);
    if (predicted > 0)
        printf("; %u are predicted by the model, of which %u hold", predicted, right);
    if (found > 0)
        printf("; %u were never measured", found);
    if (absent > 0)
        printf("; %u cannot be simulated: the row says why", absent);
    printf("\n");
}

static const char *status_name(const struct thesis_result *result)
{
    if (result->row->kind == THESIS_FOUND)
        return "prediction";
    if (result->row->kind == THESIS_ABSENT)
        return "not simulated";
    return result->is_simulated ? "simulated" : "not yet";
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
        char text[32], class[2] = {result->row->class, '\0'};
        json_t *row = json_object();
        json_put_format(row, "thesis 1");
        json_put_text(row, "id", result->row->id);
        json_put_text(row, "group", result->row->group);
        json_put_text(row, "what", result->row->what);
        real_or_null(row, "thesis", result->row->thesis);
        real_or_null(row, "simulated", result->simulated);
        json_put_text(row, "unit", result->row->unit);
        json_put_text(row, "class", class);
        real_or_null(row, "error_percent", result->error_percent);
        json_object_set_new(row, "holds",
                            result->is_simulated && result->row->kind != THESIS_FOUND
                                ? json_boolean(result->holds)
                                : json_null());
        json_put_text(row, "status", status_name(result));
        json_put_text(row, "is", worth(result->row, text, sizeof(text)));
        json_dumpf(row, out, JSON_COMPACT);
        fputc('\n', out);
        json_decref(row);
    }
    return route_output_close(out, path, 0);
}

/* All curves of one figure into DIR/FIGURE.svg. */
static int figure_plot(const struct thesis_report *report, const char *group, const char *folder)
{
    struct plot plot = {.title = group, .is_x_log = true};
    char path[4096];
    for (uint32_t i = 0; i < report->curve_count; i++) {
        const struct thesis_curve *curve = &report->curves[i];
        if (strcmp(curve->group, group) != 0 || plot.line_count == PLOT_LINES_MAX)
            continue;
        plot.x_label = strcmp(curve->x_unit, "B") == 0 ? "size, B" : curve->x_unit;
        plot.y_label = curve->y_unit;
        plot.lines[plot.line_count++] = (struct plot_line){curve->name, curve->x, curve->y,
                                                           curve->count, NULL};
    }
    snprintf(path, sizeof(path), "%s/%s.svg", folder, group);
    return plot_write(&plot, path);
}

static int figures_plot(const struct thesis_report *report, const char *folder)
{
    int status = plot_folder_make(folder);
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

/* What was asked for. */
struct wish {
    struct thesis_hosts hosts;
    const char *which, *json, *plot;
    const char *traces[3]; /* time line, packets, pcap */
    struct cli_list platforms, set;
    struct sweep sweep;
};

static struct wish wishes = {.which = "all"};
static const struct cli_option options[] = {
    CLI_FILE("json", "FILE", &wishes.json, "one JSON object a row, - for stdout"),
    CLI_FILE("plot", "FOLDER", &wishes.plot,
             "a picture of each figure, of a sweep of each row, as SVG"),
    SIM_PLATFORM_OPTION(&wishes.platforms),
    SIM_SWEEP_OPTIONS(&wishes.sweep),
    CLI_LIST("set", "NAME=VALUE", &wishes.set, "change a constant"),
    CLI_FILE("timeline", "FILE", &wishes.traces[0], "what each module did when, for Perfetto"),
    CLI_FILE("packets", "FILE", &wishes.traces[1], "each packet of it, a line each"),
    CLI_FILE("pcap", "FILE", &wishes.traces[2], "the same for Wireshark and tcpdump"),
    CLI_OPTIONS_END,
};

/* Opens the files that were asked for, writes one experiment's trace into them, and closes them. */
static int traces_write(const struct wish *wish)
{
    FILE *files[3] = {NULL};
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++) {
        files[i] = wish->traces[i] ? route_output_open(wish->traces[i]) : NULL;
        status = wish->traces[i] && !files[i];
    }
    struct trace_files traced = {.timeline = files[0], .packets = files[1], .pcap = files[2]};
    struct trace *trace = status == 0 ? trace_open(&traced) : NULL;
    if (status == 0 && (!trace || thesis_trace(trace, wish->which, &wish->hosts) < 0))
        status = cli_fail();
    if (trace_close(trace) < 0 && status == 0)
        status = cli_fail();
    for (int i = 0; i < 3; i++) {
        if (files[i])
            status = route_output_close(files[i], wish->traces[i], status);
    }
    return status;
}

static void tell(const char *part, size_t number, size_t count)
{
    cli_progress("%zu of %zu: %s", number, count, part);
}

static int report_make(const struct wish *wish)
{
    struct thesis_report *report = calloc(1, sizeof(*report));
    int status = 0;
    if (!report)
        error_no_memory("a report");
    if (!report || thesis_run(report, wish->which, &wish->hosts, tell) < 0)
        status = cli_fail();
    cli_progress_end();
    if (status == 0 && (!wish->json || strcmp(wish->json, "-") != 0))
        report_text(report);
    if (status == 0 && wish->json)
        status = report_json(report, wish->json);
    if (status == 0 && wish->plot)
        status = figures_plot(report, wish->plot);
    free(report);
    return status;
}

/* Statements are figures, too: 1 where they hold. */
static int sweep_measure(void *context, const struct sweep_point *point, FILE *out)
{
    const struct wish *wish = context;
    struct thesis_hosts hosts = {.le = point->constants, .hesl = wish->hosts.hesl};
    struct thesis_report *report = calloc(1, sizeof(*report));
    int status = sweep_change(point, &hosts.hesl);
    if (!report)
        error_no_memory("a report");
    if (status != 0 || !report || thesis_run(report, wish->which, &hosts, NULL) < 0) {
        free(report);
        return cli_fail();
    }
    for (uint32_t i = 0; i < report->result_count; i++) {
        const struct thesis_result *result = &report->results[i];
        bool is_statement = result->row->kind == THESIS_ORDER;
        if (result->is_simulated)
            sweep_put(out, result->row->id, is_statement ? "holds" : result->row->unit,
                      is_statement ? result->holds : result->simulated);
    }
    free(report);
    return 0;
}

static int sweep_make(struct wish *wish)
{
    char what[64];
    const struct sweep_job job = {&wish->hosts.le, 1, sweep_measure, wish};
    const struct sweep_outputs outputs = {what, wish->json, wish->plot};
    snprintf(what, sizeof(what), "sim thesis %s", wish->which);
    int status = sweep_open(&wish->sweep);
    if (status == 0)
        status = sweep_outputs_check(&wish->sweep, &outputs);
    if (status == 0)
        status = sweep_run(&wish->sweep, &job);
    if (status == 0)
        status = sweep_report(&wish->sweep, &outputs);
    sweep_close(&wish->sweep);
    return status;
}

/* "all", and the id of each row. */
static const char *part_name(size_t index)
{
    return index == 0 ? "all" : thesis_rows[index - 1].id;
}

static int run(int count, char **words)
{
    if (count > 0)
        wishes.which = words[0];
    if (!thesis_knows(wishes.which))
        return cli_usage_error("PART is all, a table or figure such as table-6.2, or a row's id, "
                               "not '%s'",
                               wishes.which);
    int status = what_if_hosts(&wishes.hosts, &wishes.platforms, &wishes.set);
    if (status == 0)
        status = sweep_is_wanted(&wishes.sweep) ? sweep_make(&wishes) : report_make(&wishes);
    if (status == 0 && (wishes.traces[0] || wishes.traces[1] || wishes.traces[2]))
        status = traces_write(&wishes);
    return status;
}

const struct cli_command cli_bench_thesis = {
    .name = "thesis",
    .help = "the thesis's figures beside ours: all, or a part such as table-6.2, fig-6.1 or P3",
    .operands = "[PART]",
    .options = options,
    .shared = sim_what_if_options,
    .suggest = part_name,
    .run = run};
