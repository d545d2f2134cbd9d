/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet route repair` works on, and its report.
 */
#ifndef CLI_ROUTE_REPAIR_H
#define CLI_ROUTE_REPAIR_H

#include "cli/route.h"
#include "route/repair.h"

/* Seconds. What repairing takes is dead, turns, load, and what struct repair_result has. */
struct repair_phases {
    double read; /* and parse: two fabrics, the table, its memo */
    double dead; /* find the entries that lead nowhere any more */
    double turns;
    double load;
    double cpu; /* processor time of repairing */
    double check, write;
};

struct repair_work {
    struct route_input input;
    struct fabric *old_fabric;
    struct lft_dump old_dump;
    struct memo *memo; /* NULL: none that fits */
    struct lft *lft;   /* mended */
    struct dead_list dead;
    struct repair_room room;
    struct load *load;
    struct repair_result result;
    struct repair_phases phases;
    uint64_t unavoidable;
    bool staged, checked;
    struct check_report check, transition;
    struct routing *anew; /* a full computation, to compare with; NULL unless asked for */
};

struct repair_arguments {
    struct route_view view;
    const char *old_fabric, *table, *new_fabric, *lft, *stage, *json;
    bool full, no_check;
};

/* As text, or as JSON to a file ("-": stdout). */
int repair_report(const struct repair_work *work, const char *json);

#endif
