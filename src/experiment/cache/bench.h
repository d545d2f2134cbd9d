/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache bench`: the paper's four experiments, and how fast hits are.
 *
 *   bench.c     options and order
 *   job.c       data, starting a trial, its result
 *   trial*.c    being a node of it: trial.h
 *   paper.c     the four experiments: tables and plots
 *   simulate.c  the same on a simulated network: cluster.c, on the network of fat_tree.c
 *   sheet.c     a table and a picture
 *   speed.c     the figures that must be reached
 *   overhead.c  what the library costs programs that have nothing to do with the cache
 */
#pragma once

#include "cli/plot.h"
#include "experiment/scratch.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_RUN_WORDS  32
#define BENCH_NODES_MAX  128
#define BENCH_COUNTS_MAX 5 /* numbers of nodes of a simulated experiment */
#define BENCH_POINTS_MAX 8
#define BENCH_PATH_MAX   1000 /* with a file's number it fits into trial.h's */
#define BENCH_LINES_MAX  PLOT_LINES_MAX

struct cache_bench {
    bool is_quick;
    bool is_simulated;
    uint64_t seed;                     /* of simulated experiments */
    int nodes;                         /* of the experiments */
    int node_counts[BENCH_COUNTS_MAX]; /* of the simulated ones */
    int node_count_count;
    FILE *json; /* NULL: none */
    const char *json_path;
    const char *plot;       /* folder for pictures, or NULL */
    const char *path;       /* the user's, on the file system to measure, or NULL */
    struct scratch scratch; /* of the data, there: nothing of the user's can be in it */
    const char *pretend;    /* bytes per second of the pretended file system; "": the real one */
    char *run_words[BENCH_RUN_WORDS]; /* further arguments of `rhinet run` */
    int run_word_count;
    char data[BENCH_PATH_MAX]; /* the file or folder that was made last */
    uint64_t data_size;
};

/* Lines of figures over the same points: a table and a picture. */
struct bench_sheet {
    const char *title, *x_label;
    const char *line_names[BENCH_LINES_MAX];
    int line_count;
    double x[BENCH_POINTS_MAX];
    int point_count;
    double y[BENCH_LINES_MAX][BENCH_POINTS_MAX];
};

/* Print it, and draw it if there is to be a picture. 0, or an exit status. */
int bench_sheet_finish(const struct cache_bench *bench, const struct bench_sheet *sheet,
                       const char *name);

/* One trial: see trial.h. */
struct bench_trial {
    const char *experiment;
    const char *kind;
    int nodes;
    bool is_plain;
    uint64_t length, reads;
    uint64_t cache_bytes, block_bytes;
    int groups;
    const char *singlets;
    bool is_alone; /* a measurement of the machine: no pretended file system, no read-ahead */
};

/* Make a file of so many bytes, or a folder of `count` such files; what was made before goes. 0, or
 * an exit status after it has said what is wrong. */
int bench_data_file(struct cache_bench *bench, uint64_t size);
int bench_data_folder(struct cache_bench *bench, uint64_t count, uint64_t size);

/* Run it; the result is the caller's, or NULL after it has said what is wrong. */
json_t *bench_trial_run(struct cache_bench *bench, const struct bench_trial *trial);

/* A number of a result. */
double bench_number(const json_t *result, const char *name);

/* An experiment, on this machine or simulated. 0, or an exit status. */
typedef int bench_experiment(struct cache_bench *bench);
bench_experiment bench_singlets, bench_sequential, bench_random, bench_stride, bench_speed,
    bench_overhead, bench_simulate_singlets, bench_simulate_sequential, bench_simulate_random,
    bench_simulate_stride;
