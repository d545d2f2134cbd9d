/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thesis's measurements, made again on the simulated controller: every row of figures that the
 * specification lists, with what the simulation gives. Rows of class C set the model's constants
 * (sim/constants.h says which); rows of class V must come out of it. What nobody has
 * simulated is listed as such, never invented.
 *
 *   rows.c         what the thesis has, row by row
 *   thesis.c       the parts, each a table, figure or chapter, and which rows need which
 *   architecture, chapter6, chapter7, dimmnet, scan and ports: the parts
 *   pm/            the parts with the project's own code: chapter 8
 *   session.h      what a part is told, and how it says what it has found
 *   measure.h      the measurements that parts are made of; pair.h two nodes for them
 *   command.c      the command, its tables, JSON and pictures; what_if.h its options
 */
#pragma once

#include "sim/constants.h"
#include "sim/trace/trace.h"

#define THESIS_ROWS_MAX   256
#define THESIS_CURVES_MAX 64
#define THESIS_POINTS_MAX 24

/* How far a number may be off to hold, in percent. */
#define THESIS_C_PERCENT 1
#define THESIS_V_PERCENT 5

enum thesis_kind {
    THESIS_NUMBER, /* simulated is compared with thesis */
    THESIS_ORDER,  /* a statement about curves: it holds or not */
    THESIS_LEAST,  /* simulated must be above thesis */
    THESIS_MOST,   /* simulated must not be above thesis */
    THESIS_FOUND,  /* nobody measured it: what the simulation finds */
    THESIS_ABSENT  /* no simulation can give it; `what` says why */
};

struct thesis_row {
    const char *id;
    const char *group; /* table or figure, by which rows are chosen */
    const char *what;
    enum thesis_kind kind;
    double thesis; /* NAN: a statement */
    const char *unit;
    char class; /* K: a constant; C, V; I: told in passing */
};

struct thesis_result {
    const struct thesis_row *row;
    bool is_simulated;
    double simulated;     /* NAN for a statement */
    double error_percent; /* NAN where there is nothing to compare */
    bool holds;
};

/* A line of a figure. */
struct thesis_curve {
    const char *group, *name, *x_unit, *y_unit;
    uint32_t count;
    double x[THESIS_POINTS_MAX], y[THESIS_POINTS_MAX];
};

struct thesis_report {
    struct thesis_result results[THESIS_ROWS_MAX];
    uint32_t result_count;
    struct thesis_curve curves[THESIS_CURVES_MAX];
    uint32_t curve_count;
};

/* Ends with an entry whose id is NULL. */
extern const struct thesis_row thesis_rows[];

/* The rows that it follows from by arithmetic, if constants were made from those; else NULL. */
const char *thesis_follows(const struct thesis_row *row);
/* How far it may be off to hold, in its unit; 0: THESIS_V_PERCENT, THESIS_C_PERCENT. */
double thesis_within(const struct thesis_row *row);
/* Is it the model's own word, about what nothing in it was made from? */
bool thesis_is_prediction(const struct thesis_row *row);

/* Is there a row with this group or id? "all" too. */
bool thesis_knows(const char *which);

/* The machines that were measured: with the hosts of chapter 6, and with those of chapters 7 and 8.
 * Whoever asks what if changes both. */
struct thesis_hosts {
    struct sim_constants le, hesl;
};

/* As they were: the platforms rhinet2-le and rhinet2-he-sl. The errors of platform_open(). */
int thesis_hosts_usual(struct thesis_hosts *hosts);
/* The one of them that gives a row. */
const struct sim_constants *thesis_hosts_of(const struct thesis_hosts *hosts,
                                            const struct thesis_row *row);

/* Is told which part begins, the how manyth of how many. */
typedef void thesis_tell(const char *part, size_t number, size_t count);

/* Runs what the rows of `which` ("all", a group such as table-6.2, or an id) need. -ENOMEM, or what
 * a simulation failed with. */
int thesis_run(struct thesis_report *report, const char *which, const struct thesis_hosts *hosts,
               thesis_tell *tell);

/* What a trace shows: a VPUSH of 2048, 512 and 8 bytes each for "fig-7.12", else a PULL of 8 bytes,
 * in which every module of both nodes takes part. */
int thesis_trace(struct trace *trace, const char *which, const struct thesis_hosts *hosts);
