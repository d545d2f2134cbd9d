/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route check`: anybody's tables against the fabric. `rhinet route compare`: all algorithms
 * on one fabric, in one table.
 */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/json_put.h"
#include "cli/route/route.h"
#include "cli/table.h"

#include <string.h>

struct check_arguments {
    const char *table, *paths, *json; /* one of table and paths is NULL */
    struct check_options options;
};

static struct check_arguments wishes;
static const char *const lanes[] = {"one", "hop", "branch", NULL}; /* enum check_lanes */

static const struct cli_option check_options[] = {
    CLI_FILE("paths", "FILE", &wishes.paths, "check paths for each pair instead of a table"),
    CLI_CHOICE("lanes", "RULE", lanes, &wishes.options.lanes, "one, hop or branch"),
    CLI_NUMBER("lane-limit", "N", 1, CHECK_LANES_MAX, &wishes.options.lane_limit,
               "virtual channels that there are; more fail the check"),
    CLI_FILE("json", "FILE", &wishes.json, "the report as JSON, - for stdout"),
    CLI_OPTIONS_END,
};

/* What was found out. */
struct check_result {
    struct check_report report;
    double throughput[TRAFFIC_CLASSES];
    uint32_t class_count; /* of throughput; 0: not known */
};

/* Throughput of tables that passed or not, as far as they lead anywhere. */
static int throughput_find(struct route_input *input, const struct lft_dump *dump,
                           struct check_result *check)
{
    struct lft *lft = NULL;
    struct load *load = NULL;
    int result = lft_import(&lft, input->net, dump);
    if (result == 0)
        result = load_create(&load, input->traffic);
    if (result == 0)
        result = load_of_table(load, lft);
    for (uint32_t k = 0; result == 0 && k < input->traffic->class_count; k++)
        check->throughput[check->class_count++] = load_throughput(load, k);
    load_destroy(load);
    lft_destroy(lft);
    return result;
}

static int table_check(struct route_input *input, const struct check_arguments *arguments,
                       struct check_result *check)
{
    struct lft_dump dump = {0};
    int result = lft_dump_read(&dump, input->fabric, arguments->table);
    if (result == 0)
        result = check_tables(input->fabric, &dump, &arguments->options, &check->report);
    if (result == 0)
        result = throughput_find(input, &dump, check);
    lft_dump_free(&dump);
    return result;
}

static int paths_check(struct route_input *input, const struct check_arguments *arguments,
                       struct check_result *check)
{
    struct lines source;
    int result = lines_open(&source, arguments->paths);
    if (result < 0)
        return result;
    result = check_paths(input->fabric, &source, &arguments->options, &check->report);
    lines_close(&source);
    return result;
}

static const char *class_name(const struct check_result *check, uint32_t class)
{
    return check->class_count < 2 ? "all" : class == 0 ? "inside" : "between";
}

static int check_print(const struct route_input *input, const struct check_result *check,
                       const char *json)
{
    if (json) {
        json_t *object = route_check_json(&check->report), *throughput = json_object();
        json_put_format(object, "check 1");
        route_cut_json(object, &input->cut);
        for (uint32_t k = 0; k < check->class_count; k++)
            json_put_real(throughput, class_name(check, k), check->throughput[k]);
        json_object_set_new(object, "throughput", throughput);
        return route_json_write(object, json);
    }
    route_check_text(stdout, &check->report);
    for (uint32_t k = 0; k < check->class_count; k++)
        printf("throughput%s%s: %.4f\n", check->class_count < 2 ? "" : " ",
               check->class_count < 2 ? ""
               : k == 0               ? "inside groups"
                                      : "between groups",
               check->throughput[k]);
    return 0;
}

static int check_run(int count, char **words)
{
    struct route_input input;
    struct check_result check = {.class_count = 0};
    wishes.table = words[1];
    if ((count == 2) == (wishes.paths != NULL))
        return cli_usage_error("either LFT or --paths FILE is expected");
    int result = route_input_open(&input, words[0], &route_view);
    if (result != 0)
        return result;
    cli_progress("check");
    result = wishes.paths ? paths_check(&input, &wishes, &check)
                          : table_check(&input, &wishes, &check);
    cli_progress_end();
    if (result < 0)
        result = cli_fail();
    else if (check_print(&input, &check, wishes.json) != 0 || !check_passed(&check.report))
        result = 1;
    route_input_close(&input);
    return result;
}

const struct cli_command cli_route_check = {
    .name = "check",
    .help = "is anybody's table complete and free of deadlock?",
    .operands = "FABRIC [LFT]",
    .options = check_options,
    .shared = route_view_options,
    .takes_files = true,
    .run = check_run};

/* ---- compare -------------------------------------------------------------------------------- */

static const char *only;
static bool wants_json;
static const struct cli_option compare_options[] = {
    CLI_TEXT("algorithm", "NAME", &only, "only this one", .letter = 'a',
             .suggest = route_algorithm_name),
    CLI_FLAG("json", &wants_json, "print JSON instead of text"),
    CLI_OPTIONS_END,
};

static const struct table_column columns[] = {
    {"algorithm", false, 0}, {"inside/link", true, 0}, {"between/link", true, 0},
    {"lanes", true, 1},      {"hops", true, 2},        {"turns off", true, 3},
    {"deadlock", false, 1},  {"pairs", true, 4},       {"seconds", true, 3},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void row_add(struct table *table, const struct routing *routing,
                    const struct check_report *check)
{
    uint64_t prohibited = 0;
    for (uint32_t s = 0; s < routing->net->switch_count; s++) {
        uint32_t total;
        prohibited += turns_prohibited(routing->turns, s, &total);
    }
    table_cell(table, "%s", routing->algorithm->name);
    table_cell(table, "%.4f", load_throughput(routing->load, 0));
    if (routing->traffic->class_count > 1)
        table_cell(table, "%.4f", load_throughput(routing->load, 1));
    else
        table_cell(table, "-");
    table_cell(table, "%u", check->lanes_used);
    table_cell(table, "%u", check->hops_max);
    table_cell(table, "%llu", (unsigned long long)prohibited);
    table_cell(table, "%s", check->loop_free ? "free" : "POSSIBLE");
    table_cell(table, "%.1f%%",
               check->pairs ? 100.0 * (double)check->pairs_connected / (double)check->pairs : 0.0);
    table_cell(table, "%.3f", routing->turns_seconds + routing->tables_seconds);
}

static void row_json(json_t *rows, const struct routing *routing, const struct check_report *check)
{
    json_t *row = json_object();
    json_put_format(row, "comparison 1");
    json_put_text(row, "algorithm", routing->algorithm->name);
    json_put_real(row, "inside", load_throughput(routing->load, 0));
    if (routing->traffic->class_count > 1)
        json_put_real(row, "between", load_throughput(routing->load, 1));
    json_put_number(row, "virtual_channels", check->lanes_used);
    json_put_number(row, "switches_passed_most", check->hops_max);
    json_put_flag(row, "loop_free", check->loop_free);
    json_put_number(row, "pairs", check->pairs);
    json_put_number(row, "pairs_connected", check->pairs_connected);
    json_put_real(row, "turns_seconds", routing->turns_seconds);
    json_put_real(row, "tables_seconds", routing->tables_seconds);
    json_array_append_new(rows, row);
}

static int routing_check(const struct routing *routing, struct check_report *check)
{
    struct lft_dump dump;
    struct check_options options = route_check_options(routing->algorithm, 0);
    int result = lft_export(&dump, routing->lft);
    if (result == 0)
        result = check_tables(routing->net->fabric, &dump, &options, check);
    lft_dump_free(&dump);
    return result;
}

/* Runs one algorithm; one that cannot do this fabric gets a line that says why. */
static int compare_one(const struct route_input *input, const struct algorithm *algorithm,
                       struct table *table, json_t *rows)
{
    struct routing_options how = {
        .progress = {cli_progress_part, (char *)(uintptr_t)algorithm->name}};
    struct routing *routing;
    struct check_report check;
    cli_progress("%s", algorithm->name);
    int result = routing_create(&routing, input->traffic, algorithm, &how);
    if (result == -ENETUNREACH) {
        cli_progress_end();
        fprintf(stderr, "%s: %s\n", algorithm->name, rh_error_text());
        return 0;
    }
    if (result < 0)
        return result;
    result = routing_check(routing, &check);
    if (result == 0) {
        row_add(table, routing, &check);
        row_json(rows, routing, &check);
    }
    routing_destroy(routing);
    return result;
}

static int compare_run(int count, char **words)
{
    struct route_input input;
    if (only && !algorithm_find(only))
        return cli_fail();
    int result = route_input_open(&input, words[0], &route_view);
    if (result != 0)
        return result;
    struct table *table = table_create(columns, COLUMNS);
    json_t *rows = json_array();
    for (const struct algorithm *at = algorithms; at->name && result == 0; at++) {
        if (!only || strcmp(only, at->name) == 0)
            result = compare_one(&input, at, table, rows);
    }
    cli_progress_end();
    if (result < 0)
        result = cli_fail();
    else if (wants_json)
        json_dumpf(rows, stdout, JSON_INDENT(2));
    else
        table_print(table, stdout, terminal_width());
    json_decref(rows);
    table_destroy(table);
    route_input_close(&input);
    return result;
}

const struct cli_command cli_route_compare = {.name = "compare",
                                              .help = "all algorithms in one table",
                                              .operands = "FABRIC",
                                              .options = compare_options,
                                              .shared = route_view_options,
                                              .takes_files = true,
                                              .run = compare_run};
