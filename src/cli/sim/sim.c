/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim`: simulated networks and controllers. Dispatch, and the table of constants.
 */
#include "cli/sim/sim.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/json_put.h"
#include "cli/table.h"

#include <string.h>

static const struct cli_action actions[] = {
    {"run", cli_sim_run},
    {"thesis", cli_sim_thesis},
    {"constants", cli_sim_constants},
    {"bench", cli_sim_bench},
    {NULL, NULL},
};

static int sim_old(int argc, char **argv)
{
    return cli_act(actions, "run, thesis, constants or bench", argc, argv);
}

int sim_fail(void)
{
    fprintf(stderr, "rhinet sim: %s\n", rh_error_text());
    return 1;
}

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

int cli_sim_constants(int argc, char **argv)
{
    if (argc == 1)
        constants_text();
    else if (argc == 2 && strcmp(argv[1], "--json") == 0)
        constants_json();
    else
        return cli_usage_error("constants takes nothing but --json");
    return 0;
}

const struct cli_command cli_sim = {
    .name = "sim", .help = "simulate RHiNET switches and the Martini controller", .old = sim_old};
