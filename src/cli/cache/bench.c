/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bench.h.
 */
#include "cli/cache/bench.h"

#include "base/text.h"
#include "cli/cache/cache.h"
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRETEND_DEFAULT "100M"
#define NODES_DEFAULT   4

static const struct {
    const char *name;
    int (*run)(struct cache_bench *bench);
    int (*simulate)(struct cache_bench *bench); /* NULL: it measures a real machine */
} experiments[] = {
    {"speed", bench_speed, NULL},
    {"sequential", bench_sequential, bench_simulate_sequential},
    {"singlets", bench_singlets, bench_simulate_singlets},
    {"random", bench_random, bench_simulate_random},
    {"stride", bench_stride, bench_simulate_stride},
    {"overhead", bench_overhead, NULL},
};
#define EXPERIMENT_COUNT (sizeof(experiments) / sizeof(experiments[0]))

enum option_value {
    OPTION_QUICK = 256,
    OPTION_NODES,
    OPTION_JSON,
    OPTION_PLOT,
    OPTION_PATH,
    OPTION_PRETEND,
    OPTION_RUN,
    OPTION_SIMULATE,
    OPTION_SEED
};

static int add_run_words(struct cache_bench *bench, char *text)
{
    for (char *word; (word = strsep(&text, " "));) {
        if (!word[0])
            continue;
        if (bench->run_word_count == BENCH_RUN_WORDS)
            return cli_usage_error("bench: --run has more than %d words", BENCH_RUN_WORDS);
        bench->run_words[bench->run_word_count++] = word;
    }
    return 0;
}

static int open_json(struct cache_bench *bench, const char *path)
{
    bench->json = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (bench->json)
        return 0;
    fprintf(stderr, "rhinet cache: cannot write %s: %s\n", path, strerror(errno));
    return 1;
}

/* One number, or a list of them. */
static int set_nodes(struct cache_bench *bench, char *text)
{
    bench->node_count_count = 0;
    for (char *word; (word = strsep(&text, ","));) {
        uint64_t count;
        if (!text_to_u64(word, &count) || count < 1 || count > BENCH_NODES_MOST)
            return cli_usage_error("bench: --nodes %s: a number up to %d is expected", word,
                                   BENCH_NODES_MOST);
        if (bench->node_count_count == BENCH_COUNTS_MOST)
            return cli_usage_error("bench: --nodes has more than %d numbers", BENCH_COUNTS_MOST);
        bench->node_counts[bench->node_count_count++] = (int)count;
    }
    bench->nodes = bench->node_counts[0];
    return 0;
}

static int set_seed(struct cache_bench *bench, const char *text)
{
    if (text_to_u64(text, &bench->seed))
        return 0;
    return cli_usage_error("bench: --seed %s: a number is expected", text);
}

static int set_option(struct cache_bench *bench, int option, char *value, const char *word)
{
    switch (option) {
    case OPTION_QUICK:
        bench->is_quick = true;
        return 0;
    case OPTION_NODES:
        return set_nodes(bench, value);
    case OPTION_JSON:
        return open_json(bench, value);
    case OPTION_PLOT:
        bench->plot = value;
        return 0;
    case OPTION_PATH:
        bench->folder = value;
        bench->pretend = "";
        return 0;
    case OPTION_PRETEND:
        bench->pretend = value;
        return 0;
    case OPTION_RUN:
        return add_run_words(bench, value);
    case OPTION_SIMULATE:
        bench->is_simulated = true;
        return 0;
    case OPTION_SEED:
        return set_seed(bench, value);
    default:
        return cli_usage_error("bench: %s makes no sense", word);
    }
}

static int make_folder(struct cache_bench *bench)
{
    const char *top = getenv("TMPDIR");
    if (bench->plot)
        mkdir(bench->plot, 0777);
    if (bench->folder || bench->is_simulated)
        return 0;
    snprintf(bench->own_folder, sizeof(bench->own_folder), "%s/rhinet-bench-XXXXXX",
             top && strlen(top) < 40 ? top : "/tmp");
    if (!mkdtemp(bench->own_folder)) {
        fprintf(stderr, "rhinet cache: no folder for data: %s\n", strerror(errno));
        bench->own_folder[0] = '\0';
        return 1;
    }
    bench->folder = bench->own_folder;
    return 0;
}

static int run_experiment(struct cache_bench *bench, size_t which)
{
    if (!bench->is_simulated)
        return experiments[which].run(bench);
    if (experiments[which].simulate)
        return experiments[which].simulate(bench);
    return cli_usage_error("bench: %s cannot be simulated, it measures a real machine",
                           experiments[which].name);
}

static int run_named(struct cache_bench *bench, const char *name)
{
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        if (strcmp(experiments[i].name, name) == 0)
            return run_experiment(bench, i);
    }
    return cli_usage_error("bench: no experiment %s; there are speed, sequential, singlets, "
                           "random, stride, overhead",
                           name);
}

static int run_all(struct cache_bench *bench)
{
    int status = 0;
    for (size_t i = 0; i < EXPERIMENT_COUNT && status == 0; i++) {
        if (!bench->is_simulated || experiments[i].simulate)
            status = run_experiment(bench, i);
    }
    return status;
}

int cli_cache_bench(int argc, char **argv)
{
    static const struct option known[] = {
        {"quick", no_argument, NULL, OPTION_QUICK},
        {"nodes", required_argument, NULL, OPTION_NODES},
        {"json", required_argument, NULL, OPTION_JSON},
        {"plot", required_argument, NULL, OPTION_PLOT},
        {"path", required_argument, NULL, OPTION_PATH},
        {"pretend", required_argument, NULL, OPTION_PRETEND},
        {"run", required_argument, NULL, OPTION_RUN},
        {"simulate", no_argument, NULL, OPTION_SIMULATE},
        {"seed", required_argument, NULL, OPTION_SEED},
        {NULL, 0, NULL, 0},
    };
    struct cache_bench bench = {.pretend = PRETEND_DEFAULT, .nodes = NODES_DEFAULT, .seed = 1};
    int status = 0;
    optind = 1;
    for (int found; (found = getopt_long(argc, argv, ":", known, NULL)) != -1 && status == 0;)
        status = set_option(&bench, found, optarg, argv[optind - 1]);
    if (status == 0 && bench.node_count_count > 1 && !bench.is_simulated)
        status = cli_usage_error("bench: a list of --nodes is for --simulate");
    if (status == 0)
        status = make_folder(&bench);
    for (int i = optind; i < argc && status == 0; i++)
        status = run_named(&bench, argv[i]);
    if (optind == argc && status == 0)
        status = run_all(&bench);
    bench_data_remove(&bench);
    if (bench.own_folder[0])
        rmdir(bench.own_folder);
    if (bench.json && bench.json != stdout && fclose(bench.json) != 0)
        status = 1;
    return status;
}
