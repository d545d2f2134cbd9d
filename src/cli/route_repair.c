/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route repair`: a table for the fabric as it is now, as near as possible to the one in
 * use.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/route.h"
#include "route/repair.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LFT = ROUTE_OWN, STAGE, FULL };

static const struct option long_options[] = {
    ROUTE_VIEW_OPTIONS,
    {"lft", required_argument, NULL, LFT},
    {"stage", required_argument, NULL, STAGE},
    {"full", no_argument, NULL, FULL},
    {NULL, 0, NULL, 0},
};

struct repair_work {
    struct route_input input;
    struct lft_dump old_dump;
    struct lft *lft; /* mended */
    struct load *load;
    struct repair_result result;
    double turns_seconds;
    uint64_t unavoidable;
    struct turns *turns; /* that the mended table keeps to */
    const char *table;   /* path of the old one */
    bool staged;
};

/* Every table entry anew, when the old one leaves no room for a gentle change. */
static int replace_all(struct repair_work *work)
{
    struct routing *routing;
    int result = routing_create(&routing, work->input.traffic, algorithm_find("turn-addition"),
                                NULL);
    if (result < 0)
        return result;
    struct lft *made = routing->lft;
    routing->lft = NULL;
    work->turns = routing->turns;
    routing->turns = NULL;
    work->result.entries_changed = lft_difference(work->lft, made);
    work->result.seconds = routing->turns_seconds + routing->tables_seconds;
    lft_destroy(work->lft);
    work->lft = made;
    work->staged = true;
    routing_destroy(routing);
    return 0;
}

static int unavoidable_count(struct repair_work *work, const struct turns *turns)
{
    struct reach *reach = NULL;
    int result = reach_create(&reach, turns);
    if (result == 0)
        work->unavoidable = repair_unavoidable(work->lft, reach);
    reach_destroy(reach);
    return result;
}

/* The ranks beside the old table, if they are there and know all cables. */
static int64_t *ranks_read(const struct repair_work *work)
{
    char path[4096];
    struct source source;
    const struct net *net = work->input.net;
    route_ranks_path(path, sizeof(path), work->table);
    if (access(path, R_OK) != 0 || source_open(&source, path) < 0)
        return NULL;
    int64_t *rank = malloc((net->channel_count + 1) * sizeof(*rank));
    if (rank && formats_ranks_parse(rank, net, &source) < 0) {
        log_debug("%s", rh_error_text());
        free(rank);
        rank = NULL;
    }
    source_close(&source);
    return rank;
}

static int mend(struct repair_work *work)
{
    struct turns *turns = NULL;
    int64_t start_ns = clock_now_ns();
    int64_t *rank = ranks_read(work);
    int result = repair_turns(&turns, work->lft, work->input.traffic, rank);
    free(rank);
    work->turns_seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    if (result == -ENETUNREACH || result == -ELOOP)
        return replace_all(work);
    if (result == 0)
        result = load_create(&work->load, work->input.traffic);
    if (result == 0)
        result = load_of_table(work->load, work->lft);
    if (result == 0)
        result = unavoidable_count(work, turns);
    if (result == 0)
        result = repair_table(work->lft, turns, work->load, &work->result);
    work->turns = turns;
    return result;
}

/* The first of two stages: what will change is dropped, what stays stays. */
static int stage_write(const struct repair_work *work, const char *path)
{
    const struct net *net = work->input.net;
    struct lft *old = NULL;
    int result = formats_lft_import(&old, net, &work->old_dump);
    if (result < 0)
        return route_fail();
    size_t size = (size_t)net->target_count * net->switch_count;
    for (size_t i = 0; i < size; i++) {
        if (old->next[i] != work->lft->next[i])
            old->next[i] = LFT_NONE;
    }
    result = route_table_write(old, NULL, path);
    lft_destroy(old);
    return result;
}

static int full_compare(const struct repair_work *work)
{
    struct routing *routing;
    if (routing_create(&routing, work->input.traffic, algorithm_find("turn-addition"), NULL) < 0)
        return route_fail();
    for (uint32_t k = 0; k < work->input.traffic->class_count; k++) {
        double mended = load_throughput(work->load, k), full = load_throughput(routing->load, k);
        printf("throughput of class %u: %.4f mended, %.4f computed anew (%+.1f %%)\n", k, mended,
               full, 100 * (mended / full - 1));
    }
    routing_destroy(routing);
    return 0;
}

static int report(struct repair_work *work)
{
    struct lft_dump dump;
    struct check_report check, transition;
    int result = formats_lft_export(&dump, work->lft);
    if (result < 0)
        return route_fail();
    result = check_tables(work->input.fabric, &dump, NULL, &check);
    if (result == 0)
        result = check_transition(work->input.fabric, &work->old_dump, &dump, &transition);
    formats_lft_free(&dump);
    if (result < 0)
        return route_fail();
    printf("entries: %" PRIu64 " changed for %u targets, %" PRIu64
           " of them led nowhere any more, %" PRIu64
           " could not stay\ntime: %.1f ms to mend, %.1f ms to learn the old turns\n",
           work->result.entries_changed, work->result.targets_changed, work->result.entries_forced,
           work->unavoidable, work->result.seconds * 1e3, work->turns_seconds * 1e3);
    route_check_text(stdout, &check);
    printf("transition: %s\n",
           transition.loop_free
               ? "old and new ways together have no cycle, switches may change in any order"
               : "old and new ways together have a cycle: load the --stage table first, wait until "
                 "packets of the old ways are gone, then load the new one");
    return check_passed(&check) ? 0 : 1;
}

struct repair_arguments {
    struct route_view view;
    const char *old_fabric, *table, *new_fabric, *lft, *stage;
    bool full;
};

static bool arguments_take(struct repair_arguments *arguments, int argc, char **argv)
{
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == LFT)
            arguments->lft = optarg;
        else if (option == STAGE)
            arguments->stage = optarg;
        else if (option == FULL)
            arguments->full = true;
        else if (!route_view_take(&arguments->view, option))
            return false;
    }
    if (argc - optind != 3)
        return false;
    arguments->old_fabric = argv[optind];
    arguments->table = argv[optind + 1];
    arguments->new_fabric = argv[optind + 2];
    return true;
}

static int repair(struct repair_work *work, const struct repair_arguments *arguments)
{
    int result = formats_lft_read(&work->old_dump, work->input.fabric, arguments->table);
    if (result == 0)
        result = formats_lft_import(&work->lft, work->input.net, &work->old_dump);
    if (result == 0)
        result = mend(work);
    if (result < 0)
        return route_fail();
    int status = report(work);
    if (status == 0 && arguments->lft)
        status = route_table_write(work->lft, work->turns, arguments->lft);
    if (status == 0 && arguments->stage)
        status = stage_write(work, arguments->stage);
    if (status == 0 && arguments->full && work->load)
        status = full_compare(work);
    return status;
}

int cli_route_repair(int argc, char **argv)
{
    struct repair_arguments arguments = {0};
    struct fabric *old_fabric = NULL;
    if (!arguments_take(&arguments, argc, argv))
        return cli_usage_error("route",
                               "repair needs the old fabric, its table, and the new fabric");
    if (formats_fabric_read(&old_fabric, arguments.old_fabric, NULL) < 0)
        return route_fail();
    struct repair_work work = {.table = arguments.table};
    int status = route_input_open(&work.input, arguments.new_fabric, &arguments.view);
    if (status == 0)
        status = repair(&work, &arguments);
    formats_lft_free(&work.old_dump);
    lft_destroy(work.lft);
    turns_destroy(work.turns);
    load_destroy(work.load);
    route_input_close(&work.input);
    fabric_destroy(old_fabric);
    return status;
}
