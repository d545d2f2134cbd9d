/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the checker share.
 */
#pragma once

#include "dsm/dsm.h"

#include <pthread.h>
#include <signal.h>

struct check_page {
    int readers, writers; /* holds that reach into it */
};

struct check_variable {
    uint64_t parts;     /* of its data in 64 equal ones: those that this rank has ever written */
    bool was_race_told; /* by this rank as its holder: once is enough */
    char *twin;
    uint64_t twin_length;
};

struct dsm_check {
    pthread_mutex_t lock;
    struct check_page *pages;
    struct check_variable *variables;
    struct check_clocks *clocks; /* NULL: no races are looked for */
    struct sigaction before;
};

/* check.c: whether the same memory is bound to two variables, and where. */
bool check_overlap(const struct rh_dsm *dsm, rh_dsm_variable a, rh_dsm_variable b, uint64_t *where);

/* check_race.c, under the lock */
void check_race_hold(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write);
void check_race_drop(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write);
void check_race_share(struct rh_dsm *dsm, rh_dsm_variable a, rh_dsm_variable b);
/* from the signal handler */
void check_race_trespass(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t offset,
                         bool is_write);

/* check_report.c, under the lock */
void check_parts_begin(struct rh_dsm *dsm, rh_dsm_variable variable);
void check_parts_end(struct rh_dsm *dsm, rh_dsm_variable variable);
void check_report(struct rh_dsm *dsm);
