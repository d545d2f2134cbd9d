/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The paper's four experiments on the simulated network (cluster.h). A block is a
 * 16th of the paper's, and so are the lengths of reads; of a node's blocks and of the file's there
 * are fewer by another factor, the same for both.
 */
#include "cli/cli.h"
#include "cli/json_put.h"
#include "experiment/cache/bench.h"
#include "experiment/cache/cluster.h"

#include <rhinet/error.h>

#define KIB          1024u
#define BLOCK        (64 * KIB) /* the paper: 1 MiB */
#define READ         (16 * KIB) /* the paper: 256 KiB */
#define CACHE_BLOCKS 32         /* of a node, where it is to be too small */
#define MARGIN       8          /* blocks more than the file, where it is not */

static const int default_counts[BENCH_COUNTS_MAX] = {12, 24, 48, 96, 128};

struct counts {
    const int *count;
    int length;
};

static struct counts node_counts(const struct cache_bench *bench)
{
    if (bench->node_count_count > 0)
        return (struct counts){bench->node_counts, bench->node_count_count};
    return (struct counts){default_counts, bench->is_quick ? 2 : BENCH_COUNTS_MAX};
}

static void write_json(const struct cache_bench *bench, const char *experiment,
                       const struct cache_cluster_trial *trial,
                       const struct cache_cluster_result *result)
{
    char hash[32];
    if (!bench->json)
        return;
    json_t *object = json_object();
    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)result->hash);
    json_put_format(object, "cache trial 1");
    json_put_text(object, "experiment", experiment);
    json_put_flag(object, "simulated", true);
    json_put_number(object, "seed", trial->seed);
    json_put_number(object, "nodes", (uint64_t)trial->nodes);
    json_put_flag(object, "plain", trial->is_plain);
    json_put_number(object, "groups", (uint64_t)trial->groups);
    if (trial->singlets < 0)
        json_put_text(object, "singlets", "auto");
    else
        json_put_real(object, "singlets", trial->singlets);
    json_put_number(object, "data_bytes", trial->file_length);
    json_put_number(object, "read_length", trial->read_length);
    json_put_number(object, "cache_bytes", (uint64_t)trial->cache_blocks * trial->block_length);
    json_put_real(object, "seconds", result->seconds);
    json_put_number(object, "bytes", result->bytes);
    json_put_real(object, "mib_per_s", (double)result->bytes / (1 << 20) / result->seconds);
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        json_put_number(object, cache_counter_name(i), result->counters[i]);
    json_put_text(object, "hash", hash);
    json_dumpf(object, bench->json, JSON_COMPACT);
    fputc('\n', bench->json);
    fflush(bench->json);
    json_decref(object);
}

/* Run one trial; *place is to have what all nodes together read in a second, in MiB. */
static int fill(const struct cache_bench *bench, const char *experiment,
                const struct cache_cluster_trial *trial, double *place)
{
    struct cache_cluster_result result;
    cli_progress("%s, simulated nodes: %d%s", experiment, trial->nodes,
                 trial->is_plain ? ", without the cache" : "");
    int failure = cache_cluster_run(trial, &result);
    cli_progress_end();
    if (failure < 0) {
        cli_say("simulated %s on %d nodes, seed %llu: %s", experiment, trial->nodes,
                (unsigned long long)trial->seed, rh_error_text());
        return 1;
    }
    *place = (double)result.bytes / (1 << 20) / result.seconds;
    write_json(bench, experiment, trial, &result);
    return 0;
}

static const struct {
    const char *name;
    bool is_plain;
    int groups;
} ways[] = {{"plain", true, 1},
            {"1 group", false, 1},
            {"2 groups", false, 2},
            {"4 groups", false, 4},
            {"8 groups", false, 8}};
#define WAY_COUNT ((int)(sizeof(ways) / sizeof(ways[0])))

/* All ways of reading on all numbers of nodes. */
static int run_ways(const struct cache_bench *bench, const char *experiment,
                    struct cache_cluster_trial trial, struct bench_sheet *sheet)
{
    struct counts counts = node_counts(bench);
    int status = 0;
    sheet->x_label = "nodes";
    sheet->line_count = WAY_COUNT;
    sheet->point_count = counts.length;
    trial.block_length = BLOCK;
    trial.singlets = -1;
    trial.seed = bench->seed;
    for (int point = 0; point < counts.length; point++) {
        sheet->x[point] = trial.nodes = counts.count[point];
        for (int way = 0; way < WAY_COUNT && status == 0; way++) {
            sheet->line_names[way] = ways[way].name;
            trial.is_plain = ways[way].is_plain;
            trial.groups = ways[way].groups;
            status = fill(bench, experiment, &trial, &sheet->y[way][point]);
        }
    }
    return status;
}

int bench_simulate_sequential(struct cache_bench *bench)
{
    struct bench_sheet sheet = {.title = "All nodes read the same file from its start, simulated"};
    uint32_t blocks = bench->is_quick ? 16 : 48;
    struct cache_cluster_trial trial = {.kind = CACHE_CLUSTER_SEQUENTIAL,
                                        .read_length = READ,
                                        .file_length = (uint64_t)blocks * BLOCK,
                                        .cache_blocks = blocks + MARGIN};
    int status = run_ways(bench, "sequential", trial, &sheet);
    return status ? status : bench_sheet_finish(bench, &sheet, "simulated-sequential");
}

int bench_simulate_stride(struct cache_bench *bench)
{
    static const struct {
        uint32_t piece, blocks;
        const char *title, *name;
    } pieces[] = {
        {KIB, 128, "Pieces of 1/64 block in turn, simulated", "simulated-stride-1"},
        {16 * KIB, 512, "Pieces of 1/4 block in turn, simulated", "simulated-stride-16"},
        {256 * KIB, 1024, "Pieces of 4 blocks in turn, simulated", "simulated-stride-256"},
    };
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++) {
        struct bench_sheet sheet = {.title = pieces[i].title};
        uint64_t blocks = pieces[i].blocks / (bench->is_quick ? 4 : 1);
        struct cache_cluster_trial trial = {.kind = CACHE_CLUSTER_STRIDE,
                                            .read_length = pieces[i].piece,
                                            .file_length = blocks * BLOCK,
                                            .cache_blocks = 128 + MARGIN};
        status = run_ways(bench, "stride", trial, &sheet);
        if (status == 0)
            status = bench_sheet_finish(bench, &sheet, pieces[i].name);
    }
    return status;
}

static struct cache_cluster_trial random_trial(const struct cache_bench *bench, int nodes,
                                               double share)
{
    return (struct cache_cluster_trial){.kind = CACHE_CLUSTER_RANDOM,
                                        .nodes = nodes,
                                        .groups = 1,
                                        .singlets = 0.5, /* the paper's choice */
                                        .block_length = BLOCK,
                                        .cache_blocks = CACHE_BLOCKS,
                                        .read_length = BLOCK,
                                        .file_length = (uint64_t)(share * nodes * CACHE_BLOCKS) *
                                                       BLOCK,
                                        .reads = CACHE_BLOCKS * (bench->is_quick ? 2 : 4),
                                        .seed = bench->seed};
}

/* The paper has 12 nodes: the first of the list. */
int bench_simulate_singlets(struct cache_bench *bench)
{
    static const struct {
        const char *name;
        double ratio;
    } ratios[] = {{"0", 0}, {"0.3", 0.3}, {"0.5", 0.5}, {"0.7", 0.7}, {"0.9", 0.9}, {"auto", -1}};
    static const double shares[] = {0.25, 0.5, 0.75, 1, 1.25, 1.5};
    struct bench_sheet sheet = {.title = "Random reads by singlet ratio, simulated",
                                .x_label = "file / all caches",
                                .line_count = 6};
    int status = 0;
    for (int i = bench->is_quick ? 1 : 0; i < 6 && status == 0; i += bench->is_quick ? 2 : 1) {
        int point = sheet.point_count++;
        sheet.x[point] = shares[i];
        for (int line = 0; line < 6 && status == 0; line++) {
            struct cache_cluster_trial trial = random_trial(bench, node_counts(bench).count[0],
                                                            shares[i]);
            sheet.line_names[line] = ratios[line].name;
            trial.singlets = ratios[line].ratio;
            status = fill(bench, "singlets", &trial, &sheet.y[line][point]);
        }
    }
    return status ? status : bench_sheet_finish(bench, &sheet, "simulated-singlets");
}

/* A line for each number of nodes, and one for the last of them without the cache. */
int bench_simulate_random(struct cache_bench *bench)
{
    static const double shares[] = {0.0625, 0.125, 0.25, 0.5, 0.75, 1, 1.25, 1.5};
    struct counts counts = node_counts(bench);
    char names[BENCH_COUNTS_MAX][16];
    struct bench_sheet sheet = {.title = "Random reads of growing files, simulated",
                                .x_label = "file / all caches",
                                .line_names = {"plain"},
                                .line_count = counts.length + 1};
    int status = 0;
    for (int line = 1; line <= counts.length; line++) {
        snprintf(names[line - 1], sizeof(names[0]), "%d nodes", counts.count[line - 1]);
        sheet.line_names[line] = names[line - 1];
    }
    for (int i = bench->is_quick ? 1 : 0; i < 8 && status == 0; i += bench->is_quick ? 2 : 1) {
        int point = sheet.point_count++;
        sheet.x[point] = shares[i];
        for (int line = 0; line <= counts.length && status == 0; line++) {
            int nodes = counts.count[line == 0 ? counts.length - 1 : line - 1];
            struct cache_cluster_trial trial = random_trial(bench, nodes, shares[i]);
            trial.is_plain = line == 0;
            status = fill(bench, "random", &trial, &sheet.y[line][point]);
        }
    }
    return status ? status : bench_sheet_finish(bench, &sheet, "simulated-random");
}
