/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the first launcher tells the launcher of another host (`rhinet node`) on its standard input,
 * where nobody else sees it: the job, its secret, who runs where, what to run and with which
 * environment. Behind the orders, the input is that of rank 0.
 */
#pragma once

#include "base/arena.h"
#include "job/address.h"
#include "job/job_map.h"
#include "job/launch/launch.h"

struct orders {
    struct launch_options
        launch;         /* but for name, environment and settings, which are that host's */
    struct job_map map; /* its map */
    struct address_list coordinator;
    struct launch_master master;
    const char *folder;  /* to run in */
    char **variables;    /* NAME=VALUE, to be added to the environment; ends with NULL */
    struct arena memory; /* the texts lie in there */
};

/* As bytes for one host, that of the seat, to be run in this folder; *bytes is the caller's to
 * free(). 0 or RH_ENOSPACE. */
int orders_write(const struct launch_options *options, int seat, char **bytes, size_t *length);

/* Read from fd exactly what the orders are. Errors: RH_EREFUSED (another version, no orders),
 * RH_ECORRUPT, RH_ENOSPACE. */
int orders_read(struct orders *orders, int fd);
void orders_free(struct orders *orders);
