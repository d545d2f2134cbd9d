/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim bench`: how fast the simulator is, beside what it shall reach.
 */
#include "experiment/simulator/worlds.h"

#include "cli/json_put.h"
#include "cli/table.h"
#include "experiment/experiment.h"

#define FIGURES 7

struct figure {
    const char *what, *unit;
    double value, wanted;
    bool is_most; /* wanted is the most, not the least */
};

static const struct table_column columns[] = {
    {"what", false, 0}, {"value", true, 0}, {"wanted", true, 0}, {"unit", false, 0}};

static void figures_text(const struct figure *figures, uint32_t hosts)
{
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < FIGURES; i++) {
        const char *format = figures[i].value < 1000 ? "%.2f" : "%.0f";
        table_cell(table, "%s", figures[i].what);
        table_cell(table, format, figures[i].value);
        table_cell(table, "%s %.0f", figures[i].is_most ? "<=" : ">=", figures[i].wanted);
        table_cell(table, "%s", figures[i].unit);
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
    printf("per second of processor time; all-to-all of 8 bytes among %u hosts of a fat tree\n",
           hosts);
}

static void figures_json(const struct figure *figures, uint32_t hosts)
{
    for (int i = 0; i < FIGURES; i++) {
        json_t *row = json_object();
        json_put_format(row, "sim speed 1");
        json_put_text(row, "what", figures[i].what);
        json_object_set_new(row, "value", json_real(figures[i].value));
        json_object_set_new(row, "wanted", json_real(figures[i].wanted));
        json_object_set_new(row, "is_most", json_boolean(figures[i].is_most));
        json_put_text(row, "unit", figures[i].unit);
        json_put_number(row, "hosts", hosts);
        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(row);
    }
}

static int measure(uint32_t port_count, bool is_json)
{
    struct bench_result pair = {0}, crowd = {0}, network = {0}, processor = {0};
    struct bench_tree *tree = NULL;
    cli_progress("1 of 4: two controllers");
    int result = bench_tree_open(&tree, port_count);
    if (result == 0)
        result = bench_ping_pong(&pair);
    cli_progress("2 of 4: all controllers");
    if (result >= 0)
        result = bench_controllers(tree, &crowd);
    cli_progress("3 of 4: the network alone");
    if (result >= 0)
        result = bench_network(tree, &network);
    cli_progress("4 of 4: the on-chip processor");
    if (result >= 0)
        result = bench_processor(&processor);
    cli_progress_end();
    const struct figure figures[FIGURES] = {
        {"two controllers, messages of 8 bytes", "/s", pair.messages, 500000, false},
        {"two controllers, events", "/s", pair.events, 5000000, false},
        {"all controllers, events", "/s", crowd.events, 5000000, false},
        {"all controllers, all-to-all", "s", crowd.seconds, 60, true},
        {"network alone, flit hops", "/s", network.flit_hops, 2000000, false},
        {"on-chip processor, instructions", "/s", processor.instructions, 50000000, false},
        {"memory of an idle node", "KB", crowd.idle_bytes / 1024, 64, true},
    };
    uint32_t hosts = tree ? bench_tree_hosts(tree) : 0;
    bench_tree_close(tree);
    if (result < 0)
        return cli_fail();
    if (is_json)
        figures_json(figures, hosts);
    else
        figures_text(figures, hosts);
    return 0;
}

static uint32_t ports;
static bool wants_json;
static const struct cli_option options[] = {
    CLI_NUMBER("ports", "N", 4, 32, &ports, "of the switches of its fat tree: N^3/4 hosts",
               .standard = "16", .allowed = "an even number from 4 to 32"),
    CLI_FLAG("json", &wants_json, "print JSON instead of text"),
    CLI_OPTIONS_END,
};

static int run(int count, char **words)
{
    if (ports % 2 != 0)
        return cli_usage_error("--ports is an even number from 4 to 32, not '%u'", ports);
    return measure(ports, wants_json);
}

const struct cli_command cli_bench_sim = {
    .name = "sim", .help = "the simulator's own speed", .options = options, .run = run};
