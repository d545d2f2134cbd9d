/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grows the trees of all targets, over the turns that are allowed: a whole table, with the load
 * that it puts on the channels. tune.h balances it afterwards.
 */
#pragma once

#include "route/tables/load.h"
#include "route/turns/reach.h"

/* Told now and then which part is done, 0 … 1. */
struct trees_progress {
    void (*tell)(void *context, double part); /* NULL: nobody wants to know */
    void *context;
};

/* Fills lft and load, which are empty. reach is what the turns reach, NULL if they have loops. */
int trees_build(struct lft *lft, struct load *load, const struct turns *turns,
                const struct reach *reach, struct trees_progress progress);
