/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starters: what started this program, if it was not `rhinet run`, and how its processes exchange a
 * few words before they have a task manager. All that is needed of PMIx, PMI-1 and PMI-2 is this.
 *
 * Values are words of up to STARTER_VALUE_MAX - 1 characters without blanks, ';' and '='.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STARTER_VALUE_MAX 512

struct starter;

/* Each returns 0 or an error that it has explained. All may wait, for the starter's timeout. */
struct starter_ops {
    const char *name;
    int (*put)(struct starter *starter, const char *key, const char *value);
    /* All processes of the job have come here; what they put before can be got. */
    int (*fence)(struct starter *starter);
    int (*get)(struct starter *starter, int rank, const char *key, char value[STARTER_VALUE_MAX]);
    void (*finalize)(struct starter *starter); /* does not fail; frees */
};

struct starter {
    const struct starter_ops *ops;
    int rank, size;
    int64_t timeout_ns;
    bool is_shared; /* with MPI in this program, which needs it longer than we do */
    void *context;
};

/* To be called when rh_join() has all that it needs, and rh_leave(). Ends the starter as soon as
 * that does not disturb MPI; then starter->ops is NULL. */
void starter_release(struct starter *starter, bool is_leaving);

/* Which starter the user wants: the choices of RHINET_STARTER, in its order. */
enum starter_choice { STARTER_AUTO, STARTER_PMIX, STARTER_PMI1, STARTER_PMI2, STARTER_ALONE };

/* Find what started us and begin. *is_there is false if it is nothing that we know. */
int starter_open(struct starter *starter, enum starter_choice choice, int64_t timeout_ns,
                 bool *is_there);

/* pmix.c: RH_EUNSUP if this library was built without PMIx. */
int starter_pmix_open(struct starter *starter);

/* pmi.c; version 1 or 2 on the descriptor that PMI_FD names. */
int starter_pmi_open(struct starter *starter, int version);
