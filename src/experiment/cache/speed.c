/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The figures that the cache must reach, each a ratio of two things measured in the same run.
 */
#include "cli/table.h"
#include "experiment/cache/bench.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

static const struct table_column columns[] = {
    {.title = "MEASURE"},
    {.title = "OURS", .is_number = true},
    {.title = "BESIDE", .is_number = true},
    {.title = "UNIT"},
    {.title = "RATIO", .is_number = true},
    {.title = "WANTED", .is_number = true},
    {.title = "", .rank = 1},
};

struct row {
    const char *name, *unit;
    double ours, beside, ratio;
    double wanted;
    bool is_most; /* the ratio must not be more */
};

static void add_row(struct table *table, const struct row *row)
{
    bool is_reached = row->is_most ? row->ratio <= row->wanted : row->ratio >= row->wanted;
    table_cell(table, "%s", row->name);
    table_cell(table, "%.4g", row->ours);
    table_cell(table, "%.4g", row->beside);
    table_cell(table, "%s", row->unit);
    table_cell(table, "%.2f", row->ratio);
    table_cell(table, "%s %.2f", row->is_most ? "<=" : ">=", row->wanted);
    table_cell(table, "%s", is_reached ? "ok" : "MISSED");
}

/* With the cache and without. */
struct pair {
    json_t *ours, *plain;
};

static int run_pair(struct cache_bench *bench, struct bench_trial *trial, struct pair *pair)
{
    trial->is_plain = true;
    pair->plain = bench_trial_run(bench, trial);
    trial->is_plain = false;
    pair->ours = pair->plain ? bench_trial_run(bench, trial) : NULL;
    return pair->ours ? 0 : 1;
}

static void free_pair(struct pair *pair)
{
    json_decref(pair->ours);
    json_decref(pair->plain);
}

static struct row speed_row(const struct pair *pair, const char *name, double wanted)
{
    struct row row = {.name = name, .unit = "MiB/s", .wanted = wanted};
    row.ours = bench_number(pair->ours, "mib_per_s");
    row.beside = bench_number(pair->plain, "mib_per_s");
    row.ratio = row.ours / row.beside;
    return row;
}

static int measure_cold(struct cache_bench *bench, struct table *table)
{
    uint64_t size = (bench->is_quick ? 64 : 1024) * MIB;
    struct pair pair = {0};
    struct bench_trial trial = {.experiment = "cold",
                                .kind = "sequential",
                                .nodes = 4,
                                .length = 256 * KIB,
                                .cache_bytes = size + 16 * MIB};
    int status = bench_data_file(bench, size);
    if (status == 0)
        status = run_pair(bench, &trial, &pair);
    if (status == 0) {
        struct row speed = speed_row(&pair, "4 nodes, cold file, 256 KiB reads / plain", 3.5);
        struct row bytes = {.name = "  bytes from the file system / file",
                            .unit = "MiB",
                            .ours = bench_number(pair.ours, "load_bytes") / MIB,
                            .beside = (double)size / MIB,
                            .wanted = 1.02,
                            .is_most = true};
        bytes.ratio = bytes.ours / bytes.beside;
        add_row(table, &speed);
        add_row(table, &bytes);
    }
    free_pair(&pair);
    return status;
}

static int measure_files(struct cache_bench *bench, struct table *table)
{
    uint64_t count = bench->is_quick ? 200 : 1000;
    struct pair pair = {0};
    struct bench_trial trial = {.experiment = "files",
                                .kind = "files",
                                .nodes = 4,
                                .length = 100 * KIB,
                                .reads = count,
                                .cache_bytes = 256 * MIB};
    int status = bench_data_folder(bench, count, 100 * KIB);
    if (status == 0)
        status = run_pair(bench, &trial, &pair);
    if (status == 0) {
        struct row row = speed_row(&pair, "4 nodes, files of 100 KiB / plain", 2);
        add_row(table, &row);
    }
    free_pair(&pair);
    return status;
}

static int measure_hits(struct cache_bench *bench, struct table *table)
{
    static const struct {
        const char *name;
        uint64_t length, reads;
        double wanted;
    } hits[] = {{"local hit, 4 KiB / pread", 4 * KIB, 2000, 1},
                {"local hit, 256 KiB / pread", 256 * KIB, 60, 0.9},
                {"local hit, 1 MiB / pread", MIB, 20, 0.9}};
    int status = bench_data_file(bench, 64 * MIB);
    for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]) && status == 0; i++) {
        struct bench_trial trial = {.experiment = "hits",
                                    .kind = "hits",
                                    .nodes = 1,
                                    .length = hits[i].length,
                                    .reads = hits[i].reads,
                                    .cache_bytes = 80 * MIB,
                                    .is_alone = true};
        json_t *result = bench_trial_run(bench, &trial);
        if (!result)
            return 1;
        struct row row = {.name = hits[i].name,
                          .unit = "ns",
                          .ours = bench_number(result, "ours_ns"),
                          .beside = bench_number(result, "kernel_ns"),
                          .ratio = bench_number(result, "ratio"),
                          .wanted = hits[i].wanted};
        add_row(table, &row);
        json_decref(result);
    }
    return status;
}

static int measure_remote(struct cache_bench *bench, struct table *table)
{
    struct bench_trial trial = {.experiment = "remote",
                                .kind = "remote",
                                .nodes = 2,
                                .length = MIB,
                                .cache_bytes = 80 * MIB,
                                .is_alone = true};
    int status = bench_data_file(bench, 64 * MIB);
    json_t *result = status == 0 ? bench_trial_run(bench, &trial) : NULL;
    if (!result)
        return 1;
    struct row row = {.name = "remote hit, 1 MiB / push",
                      .unit = "MiB/s",
                      .ours = bench_number(result, "ours_mib_per_s"),
                      .beside = bench_number(result, "push_mib_per_s"),
                      .ratio = bench_number(result, "ratio"),
                      .wanted = 0.85};
    add_row(table, &row);
    json_decref(result);
    return 0;
}

int bench_speed(struct cache_bench *bench)
{
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    int status = measure_hits(bench, table);
    if (status == 0)
        status = measure_remote(bench, table);
    if (status == 0)
        status = measure_cold(bench, table);
    if (status == 0)
        status = measure_files(bench, table);
    if (status == 0)
        table_print(table, stdout, 0);
    table_destroy(table);
    return status;
}
