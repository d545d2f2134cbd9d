/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet route repair` works on, and its report.
 */
#pragma once

#include "cli/route/route.h"

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
    struct memo *memo;    /* NULL: none that fits */
    struct lft *lft;      /* mended */
    struct lft_dump dump; /* the same, as switches hold it */
    struct dead_list dead;
    struct repair_room room;
    struct load *load;
    struct repair_result result;
    struct repair_phases phases;
    uint64_t unavoidable;
    bool replaced, checked; /* replaced: every entry anew */
    struct check_report check;
    struct stages stages;
    bool stages_safe; /* each step is proved */
    bool old_unsafe;  /* so the first step cannot be: the table in use is unsafe by itself */
    struct transition_report transition; /* of the last step that was checked */
    struct routing *anew; /* a full computation, to compare with; NULL unless asked for */
};

struct repair_arguments {
    const char *old_fabric, *table, *new_fabric, *lft, *json;
    bool full, no_check;
};

/* Finds the stages of the change; with `check` each step is proved, and those without need are
 * spared. */
int repair_stages_find(struct repair_work *work, bool check);
/* All but the last, into files beside the table; files of more stages, from before, go. */
int repair_stages_write(const struct repair_work *work, const char *path);
void repair_stage_path(char *path, size_t size, const char *table, uint32_t stage);

/* As text, or as JSON. */
int repair_report(const struct repair_work *work, const struct repair_arguments *arguments);
