/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route paper`: the evaluation of the turn addition paper, as commands. What the paper
 * prints as a number stands beside ours with the difference; what it shows only as a curve is
 * judged by what its text says about the curve.
 */
#include "cli/json_put.h"
#include "cli/route/route.h"
#include "experiment/experiment.h"

#include <stdarg.h>
#include <string.h>

static const char *const compared[] = {"turn-addition", "up-down", "turn-prohibition"};
#define COMPARED (sizeof(compared) / sizeof(compared[0]))

static struct {
    uint32_t ports_max; /* largest k of the joined trees */
    uint32_t networks;  /* random networks of each size */
} wishes;

/* --json: rows are collected instead of printed. What the paper says stands in its row. */
static bool wants_json;
static json_t *rows;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list arguments;
    cli_progress_end(); /* its line is taken back before ours comes */
    va_start(arguments, format);
    if (!wants_json)
        vprintf(format, arguments);
    va_end(arguments);
}

/* A new row of a part, about so many of something; NULL is taken by all that fill it. */
static json_t *row_add(const char *part, const char *what, uint64_t number)
{
    json_t *row = wants_json ? json_object() : NULL;
    json_put_text(row, "part", part);
    json_put_number(row, what, number);
    if (row)
        json_array_append_new(rows, row);
    return row;
}

static const char *const parts[] = {"fig-20", "fig-21", "fig-24", "table-2", NULL};
static const struct cli_option options[] = {
    CLI_NUMBER("ports", "K", 4, 64, &wishes.ports_max, "ports of the largest joined trees",
               .standard = "32"),
    CLI_NUMBER("networks", "N", 1, 64, &wishes.networks, "random networks of each size",
               .standard = "10"),
    CLI_FLAG("json", &wants_json, "print JSON instead of text"),
    CLI_OPTIONS_END,
};

struct outcome {
    double value[TRAFFIC_CLASSES];
    double prohibited; /* percent of the turns at joining cables */
};

/* Percentage of prohibited turns among those that contain a joining cable: 2 n^2 k in all. */
static double joining_prohibited(const struct routing *routing)
{
    const struct net *net = routing->net;
    const struct fabric_node *nodes = net->fabric->nodes;
    uint64_t total = 0, allowed = 0;
    for (uint32_t c = 0; c < net->channel_count; c++) {
        if (nodes[net->node[net->tail[c]]].group == nodes[net->node[net->head[c]]].group)
            continue;
        total += net_degree(net, net->tail[c]) - 1;
        allowed += turns_in_count(routing->turns, c);
    }
    return total ? 100.0 * (double)(total - allowed) / (double)total : 0;
}

/* Per-pair paths of one algorithm on a generated fabric, as the paper evaluates. */
static int outcome_get(const struct route_input *input, const char *name, bool paths,
                       struct outcome *outcome)
{
    struct routing_options how = {.no_tables = true};
    struct routing *routing = NULL;
    struct load *load = NULL;
    cli_progress("%u hosts, %s", input->net->host_count, name);
    int result = routing_create(&routing, input->traffic, algorithm_find(name), &how);
    if (result == 0)
        outcome->prohibited = joining_prohibited(routing);
    if (result == 0 && paths)
        result = load_create(&load, input->traffic);
    if (result == 0 && paths)
        result = paths_route(routing, load, NULL);
    for (uint32_t k = 0; result == 0 && paths && k < input->traffic->class_count; k++)
        outcome->value[k] = load_throughput(load, k);
    load_destroy(load);
    routing_destroy(routing);
    return result;
}

static int joined_open(struct route_input *input, uint32_t ports, enum generate_join join)
{
    struct generate_options shape = {.ports = ports, .join = join};
    memset(input, 0, sizeof(*input));
    if (generate_fabric(&input->fabric, "joined", &shape) < 0)
        return cli_fail();
    return route_input_prepare(input, "groups:0.01");
}

/* Mean throughput of the compared algorithms on random networks of one size. */
static int random_means(uint32_t switches, uint32_t networks, double mean[COMPARED])
{
    for (uint32_t i = 0; i < COMPARED; i++)
        mean[i] = 0;
    for (uint32_t seed = 1; seed <= networks; seed++) {
        struct generate_options shape = {
            .switches = switches, .ports = 10, .hosts = 10, .seed = seed};
        struct route_input input = {0};
        if (generate_fabric(&input.fabric, "random", &shape) < 0)
            return cli_fail();
        if (route_input_prepare(&input, "uniform") != 0)
            return 1;
        int result = 0;
        for (uint32_t i = 0; i < COMPARED && result == 0; i++) {
            struct outcome outcome;
            result = outcome_get(&input, compared[i], true, &outcome);
            mean[i] += result == 0 ? outcome.value[0] / networks : 0;
        }
        route_input_close(&input);
        if (result < 0)
            return cli_fail();
    }
    return 0;
}

static void outcome_put(json_t *row, const char *algorithm, const struct outcome *outcome)
{
    json_put_text(row, "algorithm", algorithm);
    json_put_real(row, "inside", outcome->value[0]);
    json_put_real(row, "between", outcome->value[1]);
}

static int figure_20(void)
{
    double mean[COMPARED] = {0};
    say("Figure 20: random networks, 10 cables and 10 hosts a switch, mean of %u, in "
        "parts of a link\n"
        "switches  turn-addition  up-down  turn-prohibition  addition/up-down  addition/TP\n",
        wishes.networks);
    for (uint32_t switches = 10; switches <= 100; switches += 10) {
        int result = random_means(switches, wishes.networks, mean);
        if (result != 0)
            return result;
        json_t *row = row_add("fig-20", "switches", switches);
        for (uint32_t i = 0; i < COMPARED; i++)
            json_put_real(row, compared[i], mean[i]);
        say("%8u  %13.4f  %7.4f  %16.4f  %16.2f  %11.2f\n", switches, mean[0], mean[1], mean[2],
            mean[0] / mean[1], mean[0] / mean[2]);
    }
    double ratio = mean[0] / mean[1];
    say("at 100 switches: paper 2.08 x up-down (2.05 in its abstract), here %.2f, difference "
        "%+.2f; paper: about equal to TP, here %.2f x\n",
        ratio, ratio - 2.08, mean[0] / mean[2]);
    return 0;
}

static int figure_21(void)
{
    static const char *const places[] = {"top", "middle", "bottom"};
    static const char *const said[] = {
        "all high inside and between (up-down loses inside when a cable is broken)",
        "inside: addition and TP full, up-down low; between: addition high, TP low",
        "inside: all full; between: all low, addition best"};
    uint32_t ports = wishes.ports_max < 8 ? wishes.ports_max : 8;
    say("Figure 21: two 3-level fat trees of %u-port switches, by place of joining\n"
        "joined at  algorithm          inside/link  between/link\n",
        ports);
    for (int join = GENERATE_TOP; join <= GENERATE_BOTTOM; join++) {
        struct route_input input;
        if (joined_open(&input, ports, (enum generate_join)join) != 0)
            return 1;
        int result = 0;
        for (uint32_t i = 0; i < COMPARED && result == 0; i++) {
            struct outcome outcome;
            result = outcome_get(&input, compared[i], true, &outcome);
            if (result == 0) {
                json_t *row = row_add("fig-21", "ports", ports);
                json_put_text(row, "joined_at", places[join]);
                outcome_put(row, compared[i], &outcome);
                say("%-9s  %-17s  %11.4f  %12.4f\n", places[join], compared[i], outcome.value[0],
                    outcome.value[1]);
            }
        }
        route_input_close(&input);
        if (result < 0)
            return cli_fail();
        say("           paper: %s\n", said[join]);
    }
    return 0;
}

static int figure_24(void)
{
    double ratio = 0;
    uint32_t last = 0;
    say("Figure 24: joined at the middle, by size\n"
        "hosts a tree  algorithm          inside/link  between/link\n");
    for (uint32_t ports = 4; ports <= wishes.ports_max; ports *= 2) {
        struct route_input input;
        struct outcome outcomes[COMPARED];
        if (joined_open(&input, ports, GENERATE_MIDDLE) != 0)
            return 1;
        int result = 0;
        for (uint32_t i = 0; i < COMPARED && result == 0; i++) {
            result = outcome_get(&input, compared[i], true, &outcomes[i]);
            if (result == 0) {
                outcome_put(row_add("fig-24", "hosts", input.net->host_count / 2), compared[i],
                            &outcomes[i]);
                say("%12u  %-17s  %11.4f  %12.4f\n", input.net->host_count / 2, compared[i],
                    outcomes[i].value[0], outcomes[i].value[1]);
            }
            fflush(stdout);
        }
        last = input.net->host_count / 2;
        route_input_close(&input);
        if (result < 0)
            return cli_fail();
        ratio = outcomes[0].value[1] / outcomes[2].value[1];
    }
    if (last == 8192)
        say("at 8192 hosts, between: paper 4.77 x TP, here %.2f x, difference %+.2f\n", ratio,
            ratio - 4.77);
    else
        say("at %u hosts, between: %.2f x TP (the paper's 4.77 is at 8192: --ports 32)\n", last,
            ratio);
    return 0;
}

static int table_2(void)
{
    static const double paper[] = {6.25, 15.23, 19.78, 23.43};
    say("Table 2: prohibited turns at joining cables\n"
        "hosts a tree  joining cables  paper %%  here %%  difference %%\n");
    uint32_t row = 0;
    for (uint32_t ports = 4; ports <= wishes.ports_max && row < 4; ports *= 2, row++) {
        struct route_input input;
        struct outcome outcome;
        if (joined_open(&input, ports, GENERATE_MIDDLE) != 0)
            return 1;
        int result = outcome_get(&input, "turn-addition", false, &outcome);
        if (result == 0) {
            json_t *put = row_add("table-2", "hosts", input.net->host_count / 2);
            json_put_number(put, "joining_cables", ports * ports / 4);
            json_put_real(put, "paper_percent", paper[row]);
            json_put_real(put, "prohibited_percent", outcome.prohibited);
            say("%12u  %14u  %7.2f  %6.2f  %+12.2f\n", input.net->host_count / 2, ports * ports / 4,
                paper[row], outcome.prohibited, outcome.prohibited - paper[row]);
        }
        route_input_close(&input);
        if (result < 0)
            return cli_fail();
    }
    say("At 128 hosts the paper has 39 of 256 turns, the rotation used here 36; the text leaves "
        "the "
        "order of equal turns open. The other sizes agree to the turn.\n");
    return 0;
}

static int run(int count, char **words)
{
    static int (*const runs[])(void) = {figure_20, figure_21, figure_24, table_2};
    int result = 0;
    rows = wants_json ? json_array() : NULL;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]) && result == 0; i++) {
        if (count == 0 || strcmp(words[0], parts[i]) == 0)
            result = runs[i]();
    }
    cli_progress_end();
    if (wants_json && result == 0) {
        json_t *document = json_object();
        json_put_format(document, "bench-route 1");
        json_object_set(document, "rows", rows);
        json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        json_decref(document);
        putchar('\n');
    }
    json_decref(rows);
    return result;
}

const struct cli_command cli_bench_route = {
    .name = "route",
    .help = "the routing paper's evaluation, beside its figures",
    .operands = "[PART]",
    .options = options,
    .choices = parts,
    .run = run};
