/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving data in pieces: what transfer.c and diff.c share.
 */
#pragma once

#include "dsm/bulk.h"
#include "dsm/reach.h"

#define DSM_BATCH 64 /* pieces handed to the transport at a time */

typedef int (*dsm_mover)(const struct dsm_move *move);

/* Pieces that are to be moved, handed on whenever the list is full. Those that touch are joined. */
struct dsm_batch {
    struct rh_dsm *dsm;
    dsm_mover move;
    int rank;
    int64_t deadline_ns;
    size_t count;
    uint64_t length; /* of all that was added */
    struct dsm_piece piece[DSM_BATCH];
};

int dsm_batch_add(struct dsm_batch *batch, uint64_t offset, uint64_t length);
int dsm_batch_flush(struct dsm_batch *batch);

/* RH_DSM_DIFF: bring here what is newer there, or write there what is newer here, by an empty
 * batch. */
int dsm_diff_pull(struct dsm_batch *batch, rh_dsm_variable variable);
int dsm_diff_push(struct dsm_batch *batch, rh_dsm_variable variable);
