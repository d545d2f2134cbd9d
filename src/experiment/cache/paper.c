/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The paper's four experiments, with sizes scaled down in proportion: what is compared is the
 * shape.
 */
#include "experiment/cache/bench.h"

#define KIB         1024ull
#define MIB         (1024 * KIB)
#define SMALL_BLOCK (64 * KIB)
#define SMALL_CACHE (8 * MIB) /* of a node, in blocks of SMALL_BLOCK: 128 of them */

/* Run one trial for a place on the sheet. */
static int fill(struct cache_bench *bench, struct bench_sheet *sheet, int line, int point,
                const struct bench_trial *trial)
{
    json_t *result = bench_trial_run(bench, trial);
    if (!result)
        return 1;
    sheet->y[line][point] = bench_number(result, "mib_per_s");
    json_decref(result);
    return 0;
}

/* Without the cache, and with several numbers of groups. */
static const struct {
    const char *name;
    bool is_plain;
    int groups;
} ways[] = {
    {"plain", true, 1}, {"1 group", false, 1}, {"2 groups", false, 2}, {"4 groups", false, 4}};
#define WAY_COUNT ((int)(sizeof(ways) / sizeof(ways[0])))

static void name_ways(struct bench_sheet *sheet)
{
    sheet->line_count = WAY_COUNT;
    for (int i = 0; i < WAY_COUNT; i++)
        sheet->line_names[i] = ways[i].name;
}

int bench_sequential(struct cache_bench *bench)
{
    struct bench_sheet sheet = {.title = "All nodes read the same file from its start",
                                .x_label = "nodes"};
    name_ways(&sheet);
    uint64_t size = (bench->is_quick ? 16 : 64) * MIB;
    int status = bench_data_file(bench, size);
    for (int nodes = 1; nodes <= bench->nodes && status == 0; nodes *= 2) {
        int point = sheet.point_count++;
        sheet.x[point] = nodes;
        for (int way = 0; way < WAY_COUNT && status == 0; way++) {
            struct bench_trial trial = {.experiment = "sequential",
                                        .kind = "sequential",
                                        .nodes = nodes,
                                        .is_plain = ways[way].is_plain,
                                        .groups = ways[way].groups,
                                        .length = 256 * KIB,
                                        .cache_bytes = size + 8 * MIB};
            status = fill(bench, &sheet, way, point, &trial);
        }
    }
    return status ? status : bench_sheet_finish(bench, &sheet, "sequential");
}

int bench_stride(struct cache_bench *bench)
{
    static const uint64_t lengths[] = {16 * KIB, 256 * KIB, 4 * MIB};
    struct bench_sheet sheet = {.title = "The nodes take turns, piece by piece",
                                .x_label = "piece in KiB",
                                .point_count = 3};
    name_ways(&sheet);
    uint64_t size = (bench->is_quick ? 16 : 64) * MIB;
    int status = bench_data_file(bench, size);
    for (int point = 0; point < sheet.point_count && status == 0; point++) {
        sheet.x[point] = (double)lengths[point] / KIB;
        for (int way = 0; way < WAY_COUNT && status == 0; way++) {
            struct bench_trial trial = {.experiment = "stride",
                                        .kind = "stride",
                                        .nodes = bench->nodes,
                                        .is_plain = ways[way].is_plain,
                                        .groups = ways[way].groups,
                                        .length = lengths[point],
                                        .cache_bytes = size + 8 * MIB};
            status = fill(bench, &sheet, way, point, &trial);
        }
    }
    return status ? status : bench_sheet_finish(bench, &sheet, "stride");
}

/* Reads for each node so that its cache is filled about twice. */
static uint64_t random_reads(const struct cache_bench *bench)
{
    return SMALL_CACHE / SMALL_BLOCK * (bench->is_quick ? 2 : 8);
}

static struct bench_trial random_trial(const struct cache_bench *bench, const char *experiment)
{
    return (struct bench_trial){.experiment = experiment,
                                .kind = "random",
                                .nodes = bench->nodes,
                                .groups = 1,
                                .length = SMALL_BLOCK,
                                .reads = random_reads(bench),
                                .cache_bytes = SMALL_CACHE,
                                .block_bytes = SMALL_BLOCK};
}

int bench_singlets(struct cache_bench *bench)
{
    static const char *const ratios[] = {"0", "0.3", "0.5", "0.7", "0.9", "auto"};
    static const double sizes[] = {0.25, 0.5, 0.75, 1, 1.25, 1.5};
    int step = bench->is_quick ? 2 : 1;
    struct bench_sheet sheet = {
        .title = "Random reads, by singlet ratio", .x_label = "file / all caches", .line_count = 6};
    int status = 0;
    for (int i = 0; i < 6; i++)
        sheet.line_names[i] = ratios[i];
    for (int i = step - 1; i < 6 && status == 0; i += step) {
        int point = sheet.point_count++;
        sheet.x[point] = sizes[i];
        status = bench_data_file(bench, (uint64_t)(sizes[i] * bench->nodes * SMALL_CACHE));
        for (int line = 0; line < 6 && status == 0; line++) {
            struct bench_trial trial = random_trial(bench, "singlets");
            trial.singlets = ratios[line];
            status = fill(bench, &sheet, line, point, &trial);
        }
    }
    return status ? status : bench_sheet_finish(bench, &sheet, "singlets");
}

int bench_random(struct cache_bench *bench)
{
    static const double sizes[] = {0.0625, 0.125, 0.25, 0.5, 0.75, 1, 1.25, 1.5};
    int step = bench->is_quick ? 2 : 1;
    struct bench_sheet sheet = {.title = "Random reads of growing files",
                                .x_label = "file / all caches",
                                .line_names = {"plain", "cache"},
                                .line_count = 2};
    int status = 0;
    for (int i = step - 1; i < 8 && status == 0; i += step) {
        int point = sheet.point_count++;
        sheet.x[point] = sizes[i];
        status = bench_data_file(bench, (uint64_t)(sizes[i] * bench->nodes * SMALL_CACHE));
        for (int line = 0; line < 2 && status == 0; line++) {
            struct bench_trial trial = random_trial(bench, "random");
            trial.is_plain = line == 0;
            status = fill(bench, &sheet, line, point, &trial);
        }
    }
    return status ? status : bench_sheet_finish(bench, &sheet, "random");
}
