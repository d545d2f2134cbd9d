/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving the data of a variable: the regions bound to it, cut into contiguous pieces.
 */
#include "dsm/bulk.h"
#include "dsm/reach.h"

#define PIECES 64 /* handed to the transport at a time */

typedef int (*mover)(struct rh_dsm *dsm, int rank, const struct dsm_piece *pieces, size_t count);

/* Pieces that are to be moved, handed on whenever the list is full. */
struct batch {
    struct rh_dsm *dsm;
    mover move;
    int rank;
    size_t count;
    uint64_t length;
    struct dsm_piece piece[PIECES];
};

static int batch_flush(struct batch *batch)
{
    size_t count = batch->count;
    batch->count = 0;
    return count == 0 ? 0 : batch->move(batch->dsm, batch->rank, batch->piece, count);
}

static int batch_add(struct batch *batch, uint64_t offset, uint64_t length)
{
    if (batch->count == PIECES) {
        int result = batch_flush(batch);
        if (result < 0)
            return result;
    }
    batch->piece[batch->count++] = (struct dsm_piece){.offset = offset, .length = length};
    batch->length += length;
    return 0;
}

static int batch_add_region(struct batch *batch, const struct rh_dsm_region *region)
{
    int result = batch_add(batch, region->offset, region->length);
    for (uint64_t i = 1; i < region->block_count && result == 0; i++)
        result = batch_add(batch, region->offset + i * region->stride, region->length);
    return result;
}

static int move_regions(struct batch *batch, const struct dsm_binding *binding)
{
    int result = 0;
    for (uint32_t i = 0; i < binding->region_count && result == 0; i++)
        result = batch_add_region(batch, &binding->region[i]);
    return result < 0 ? result : batch_flush(batch);
}

/* One plain region, which is the usual case, needs no list. */
static int move_all(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, mover move)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    if (likely(binding->region_count == 1 && binding->region[0].block_count <= 1)) {
        struct dsm_piece piece = {binding->region[0].offset, binding->region[0].length};
        return move(dsm, rank, &piece, 1);
    }
    struct batch batch = {.dsm = dsm, .move = move, .rank = rank};
    return move_regions(&batch, binding);
}

int dsm_data_pull(struct rh_dsm *dsm, rh_dsm_variable variable, int rank)
{
    int result = move_all(dsm, variable, rank, dsm->bulk->pull);
    if (likely(result == 0))
        dsm->own[variable].stat.fetched_bytes += dsm->bindings[variable].length;
    return result;
}

int dsm_data_push(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, bool is_changed_only)
{
    (void)is_changed_only;
    int result = move_all(dsm, variable, rank, dsm->bulk->push);
    if (likely(result == 0))
        dsm->own[variable].stat.pushed_bytes += dsm->bindings[variable].length;
    return result;
}

void dsm_diff_begin(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    (void)dsm;
    (void)variable;
}

void dsm_diff_end(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    (void)dsm;
    (void)variable;
}
