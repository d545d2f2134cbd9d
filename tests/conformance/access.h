/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every way to touch remote memory, as a table, so that what holds for all of them (rights, bounds,
 * removal, death) is tested for all of them.
 */
#pragma once

#include "conformance.h"

#define ACCESS_BYTES 8 /* what each access touches, at an 8-byte aligned place */

struct access {
    const char *name;
    unsigned needs; /* RH_READ, RH_WRITE or RH_ATOMIC */
    /* Does it on ACCESS_BYTES at remote, waits for completion, returns the result. */
    int (*run)(struct test *test, struct rh_remote remote);
};

/* Ends with a NULL name. */
extern const struct access accesses[];

/* Each access whose right is in `needs` must return expected. */
void check_accesses(struct test *test, struct rh_remote remote, unsigned needs, int expected,
                    const char *file, int line);

#define CHECK_ACCESSES(test, remote, needs, expected)                                              \
    check_accesses(test, remote, needs, expected, __FILE__, __LINE__)
