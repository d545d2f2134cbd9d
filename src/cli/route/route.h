/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands of `rhinet route` share.
 */
#pragma once

#include "cli/cli.h"
#include "route/route.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A fabric with all that is made of it. */
struct route_input {
    struct fabric *fabric;
    struct net *net;
    struct traffic *traffic;
    bool lids_given;              /* the file had none for some ports */
    struct fabric_cut cut;        /* what cannot be routed with the rest, and was left out */
    char model[MEMO_TRAFFIC_MAX]; /* of the traffic, in words */
};

/* What subcommands that read a fabric take alike. traffic: "auto" (or NULL), "uniform",
 * "groups[:WEIGHT]", "matrix:FILE" or "counters:FILE"; separator: 0, or the character that ends the
 * group in a node's name. */
struct route_view {
    const char *traffic;
    char separator;
};

/* Its options, and what they say. */
extern const struct cli_option route_view_options[];
extern struct route_view route_view;

/* For completion. */
const char *route_algorithm_name(size_t index);

/* Prints what is wrong and returns 1. */
int route_input_open(struct route_input *input, const char *path, const struct route_view *view);
int route_input_prepare(struct route_input *input, const char *traffic); /* fabric is set already */
void route_input_close(struct route_input *input);

/* Opens a file to write, "-" is stdout; says what is wrong and returns NULL. */
FILE *route_output_open(const char *path);
/* Flushes and closes; says what is wrong with it and returns 1. result: what the
 * writer has returned; a failure is said, a status passed through. */
int route_output_close(FILE *file, const char *path, int result);

/* A table to be written. With turns that have ranks, what is known of it goes into a file beside
 * it. */
struct route_table {
    const struct lft_dump *dump; /* the same as lft, as switches hold it */
    const struct lft *lft;
    const struct turns *turns; /* NULL: nothing beside it */
    const struct load *load;
    const char *model;         /* of the traffic */
    const struct memo *before; /* of the table that this one replaces, or NULL */
};
int route_table_write(const struct route_table *table, const char *path);
void route_memo_path(char *path, size_t size, const char *table);

/* What a run reports, as text and as JSON. check may be NULL. */
void route_report_text(FILE *out, const struct routing *routing, const struct check_report *check);
struct route_report {
    const struct route_input *input;
    const struct routing *routing;
    const struct check_report *check;
    bool has_map; /* see route_map_json() */
};
int route_report_json(const struct route_report *report, const char *path);
/* Adds the network: "links" with loads, "hosts_at" the switches, "prohibited" turns. */
void route_map_json(json_t *object, const struct routing *routing);
void route_cut_json(json_t *object, const struct fabric_cut *cut);
void route_check_text(FILE *out, const struct check_report *check);
json_t *route_check_json(const struct check_report *check);
/* Writes an object to a file ("-": stdout) and frees it; says what is wrong and returns 1. */
int route_json_write(json_t *object, const char *path);

/* How the independent checker is to look at an algorithm's tables. lane_limit 0: none. */
struct check_options route_check_options(const struct algorithm *algorithm, uint32_t lane_limit);

extern const struct cli_command cli_route_generate, cli_route_compute, cli_route_check,
    cli_route_compare, cli_route_repair;
