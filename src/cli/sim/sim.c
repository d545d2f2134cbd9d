/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim`: simulated networks and controllers. The table of constants.
 */
#include "cli/sim/sim.h"

#include "cli/json_put.h"
#include "cli/table.h"
#include "experiment/experiment.h"

static const struct table_column columns[] = {
    {"constant", false, 0}, {"value", true, 0},   {"unit", false, 0},
    {"section", false, 1},  {"origin", false, 0}, {"meaning", false, 0},
};

static void constants_text(void)
{
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (const struct sim_constant *at = sim_constant_list; at->name; at++) {
        table_cell(table, "%s", at->name);
        table_cell(table, "%lld", (long long)at->value);
        table_cell(table, "%s", at->unit);
        table_cell(table, "%s", at->section);
        table_cell(table, "%s", at->origin);
        table_cell(table, "%s", at->meaning);
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
}

static void constants_json(void)
{
    for (const struct sim_constant *at = sim_constant_list; at->name; at++) {
        json_t *row = json_object();
        json_put_text(row, "name", at->name);
        json_put_number(row, "value", (uint64_t)at->value);
        json_put_text(row, "unit", at->unit);
        json_put_text(row, "section", at->section);
        json_put_text(row, "origin", at->origin);
        json_put_text(row, "meaning", at->meaning);
        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(row);
    }
}

static bool wants_json;
static const struct cli_option options[] = {
    CLI_FLAG("json", &wants_json, "print JSON instead of text"), CLI_OPTIONS_END};

static int run(int count, char **words)
{
    if (wants_json)
        constants_json();
    else
        constants_text();
    return 0;
}

const struct cli_command cli_sim_constants = {
    .name = "constants",
    .help = "what the simulated hardware is made of, and who says so",
    .options = options,
    .run = run};

const struct cli_command cli_sim = {.name = "sim",
                                    .help = "simulate RHiNET switches and the Martini controller",
                                    .commands = (const struct cli_command *const[]){
                                        &cli_sim_run, CLI_ALIAS("thesis", cli_bench_thesis),
                                        &cli_sim_constants, &cli_sim_platform, &cli_sim_sensitivity,
                                        CLI_ALIAS("bench", cli_bench_sim), NULL}};
