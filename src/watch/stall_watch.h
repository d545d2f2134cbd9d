/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stall watch: the part of a wait that people hear of. A wait that takes long stands on the
 * board, so that `rhinet doctor` sees it, and is reported once on stderr when it is as old as
 * RHINET_STUCK, with whom it waits for and what they do. Same for every NIC.
 */
#pragma once

#include "watch/board.h"

#include <stdbool.h>

struct diagnosis;
struct roster;

enum watch_settings { SETTING_STUCK = LAYER_SETTING_FIRST(LAYER_WATCH) };

/* What the watch knows of its job. Filled by src/job, once; outlives every wait. */
struct watch_job {
    int rank;
    int64_t stuck_ns; /* RHINET_STUCK; 0: nothing is reported */
    const struct roster *roster;
    struct board_rank *board;        /* of this rank */
    const struct board_rank *boards; /* of all ranks, to read; NULL: not known */
};

/* One wait. Whoever waits sets the first part, calls stall_watch_keep() before every sleep and
 * stall_watch_end() when it is over. */
struct stall_watch {
    const struct watch_job *job;
    int64_t since_ns;
    /* Says what is waited for; asked only when it takes long, and does not wait. */
    void (*describe)(void *context, struct wait_note *note);
    void *context;
    /* The rest is stall_watch.c's and starts as 0. */
    bool is_kept;
    struct board_wait *place; /* NULL: not kept yet, or no room on the board */
    struct wait_note note;    /* as published */
    int64_t report_ns;
    struct diagnosis *before; /* how things stood shortly before the report */
    unsigned tries;           /* to be certain */
};

/* The wait is about to sleep, or to look again after it has. Neither fails nor blocks. */
void stall_watch_keep(struct stall_watch *stall, int64_t now_ns);

/* It is over, whatever its end. Does nothing if it was never kept. */
void stall_watch_end(struct stall_watch *stall);
