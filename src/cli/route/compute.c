/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route compute`: from a fabric to tables that OpenSM loads, checked and reported.
 */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/route/route.h"
#include "route/parallel.h"
#include "route/paths.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { ROOTS = ROUTE_OWN, LFT, PATHS, GUID2LID, DOT, JSON, THREADS, LANE_LIMIT, NO_CHECK };

static const struct option long_options[] = {
    ROUTE_VIEW_OPTIONS,
    {"algorithm", required_argument, NULL, 'a'},
    {"roots", required_argument, NULL, ROOTS},
    {"lft", required_argument, NULL, LFT},
    {"paths", required_argument, NULL, PATHS},
    {"guid2lid", required_argument, NULL, GUID2LID},
    {"dot", required_argument, NULL, DOT},
    {"json", required_argument, NULL, JSON},
    {"threads", required_argument, NULL, THREADS},
    {"lane-limit", required_argument, NULL, LANE_LIMIT},
    {"no-check", no_argument, NULL, NO_CHECK},
    {NULL, 0, NULL, 0},
};

struct compute_arguments {
    struct route_view view;
    const char *algorithm, *roots, *lft, *paths, *guid2lid, *dot, *json;
    uint32_t lane_limit; /* 0: none */
    bool no_check;
};

/* Where an option's text goes; NULL: it has none that is kept. */
static const char **text_place(struct compute_arguments *arguments, int option)
{
    switch (option) {
    case 'a':
        return &arguments->algorithm;
    case ROOTS:
        return &arguments->roots;
    case LFT:
        return &arguments->lft;
    case PATHS:
        return &arguments->paths;
    case GUID2LID:
        return &arguments->guid2lid;
    case DOT:
        return &arguments->dot;
    case JSON:
        return &arguments->json;
    default:
        return NULL;
    }
}

static bool option_take(struct compute_arguments *arguments, int option)
{
    uint64_t number;
    const char **text = text_place(arguments, option);
    if (text) {
        *text = optarg;
    } else if (option == NO_CHECK) {
        arguments->no_check = true;
    } else if (option == THREADS) {
        if (!route_number("threads", optarg, 1, 64, &number))
            return false;
        parallel_threads_set((uint32_t)number);
    } else if (option == LANE_LIMIT) {
        if (!route_number("lane-limit", optarg, 1, CHECK_LANES_MAX, &number))
            return false;
        arguments->lane_limit = (uint32_t)number;
    } else {
        return route_view_take(&arguments->view, option);
    }
    return true;
}

/* "name,name,…" into switch numbers; the list is the caller's. */
static int roots_parse(const struct net *net, const char *text, struct algorithm_options *options)
{
    char *copy = strdup(text), *rest = copy;
    uint32_t *roots = malloc((strlen(text) + 1) * sizeof(*roots)), count = 0;
    int result = copy && roots ? 0 : error_set(-ENOMEM, ERROR_NO_RANK, "no memory for the roots");
    for (char *name; result == 0 && (name = strsep(&rest, ",")) != NULL;) {
        uint32_t node = fabric_node_find(net->fabric, name);
        uint32_t at = node == FABRIC_NONE ? FABRIC_NONE : net->switch_index[node];
        if (at == FABRIC_NONE)
            result = error_set(-EINVAL, ERROR_NO_RANK, "root '%s' is no switch of the fabric",
                               name);
        else
            roots[count++] = at;
    }
    free(copy);
    if (result < 0) {
        free(roots);
        return result;
    }
    options->roots = roots;
    options->root_count = count;
    return 0;
}

static int lids_write(const struct route_input *input, const struct compute_arguments *arguments)
{
    char path[4096];
    const char *wanted = arguments->guid2lid;
    if (!wanted && arguments->lft && input->lids_given && strcmp(arguments->lft, "-") != 0) {
        /* the table's LIDs are ours: without this file OpenSM would give others */
        snprintf(path, sizeof(path), "%s.guid2lid", arguments->lft);
        fprintf(stderr, "rhinet route: LIDs were assigned; copy %s to OpenSM's guid2lid\n", path);
        wanted = path;
    }
    if (!wanted)
        return 0;
    FILE *out = route_output_open(wanted);
    if (!out)
        return 1;
    return route_output_close(out, wanted, formats_guid2lid_write(input->fabric, out) < 0);
}

static int outputs_write(const struct route_input *input, const struct routing *routing,
                         const struct compute_arguments *arguments)
{
    int result = 0;
    FILE *out;
    if (arguments->lft) {
        if (!fabric_lids_fit(input->fabric))
            fputs("rhinet route: warning: more addresses than InfiniBand has LIDs (0xbfff); OpenSM "
                  "cannot load this table\n",
                  stderr);
        struct route_table table = {.lft = routing->lft,
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
                                          formats_dot_write(input->net, routing->load, out) < 0)
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
    if (result == 0)
        result = paths_route(routing, load, out);
    if (result < 0)
        route_fail();
    for (uint32_t k = 0; result == 0 && k < routing->traffic->class_count; k++)
        fprintf(stderr, "per-pair paths: throughput %.4f\n", load_throughput(load, k));
    load_destroy(load);
    return route_output_close(out, path, result < 0);
}

static int compute(struct route_input *input, const struct compute_arguments *arguments)
{
    const struct algorithm *algorithm = algorithm_find(arguments->algorithm);
    struct routing_options options = {.progress = route_progress,
                                      .progress_context = (char[]){"tables"}};
    struct routing *routing = NULL;
    struct check_report check;
    int result = algorithm ? 0 : -EINVAL;
    if (result == 0 && arguments->roots)
        result = roots_parse(input->net, arguments->roots, &options.algorithm);
    if (result == 0)
        result = routing_create(&routing, input->traffic, algorithm, &options);
    free((void *)options.algorithm.roots);
    route_progress(options.progress_context, 1);
    if (result == 0 && !arguments->no_check)
        result = route_check_run(routing, arguments->lane_limit, &check);
    if (result < 0) {
        routing_destroy(routing);
        return route_fail();
    }
    const struct check_report *checked = arguments->no_check ? NULL : &check;
    int status = outputs_write(input, routing, arguments);
    if (status == 0 && arguments->paths)
        status = paths_make(routing, arguments->paths);
    if (status == 0 && arguments->json)
        status = route_report_json(arguments->json, input, routing, checked);
    else if (status == 0)
        route_report_text(stdout, routing, checked);
    if (status == 0 && checked && !check_passed(checked))
        status = 1;
    routing_destroy(routing);
    return status;
}

int cli_route_compute(int argc, char **argv)
{
    struct compute_arguments arguments = {.algorithm = "turn-addition"};
    struct route_input input;
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "a:", long_options, NULL)) != -1) {
        if (!option_take(&arguments, option))
            return cli_usage_error("compute does not understand its options");
    }
    if (argc - optind != 1)
        return cli_usage_error("compute needs one fabric file");
    int result = route_input_open(&input, argv[optind], &arguments.view);
    if (result != 0)
        return result;
    result = compute(&input, &arguments);
    route_input_close(&input);
    return result;
}
