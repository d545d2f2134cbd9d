/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --sweep NAME=LIST: an experiment for all combinations of some constants' values, with several
 * seeds each, in processes beside each other. A command says how one combination is measured; this
 * says the rest, as a table, JSON, CSV and pictures.
 *
 *   sweep.c         lists of values; running
 *   sweep_report.c  what came out
 */
#pragma once

#include "cli/cli.h"
#include "sim/constants.h"

#include <stdio.h>

#define SWEEP_AXES_MAX    6
#define SWEEP_VALUES_MAX  64
#define SWEEP_POINTS_MAX  10000
#define SWEEP_METRICS_MAX 256

struct sweep_axis {
    char name[64];
    const char *unit;
    size_t constant; /* its number; SWEEP_OWN: the command's own, such as the load */
    double values[SWEEP_VALUES_MAX];
    size_t count;
};
#define SWEEP_OWN SIZE_MAX

struct sweep_metric {
    char name[64], unit[16];
};

struct sweep {
    /* what options say */
    struct cli_list texts;
    uint64_t seeds, processes;
    const char *csv;
    /* what is to be done */
    struct sweep_axis axes[SWEEP_AXES_MAX];
    size_t axis_count, point_count;
    /* what came out: [(point * seeds + seed) * SWEEP_METRICS_MAX + metric], NAN: nothing */
    struct sweep_metric metrics[SWEEP_METRICS_MAX];
    size_t metric_count;
    double *found;
};

/* Lines of a command's table. */
#define SIM_SWEEP_OPTIONS(sweep_)                                                                  \
    CLI_LIST("sweep", "NAME=LIST", &(sweep_)->texts,                                               \
             "for each value of a constant: A,B,C or FROM:TO:STEP; may be repeated"),              \
        CLI_NUMBER("processes", "N", 1, 64, &(sweep_)->processes,                                  \
                   "sweep: simulations at once; as many as cores unless given"),                   \
        CLI_FILE("csv", "FILE", &(sweep_)->csv, "sweep: a line for each value, - for stdout")
#define SIM_SEEDS_OPTION(sweep_)                                                                   \
    CLI_NUMBER("seeds", "N", 1, 1000, &(sweep_)->seeds,                                            \
               "measure with N seeds, and say the interval that has the mean with 95 %",           \
               .standard = "1")

/* Was one asked for? */
bool sweep_is_wanted(const struct sweep *sweep);

/* Reads the lists. 0, or the exit status after it has said what is wrong. */
int sweep_open(struct sweep *sweep);
/* Adds an axis of the command's own; the last to change. The same results. */
int sweep_axis_add(struct sweep *sweep, const char *name, const char *unit, const double *values,
                   size_t count);
void sweep_close(struct sweep *sweep);

/* One combination, to be measured. */
struct sweep_point {
    struct sim_constants constants;
    uint64_t seed;
    double own; /* value of the command's own axis, or NAN */
    const struct sweep *sweep;
    size_t number;
};

/* Gives another machine the values that the point's constants have been given. -EINVAL: no machine
 * can be made of it. */
int sweep_change(const struct sweep_point *point, struct sim_constants *constants);

struct sweep_job {
    const struct sim_constants *constants; /* which the axes change */
    uint64_t seed;                         /* the first */
    /* Calls sweep_put() for each figure. 0, or an exit status after it has said what is wrong. In a
     * process of its own. */
    int (*measure)(void *context, const struct sweep_point *point, FILE *out);
    void *context;
};
void sweep_put(FILE *out, const char *name, const char *unit, double value);

/* 0, or an exit status. */
int sweep_run(struct sweep *sweep, const struct sweep_job *job);

/* The value of an axis at a point. */
double sweep_value(const struct sweep *sweep, size_t point, size_t axis);

struct sweep_estimate {
    size_t count;      /* seeds with a figure; 0: none, the rest is NAN */
    double mean, half; /* of the interval with 95 %, by Student's t; NAN of one seed */
    double least, most;
};
struct sweep_estimate sweep_estimate(const struct sweep *sweep, size_t point, size_t metric);

/* What came out: a table unless JSON or CSV goes to stdout, the files that are not NULL, and a
 * picture of each figure in a folder. what: the command with its operands. */
struct sweep_outputs {
    const char *what, *json, *plot;
};
/* Before it is run: whether all that can be. 0, or the exit status. */
int sweep_outputs_check(const struct sweep *sweep, const struct sweep_outputs *outputs);
int sweep_report(const struct sweep *sweep, const struct sweep_outputs *outputs);
