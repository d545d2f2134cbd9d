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

#include <getopt.h>
#include <string.h>

enum { JSON = ROUTE_OWN, LANES, LANE_LIMIT, PATHS };

static const struct option check_options[] = {
    ROUTE_VIEW_OPTIONS,
    {"json", required_argument, NULL, JSON},
    {"lanes", required_argument, NULL, LANES},
    {"lane-limit", required_argument, NULL, LANE_LIMIT},
    {"paths", required_argument, NULL, PATHS},
    {NULL, 0, NULL, 0},
};

static const struct option compare_options[] = {
    ROUTE_VIEW_OPTIONS,
    {"algorithm", required_argument, NULL, 'a'},
    {"json", no_argument, NULL, JSON},
    {NULL, 0, NULL, 0},
};

static bool lanes_parse(const char *text, enum check_lanes *lanes)
{
    static const char *const names[] = {"one", "hop", "branch"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *lanes = (enum check_lanes)i;
            return true;
        }
    }
    fprintf(stderr, "rhinet route: --lanes is one, hop or branch, not '%s'\n", text);
    return false;
}

struct check_arguments {
    struct route_view view;
    const char *fabric, *table, *paths, *json;
    struct check_options options;
};

/* What was found out. */
struct check_result {
    struct check_report report;
    double throughput[TRAFFIC_CLASSES];
    uint32_t class_count; /* of throughput; 0: not known */
};

static bool option_take(struct check_arguments *arguments, int option)
{
    uint64_t limit;
    if (option == PATHS)
        arguments->paths = optarg;
    else if (option == JSON)
        arguments->json = optarg;
    else if (option == LANES)
        return lanes_parse(optarg, &arguments->options.lanes);
    else if (option != LANE_LIMIT)
        return route_view_take(&arguments->view, option);
    else if (route_number("lane-limit", optarg, 1, CHECK_LANES_MAX, &limit))
        arguments->options.lane_limit = (uint32_t)limit;
    else
        return false;
    return true;
}

/* Returns false, having said why, if they make no sense. */
static bool arguments_take(struct check_arguments *arguments, int argc, char **argv)
{
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", check_options, NULL)) != -1) {
        if (!option_take(arguments, option))
            return false;
    }
    if (argc - optind != (arguments->paths ? 1 : 2))
        return false;
    arguments->fabric = argv[optind];
    arguments->table = arguments->paths ? NULL : argv[optind + 1];
    return true;
}

/* Throughput of tables that passed or not, as far as they lead anywhere. */
static int throughput_find(struct route_input *input, const struct lft_dump *dump,
                           struct check_result *check)
{
    struct lft *lft = NULL;
    struct load *load = NULL;
    int result = formats_lft_import(&lft, input->net, dump);
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
    int result = formats_lft_read(&dump, input->fabric, arguments->table);
    if (result == 0)
        result = check_tables(input->fabric, &dump, &arguments->options, &check->report);
    if (result == 0)
        result = throughput_find(input, &dump, check);
    formats_lft_free(&dump);
    return result;
}

static int paths_check(struct route_input *input, const struct check_arguments *arguments,
                       struct check_result *check)
{
    struct source source;
    int result = source_open(&source, arguments->paths);
    if (result < 0)
        return result;
    result = check_paths(input->fabric, &source, &arguments->options, &check->report);
    source_close(&source);
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

int cli_route_check(int argc, char **argv)
{
    struct check_arguments arguments = {0};
    struct route_input input;
    struct check_result check = {.class_count = 0};
    if (!arguments_take(&arguments, argc, argv))
        return cli_usage_error("check needs a fabric file, and a table file or --paths "
                               "FILE");
    int result = route_input_open(&input, arguments.fabric, &arguments.view);
    if (result != 0)
        return result;
    result = arguments.paths ? paths_check(&input, &arguments, &check)
                             : table_check(&input, &arguments, &check);
    if (result < 0)
        result = route_fail();
    else if (check_print(&input, &check, arguments.json) != 0 || !check_passed(&check.report))
        result = 1;
    route_input_close(&input);
    return result;
}

static const struct table_column columns[] = {
    {"algorithm", false, 0}, {"inside", true, 0}, {"between", true, 0},
    {"lanes", true, 1},      {"hops", true, 2},   {"turns off", true, 3},
    {"deadlock", false, 1},  {"pairs", true, 4},  {"seconds", true, 3},
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
    table_cell(table, "%u", check->hops_most);
    table_cell(table, "%llu", (unsigned long long)prohibited);
    table_cell(table, "%s", check->loop_free ? "free" : "POSSIBLE");
    table_cell(table, "%.1f%%",
               check->pairs ? 100.0 * (double)check->pairs_connected / (double)check->pairs : 0.0);
    table_cell(table, "%.3f", routing->turns_seconds + routing->tables_seconds);
}

static void row_json(json_t *rows, const struct routing *routing, const struct check_report *check)
{
    json_t *row = json_object();
    json_put_text(row, "algorithm", routing->algorithm->name);
    json_put_real(row, "inside", load_throughput(routing->load, 0));
    if (routing->traffic->class_count > 1)
        json_put_real(row, "between", load_throughput(routing->load, 1));
    json_put_number(row, "virtual_channels", check->lanes_used);
    json_put_number(row, "switches_passed_most", check->hops_most);
    json_put_flag(row, "loop_free", check->loop_free);
    json_put_number(row, "pairs", check->pairs);
    json_put_number(row, "pairs_connected", check->pairs_connected);
    json_put_real(row, "turns_seconds", routing->turns_seconds);
    json_put_real(row, "tables_seconds", routing->tables_seconds);
    json_array_append_new(rows, row);
}

/* Runs one algorithm; one that cannot do this fabric gets a line that says why. */
static int compare_one(const struct route_input *input, const struct algorithm *algorithm,
                       struct table *table, json_t *rows)
{
    struct routing *routing;
    struct check_report check;
    int result = routing_create(&routing, input->traffic, algorithm, NULL);
    if (result == -ENETUNREACH) {
        fprintf(stderr, "%s: %s\n", algorithm->name, rh_error_text());
        return 0;
    }
    if (result < 0)
        return result;
    result = route_check_run(routing, 0, &check);
    if (result == 0) {
        row_add(table, routing, &check);
        row_json(rows, routing, &check);
    }
    routing_destroy(routing);
    return result;
}

int cli_route_compare(int argc, char **argv)
{
    struct route_input input;
    struct route_view view = {0};
    const char *only = NULL;
    bool json = false;
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "a:", compare_options, NULL)) != -1) {
        if (option == 'a')
            only = optarg;
        else if (option == JSON)
            json = true;
        else if (!route_view_take(&view, option))
            return cli_usage_error("compare does not understand its options");
    }
    if (argc - optind != 1)
        return cli_usage_error("compare needs one fabric file");
    if (only && !algorithm_find(only))
        return route_fail();
    int result = route_input_open(&input, argv[optind], &view);
    if (result != 0)
        return result;
    struct table *table = table_create(columns, COLUMNS);
    json_t *rows = json_array();
    for (const struct algorithm *at = algorithms; at->name && result == 0; at++) {
        if (!only || strcmp(only, at->name) == 0)
            result = compare_one(&input, at, table, rows);
    }
    if (result < 0)
        result = route_fail();
    else if (json)
        json_dumpf(rows, stdout, JSON_INDENT(2));
    else
        table_print(table, stdout, terminal_width());
    json_decref(rows);
    table_destroy(table);
    route_input_close(&input);
    return result;
}
