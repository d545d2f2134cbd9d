/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route compute`: from a fabric to tables that OpenSM loads, checked and reported.
 */
#include "base/error.h"
#include "base/parallel.h"
#include "cli/cli.h"
#include "cli/route/route.h"

#include <stdlib.h>
#include <string.h>

struct compute_arguments {
    const char *algorithm, *roots, *lft, *paths, *guid2lid, *dot, *json;
    uint32_t threads;    /* 0: as many as there are cores */
    uint32_t lane_limit; /* 0: none */
    bool no_check, map;
};

static struct compute_arguments wishes;
static const struct cli_option options[] = {
    CLI_TEXT("algorithm", "NAME", &wishes.algorithm, "how; compare lists them", .letter = 'a',
             .standard = "turn-addition", .suggest = route_algorithm_name),
    CLI_TEXT("roots", "NAME,...", &wishes.roots, "roots for up-down"),
    CLI_FILE("lft", "FILE", &wishes.lft, "tables for opensm -R file -U FILE"),
    CLI_FILE("guid2lid", "FILE", &wishes.guid2lid, "LIDs for OpenSM"),
    CLI_FILE("paths", "FILE", &wishes.paths, "one path for each pair"),
    CLI_FILE("dot", "FILE", &wishes.dot, "picture for Graphviz"),
    CLI_FILE("json", "FILE", &wishes.json, "the report as JSON, - for stdout"),
    CLI_FLAG("map", &wishes.map,
             "links, hosts and turns in the JSON, too: `rhinet report` draws them"),
    CLI_NUMBER("threads", "N", 1, 64, &wishes.threads, "threads to use"),
    CLI_NUMBER("lane-limit", "N", 1, CHECK_LANES_MAX, &wishes.lane_limit,
               "virtual channels that there are; more fail the check"),
    CLI_FLAG("no-check", &wishes.no_check, "do not prove the result"),
    CLI_OPTIONS_END,
};

/* "name,name,…" into switch numbers; the list is the caller's. */
static int roots_parse(const struct net *net, const char *text, struct algorithm_options *chosen)
{
    char *copy = strdup(text), *rest = copy;
    uint32_t *roots = malloc((strlen(text) + 1) * sizeof(*roots)), count = 0;
    int result = copy && roots ? 0 : error_fail(-ENOMEM, "no memory for the roots");
    for (char *name; result == 0 && (name = strsep(&rest, ",")) != NULL;) {
        uint32_t node = fabric_node_find(net->fabric, name);
        uint32_t at = node == FABRIC_NONE ? FABRIC_NONE : net->switch_index[node];
        if (at == FABRIC_NONE)
            result = error_fail(-EINVAL, "root '%s' is no switch of the fabric", name);
        else
            roots[count++] = at;
    }
    free(copy);
    if (result < 0) {
        free(roots);
        return result;
    }
    chosen->roots = roots;
    chosen->root_count = count;
    return 0;
}

static int lids_write(const struct route_input *input, const struct compute_arguments *arguments)
{
    char path[4096];
    const char *wanted = arguments->guid2lid;
    if (!wanted && arguments->lft && input->lids_given && strcmp(arguments->lft, "-") != 0) {
        /* the table's LIDs are ours: without this file OpenSM would give others */
        snprintf(path, sizeof(path), "%s.guid2lid", arguments->lft);
        cli_say("LIDs were assigned; copy %s to OpenSM's guid2lid", path);
        wanted = path;
    }
    if (!wanted)
        return 0;
    FILE *out = route_output_open(wanted);
    if (!out)
        return 1;
    return route_output_close(out, wanted, formats_guid2lid_write(input->fabric, out));
}

static int outputs_write(const struct route_input *input, const struct routing *routing,
                         const struct lft_dump *dump, const struct compute_arguments *arguments)
{
    int result = 0;
    FILE *out;
    if (arguments->lft) {
        if (!fabric_lids_fit(input->fabric))
            cli_say("warning: more addresses than InfiniBand has LIDs (0xbfff); OpenSM cannot load "
                    "this table");
        struct route_table table = {.dump = dump,
                                    .lft = routing->lft,
                                    .turns = routing->turns,
                                    .load = routing->load,
                                    .model = input->model};
        result = route_table_write(&table, arguments->lft);
    }
    if (result == 0)
        result = lids_write(input, arguments);
    if (result == 0 && arguments->dot) {
        out = route_output_open(arguments->dot);
        result = out ? route_output_close(out, arguments->dot,
                                          load_dot_write(input->net, routing->load, out))
                     : 1;
    }
    return result;
}

static int paths_make(const struct routing *routing, const char *path)
{
    FILE *out = route_output_open(path);
    if (!out)
        return 1;
    struct load *load = NULL;
    int result = load_create(&load, routing->traffic);
    cli_progress("paths");
    if (result == 0)
        result = paths_route(routing, load, out);
    cli_progress_end();
    if (result < 0)
        cli_fail();
    for (uint32_t k = 0; result == 0 && k < routing->traffic->class_count; k++)
        fprintf(stderr, "per-pair paths: throughput %.4f\n", load_throughput(load, k));
    load_destroy(load);
    return route_output_close(out, path, result < 0);
}

static int compute(struct route_input *input, const struct compute_arguments *arguments)
{
    const struct algorithm *algorithm = algorithm_find(arguments->algorithm);
    struct lft_dump dump = {0}; /* what is proved is what is written */
    struct routing_options how = {.progress = {cli_progress_part, (char[]){"tables"}}};
    struct routing *routing = NULL;
    struct check_report check;
    int result = algorithm ? 0 : -EINVAL;
    if (result == 0 && arguments->roots)
        result = roots_parse(input->net, arguments->roots, &how.algorithm);
    cli_progress("turns");
    if (result == 0)
        result = routing_create(&routing, input->traffic, algorithm, &how);
    free((void *)how.algorithm.roots);
    cli_progress("check");
    if (result == 0)
        result = lft_export(&dump, routing->lft);
    if (result == 0 && !arguments->no_check) {
        struct check_options rule = route_check_options(algorithm, arguments->lane_limit);
        result = check_tables(input->fabric, &dump, &rule, &check);
    }
    cli_progress_end();
    const struct check_report *checked = arguments->no_check ? NULL : &check;
    int status = result < 0 ? cli_fail() : outputs_write(input, routing, &dump, arguments);
    if (status == 0 && arguments->paths)
        status = paths_make(routing, arguments->paths);
    struct route_report report = {input, routing, checked, arguments->map};
    if (status == 0 && arguments->json)
        status = route_report_json(&report, arguments->json);
    else if (status == 0)
        route_report_text(stdout, routing, checked);
    if (status == 0 && checked && !check_passed(checked))
        status = 1;
    lft_dump_free(&dump);
    routing_destroy(routing);
    return status;
}

static int run(int count, char **words)
{
    struct route_input input;
    if (wishes.map && !wishes.json)
        return cli_usage_error("--map is for --json");
    if (wishes.threads > 0)
        parallel_threads_set(wishes.threads);
    int result = route_input_open(&input, words[0], &route_view);
    if (result != 0)
        return result;
    result = compute(&input, &wishes);
    route_input_close(&input);
    return result;
}

const struct cli_command cli_route_compute = {.name = "compute",
                                              .help = "tables for a fabric",
                                              .operands = "FABRIC",
                                              .options = options,
                                              .shared = route_view_options,
                                              .takes_files = true,
                                              .run = run};
