/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The independent checker. It knows the fabric (nodes, ports, cables, LIDs) and a table of ports by
 * switch and LID, from a file or from anywhere else, and follows every entry itself. It shares no
 * data and no code with the algorithms: their mistakes must not be able to hide here.
 */
#pragma once

#include "route/formats/dump.h"

enum check_lanes { CHECK_ONE_LANE, CHECK_LANE_PER_HOP, CHECK_LANE_AT_BRANCHES };

#define CHECK_LANES_MAX 64

struct check_options {
    enum check_lanes lanes;
    uint32_t lane_limit; /* virtual channels that there are; 0: CHECK_LANES_MAX */
};

struct check_report {
    uint64_t pairs; /* of host ports */
    uint64_t pairs_connected;
    uint64_t entries_missing; /* that some host's traffic, or its answer, needs */
    uint64_t entries_unused;  /* missing, but only between switches without hosts */
    uint32_t hops_max;        /* switches passed, between hosts */
    double hops_mean;
    uint32_t lids_unknown; /* that the table has entries for and no port has, */
    uint32_t lid_unknown;  /* the lowest: perhaps the fabric's file does not tell the LMC */
    uint32_t lanes_used;
    bool lanes_fit;        /* no more than there are */
    uint64_t dependencies; /* edges of the channel dependency graph */
    bool loop_free;        /* no cycle for traffic between hosts */
    bool loop_free_strict; /* nor with what switches send and receive themselves */
    char problem[512];     /* the first broken way, in words; empty if there is none */
    char witness[2048];    /* the cycle, in words; empty if there is none */
};

/* Are the virtual channels in use within the limit? Says what is wrong in report->problem. */
void check_lanes_limit(struct check_report *report, const struct check_options *options);

/* 0 if the check could be made; whether it passed is check_passed(). */
int check_tables(const struct fabric *fabric, const struct lft_dump *dump,
                 const struct check_options *options, struct check_report *report);

/* The same for a file of per-pair paths, as paths.h writes it. A line that leads astray is an error
 * with its number. */
int check_paths(const struct fabric *fabric, struct lines *source,
                const struct check_options *options, struct check_report *report);

static inline bool check_passed(const struct check_report *report)
{
    return report->pairs == report->pairs_connected && report->entries_missing == 0 &&
           report->loop_free && report->lanes_fit;
}
