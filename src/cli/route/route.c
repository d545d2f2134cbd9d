/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route`: deadlock-free routing tables for real fabrics. What its subcommands share:
 * opening fabrics and files.
 */
#include "cli/route/route.h"

#include "base/error.h"
#include "base/text.h"
#include "experiment/experiment.h"

#include <string.h>

struct route_view route_view;

static int take_separator(char *text)
{
    if (strlen(text) != 1)
        return -1;
    route_view.separator = text[0];
    return 0;
}

static const char *const models[] = {"auto", "uniform", "groups", "matrix:", "counters:", NULL};

const struct cli_option route_view_options[] = {
    CLI_TEXT("traffic", "MODEL", &route_view.traffic,
             "auto, uniform, groups[:WEIGHT], matrix:FILE or counters:FILE", .choices = models,
             .standard = "auto"),
    CLI_CALL("groups", "C", take_separator, "names begin with their group and this character",
             .allowed = "one character"),
    CLI_OPTIONS_END,
};

const char *route_algorithm_name(size_t index)
{
    return algorithms[index].name;
}

static int traffic_file_read(struct route_input *input, const char *path,
                             int (*parse)(struct traffic **, const struct net *, struct lines *))
{
    struct lines source;
    int result = lines_open(&source, path);
    if (result < 0)
        return result;
    result = parse(&input->traffic, input->net, &source);
    lines_close(&source);
    return result;
}

static int traffic_make(struct route_input *input, const char *text)
{
    double weight = 0.01;
    if (strcmp(text, "uniform") == 0)
        return traffic_uniform(&input->traffic, input->net);
    if (strncmp(text, "matrix:", 7) == 0)
        return traffic_file_read(input, text + 7, traffic_matrix_parse);
    if (strncmp(text, "counters:", 9) == 0)
        return traffic_file_read(input, text + 9, traffic_counters_parse);
    if (strncmp(text, "groups:", 7) == 0) {
        if (!text_to_real(text + 7, &weight) || weight < 0)
            return error_fail(-EINVAL, "'%s' is no weight for traffic between groups", text + 7);
    } else if (strcmp(text, "groups") != 0 && strcmp(text, "auto") != 0) {
        return error_fail(
            -EINVAL,
            "traffic '%s' is unknown; it is auto, uniform, groups[:WEIGHT], matrix:FILE or "
            "counters:FILE",
            text);
    }
    return traffic_groups(&input->traffic, input->net, weight);
}

int route_input_prepare(struct route_input *input, const char *traffic)
{
    int result = net_create(&input->net, input->fabric);
    if (result == 0)
        result = traffic_make(input, traffic);
    if (result < 0) {
        route_input_close(input);
        return cli_fail();
    }
    return 0;
}

int route_input_open(struct route_input *input, const char *path, const struct route_view *view)
{
    memset(input, 0, sizeof(*input));
    cli_progress("reading %s", path);
    if (formats_fabric_read(&input->fabric, path, &input->lids_given) < 0)
        return cli_fail();
    if (fabric_part_keep(input->fabric, &input->cut) < 0) {
        route_input_close(input);
        return cli_fail();
    }
    if (input->cut.switches + input->cut.hosts > 0)
        cli_say("%s: %u switches and %u hosts are cut off from the largest part, "
                "'%s' first; they are left out. Check their cables, then discover the fabric "
                "again",
                path, input->cut.switches, input->cut.hosts, input->cut.first);
    snprintf(input->model, sizeof(input->model), "%.200s%s%c", view->traffic,
             view->separator ? " by " : "", view->separator);
    if (view->separator)
        fabric_groups_by_name(input->fabric, view->separator);
    int status = route_input_prepare(input, view->traffic);
    cli_progress_end();
    return status;
}

void route_input_close(struct route_input *input)
{
    traffic_destroy(input->traffic);
    net_destroy(input->net);
    fabric_destroy(input->fabric);
    memset(input, 0, sizeof(*input));
}

FILE *route_output_open(const char *path)
{
    if (strcmp(path, "-") == 0)
        return stdout;
    FILE *file = fopen(path, "we");
    if (!file)
        cli_say("cannot write %s: %s", path, strerror(errno));
    return file;
}

int route_output_close(FILE *file, const char *path, int result)
{
    bool failed = fflush(file) != 0 || ferror(file);
    int code = errno;
    if (file != stdout && fclose(file) != 0) {
        failed = true;
        code = errno;
    }
    if (!failed)
        return result < 0 ? cli_fail() : result;
    cli_say("writing %s failed: %s", path, strerror(code));
    return 1;
}

/* What is known of the table, into a file beside it. */
static int memo_save(const struct route_table *table, uint64_t fingerprint, const char *path)
{
    struct memo *memo = NULL;
    int result = memo_of_table(&memo, table->lft, table->turns, table->load);
    for (size_t i = 0; result == 0 && table->before && i < table->before->gone_count; i++)
        result = memo_gone_add(memo, table->before->gone[i]);
    if (result < 0) {
        memo_destroy(memo);
        return cli_fail();
    }
    memo->table = fingerprint;
    snprintf(memo->traffic, sizeof(memo->traffic), "%s", table->model);
    FILE *out = route_output_open(path);
    result = out ? route_output_close(out, path, memo_write(memo, out)) : 1;
    memo_destroy(memo);
    return result;
}

int route_table_write(const struct route_table *table, const char *path)
{
    char beside[4096];
    uint64_t fingerprint;
    FILE *out = route_output_open(path);
    if (!out)
        return 1;
    int result = lft_dump_write(table->dump, table->lft->net->fabric, out, &fingerprint);
    result = route_output_close(out, path, result);
    if (result != 0 || !table->turns || !table->turns->ranked || strcmp(path, "-") == 0)
        return result;
    route_memo_path(beside, sizeof(beside), path);
    return memo_save(table, fingerprint, beside);
}

void route_memo_path(char *path, size_t size, const char *table)
{
    snprintf(path, size, "%s.memo", table);
}

struct check_options route_check_options(const struct algorithm *algorithm, uint32_t lane_limit)
{
    return (struct check_options){.lanes = (enum check_lanes)algorithm->lanes,
                                  .lane_limit = lane_limit};
}

const struct cli_command cli_route = {
    .name = "route",
    .help = "compute, check and repair deadlock-free routing tables",
    .commands = (const struct cli_command *const[]){
        &cli_route_generate, &cli_route_compute, &cli_route_check, &cli_route_compare,
        &cli_route_repair, CLI_ALIAS("paper", cli_bench_route), NULL}};
