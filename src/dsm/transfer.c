/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving the data of a variable: the regions bound to it, cut into contiguous pieces.
 */
#include "dsm/transfer.h"

#include "base/deadline.h"

/* The list itself is not cleared: it is long, and moving one word must not cost that. Nor is the
 * clock asked where data is copied at once. */
static void batch_begin(struct dsm_batch *batch, struct rh_dsm *dsm, dsm_mover move, int rank,
                        struct dsm_patience *patience)
{
    bool is_near = dsm->peers[rank].heap != NULL && dsm->bulk == &dsm_bulk_rdma;
    batch->dsm = dsm;
    batch->move = move;
    batch->rank = rank;
    batch->count = 0;
    batch->length = 0;
    if (likely(is_near))
        batch->deadline_ns = DEADLINE_NEVER;
    else if (patience->timeout_ns == 0) /* without waiting: that takes as long as it takes */
        batch->deadline_ns = rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT);
    else
        batch->deadline_ns = dsm_deadline_ns(dsm, patience);
}

int dsm_batch_flush(struct dsm_batch *batch)
{
    ASSERT(batch->count <= DSM_BATCH);
    size_t count = batch->count;
    batch->count = 0;
    struct dsm_move move = {batch->dsm, batch->rank, batch->piece, count, batch->deadline_ns};
    return count == 0 ? 0 : batch->move(&move);
}

int dsm_batch_add(struct dsm_batch *batch, uint64_t offset, uint64_t length)
{
    ASSERT(offset <= batch->dsm->heap_length);
    ASSERT(length <= batch->dsm->heap_length - offset);
    struct dsm_piece *last = &batch->piece[batch->count - 1];
    batch->length += length;
    if (batch->count > 0 && last->offset + last->length == offset) {
        last->length += length;
        return 0;
    }
    if (batch->count == DSM_BATCH) {
        int result = dsm_batch_flush(batch);
        if (result < 0)
            return result;
    }
    batch->piece[batch->count++] = (struct dsm_piece){.offset = offset, .length = length};
    return 0;
}

static int batch_add_region(struct dsm_batch *batch, const struct rh_dsm_region *region)
{
    int result = dsm_batch_add(batch, region->offset, region->length);
    for (uint64_t i = 1; i < region->block_count && result == 0; i++)
        result = dsm_batch_add(batch, region->offset + i * region->stride, region->length);
    return result;
}

/* One plain region, which is the usual case, needs no list. */
static int move_regions(struct dsm_batch *batch, const struct dsm_binding *binding)
{
    int result = 0;
    if (likely(binding->region_count == 1 && binding->region[0].block_count <= 1)) {
        struct dsm_piece piece = {binding->region[0].offset, binding->region[0].length};
        ASSERT(piece.offset <= batch->dsm->heap_length);
        ASSERT(piece.length <= batch->dsm->heap_length - piece.offset);
        batch->length = piece.length;
        struct dsm_move move = {batch->dsm, batch->rank, &piece, 1, batch->deadline_ns};
        return batch->move(&move);
    }
    for (uint32_t i = 0; i < binding->region_count && result == 0; i++)
        result = batch_add_region(batch, &binding->region[i]);
    return result < 0 ? result : dsm_batch_flush(batch);
}

int dsm_data_pull(struct rh_dsm *dsm, rh_dsm_variable variable, int rank,
                  struct dsm_patience *patience)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    struct dsm_batch batch;
    batch_begin(&batch, dsm, dsm->bulk->pull, rank, patience);
    int result = binding->stamps != 0 ? dsm_diff_pull(&batch, variable)
                                      : move_regions(&batch, binding);
    if (likely(result == 0))
        dsm_count(dsm, variable, fetched_bytes, COUNTER_DSM_BYTES, batch.length);
    return result;
}

int dsm_data_push(struct rh_dsm *dsm, rh_dsm_variable variable, int rank,
                  struct dsm_patience *patience)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    struct dsm_batch batch;
    batch_begin(&batch, dsm, dsm->bulk->push, rank, patience);
    int result = binding->stamps != 0 ? dsm_diff_push(&batch, variable)
                                      : move_regions(&batch, binding);
    if (likely(result == 0))
        dsm_count(dsm, variable, pushed_bytes, COUNTER_DSM_BYTES, batch.length);
    return result;
}
