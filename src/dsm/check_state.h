/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What check.c and check_report.c share.
 */
#ifndef DSM_CHECK_STATE_H
#define DSM_CHECK_STATE_H

#include "dsm/dsm.h"

#include <pthread.h>
#include <signal.h>

struct check_page {
    int readers, writers; /* holds that reach into it */
};

/* A variable's data in 64 equal parts: which of them this rank has ever written. */
struct check_variable {
    uint64_t parts;
    char *twin;
    uint64_t twin_length;
};

struct dsm_check {
    pthread_mutex_t lock;
    struct check_page *pages;
    struct check_variable *variables;
    struct sigaction before;
};

/* check_report.c, under the lock */
void check_parts_begin(struct rh_dsm *dsm, rh_dsm_variable variable);
void check_parts_end(struct rh_dsm *dsm, rh_dsm_variable variable);
void check_report(struct rh_dsm *dsm);

#endif
