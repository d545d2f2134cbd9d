/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bench.h.
 */
#include "experiment/cache/bench.h"

#include "base/text.h"
#include "cli/route/route.h"
#include "experiment/experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPERIMENT_COUNT 6

static const char *const names[EXPERIMENT_COUNT + 1] = {"speed",  "sequential", "singlets",
                                                        "random", "stride",     "overhead"};
static const struct {
    bench_experiment *run, *simulate; /* simulate is NULL: it measures a real machine */
} experiments[EXPERIMENT_COUNT] = {
    {bench_speed, NULL},
    {bench_sequential, bench_simulate_sequential},
    {bench_singlets, bench_simulate_singlets},
    {bench_random, bench_simulate_random},
    {bench_stride, bench_simulate_stride},
    {bench_overhead, NULL},
};

static struct cache_bench bench = {.pretend = "100M", .nodes = 4};

static int take_run(char *text)
{
    for (char *word; (word = strsep(&text, " "));) {
        if (!word[0])
            continue;
        if (bench.run_word_count == BENCH_RUN_WORDS)
            return cli_usage_error("--run has more than %d words", BENCH_RUN_WORDS);
        bench.run_words[bench.run_word_count++] = word;
    }
    return 0;
}

static int take_json(char *path)
{
    bench.json_path = path;
    bench.json = route_output_open(path);
    return bench.json ? 0 : 1;
}

/* One number, or a list of them. */
static int take_nodes(char *text)
{
    char copy[64], *rest = copy;
    bench.node_count_count = 0;
    snprintf(copy, sizeof(copy), "%s", text); /* longer is too many */
    for (char *word; (word = strsep(&rest, ","));) {
        uint64_t count;
        if (!text_to_u64(word, &count) || count < 1 || count > BENCH_NODES_MAX ||
            bench.node_count_count == BENCH_COUNTS_MAX)
            return -1;
        bench.node_counts[bench.node_count_count++] = (int)count;
    }
    bench.nodes = bench.node_counts[0];
    return 0;
}

static int take_path(char *path)
{
    bench.path = path;
    bench.pretend = "";
    return 0;
}

static int take_pretend(char *text)
{
    uint64_t speed;
    if (!text_to_size(text, &speed) || speed == 0)
        return -1;
    bench.pretend = text;
    return 0;
}

static const struct cli_option options[] = {
    CLI_FLAG("quick", &bench.is_quick, "less data"),
    CLI_CALL("nodes", "N", take_nodes, "nodes of the experiments, 4 unless given",
             .allowed = "a number up to 128; with --simulate up to five, with commas"),
    CLI_FLAG("simulate", &bench.is_simulated,
             "on the simulated network, in virtual time; --nodes is a list"),
    CLI_NUMBER("seed", "N", 0, UINT64_MAX, &bench.seed, "of what chance decides there",
               .standard = "1"),
    CLI_CALL("pretend", "SPEED", take_pretend,
             "bytes per second of a pretended file system; 100M unless given",
             .allowed = "a speed such as 100M"),
    CLI_CALL("path", "FOLDER", take_path, "measure the file system that this is on instead",
             .takes_file = true),
    CLI_CALL("run", "WORDS", take_run, "further arguments of `rhinet run`, such as --hosts A,B"),
    CLI_CALL("json", "FILE", take_json, "one JSON object for each trial, - for stdout",
             .takes_file = true),
    CLI_FILE("plot", "FOLDER", &bench.plot, "pictures of the experiments"),
    CLI_OPTIONS_END,
};

static int make_folder(void)
{
    if (bench.plot && plot_folder_make(bench.plot) != 0)
        return 1;
    if (bench.is_simulated)
        return 0;
    int error = scratch_open(&bench.scratch, bench.path);
    if (error == 0)
        return 0;
    const char *top = bench.path ? bench.path : getenv("TMPDIR");
    cli_say("no folder for data in %s (%s): %s", top ? top : "/tmp",
            bench.path ? "--path" : "TMPDIR", strerror(error));
    return 1;
}

static int run_experiment(size_t which)
{
    if (!bench.is_simulated)
        return experiments[which].run(&bench);
    if (experiments[which].simulate)
        return experiments[which].simulate(&bench);
    return cli_usage_error("%s cannot be simulated, it measures a real machine", names[which]);
}

static int run_named(const char *name)
{
    size_t i = 0;
    while (strcmp(names[i], name) != 0) /* it is one of these: they are the choices */
        i++;
    return run_experiment(i);
}

static int run_all(void)
{
    int status = 0;
    for (size_t i = 0; i < EXPERIMENT_COUNT && status == 0; i++) {
        if (!bench.is_simulated || experiments[i].simulate)
            status = run_experiment(i);
    }
    return status;
}

static int bench_run(int count, char **words)
{
    int status = 0;
    if (bench.node_count_count > 1 && !bench.is_simulated)
        status = cli_usage_error("a list of --nodes is for --simulate");
    if (status == 0)
        status = make_folder();
    for (int i = 0; i < count && status == 0; i++)
        status = run_named(words[i]);
    if (count == 0 && status == 0)
        status = run_all();
    scratch_close(&bench.scratch);
    return bench.json ? route_output_close(bench.json, bench.json_path, status) : status;
}

const struct cli_command cli_bench_cache = {
    .name = "cache",
    .help = "the file cache: its paper's experiments, and how fast hits are",
    .operands = "[EXPERIMENT...]",
    .options = options,
    .choices = names,
    .run = bench_run};
