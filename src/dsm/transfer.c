/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving the data of a variable: the regions bound to it, cut into contiguous pieces.
 */
#include "dsm/transfer.h"

#include "base/deadline.h"

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

/* Data that is copied at once needs no clock; who does not wait takes as long as it takes. */
static rare_path int64_t far_deadline_ns(struct rh_dsm *dsm, struct dsm_patience *patience)
{
    return patience->timeout_ns == 0 ? rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT)
                                     : dsm_deadline_ns(dsm, patience);
}

static int data_move(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, bool is_push,
                     struct dsm_patience *patience)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    const struct rh_dsm_region *region = binding->region;
    bool is_near = dsm->peers[rank].heap != NULL && dsm->bulk == &dsm_bulk_rdma;
    int result = 0;
    struct dsm_batch batch; /* the list is not cleared: it is long, and a word must not cost that */
    batch.dsm = dsm;
    batch.move = is_push ? dsm->bulk->push : dsm->bulk->pull;
    batch.rank = rank;
    batch.count = 0;
    batch.length = 0;
    batch.deadline_ns = likely(is_near) ? DEADLINE_NEVER : far_deadline_ns(dsm, patience);
    if (binding->stamps != 0) {
        result = is_push ? dsm_diff_push(&batch, variable) : dsm_diff_pull(&batch, variable);
    } else if (likely(binding->region_count == 1 && region->block_count <= 1)) { /* no list */
        struct dsm_piece piece = {region->offset, region->length};
        ASSERT(piece.offset <= dsm->heap_length);
        ASSERT(piece.length <= dsm->heap_length - piece.offset);
        batch.length = piece.length;
        struct dsm_move move = {dsm, rank, &piece, 1, batch.deadline_ns};
        result = batch.move(&move);
    } else {
        for (uint32_t i = 0; i < binding->region_count && result == 0; i++)
            result = batch_add_region(&batch, &region[i]);
        result = result < 0 ? result : dsm_batch_flush(&batch);
    }
    if (likely(result == 0) && is_push)
        dsm_count(dsm, variable, pushed_bytes, COUNTER_DSM_BYTES, batch.length);
    else if (likely(result == 0))
        dsm_count(dsm, variable, fetched_bytes, COUNTER_DSM_BYTES, batch.length);
    return result;
}

int dsm_data_pull(struct rh_dsm *dsm, rh_dsm_variable variable, int rank,
                  struct dsm_patience *patience)
{
    return data_move(dsm, variable, rank, false, patience);
}

int dsm_data_push(struct rh_dsm *dsm, rh_dsm_variable variable, int rank,
                  struct dsm_patience *patience)
{
    return data_move(dsm, variable, rank, true, patience);
}
