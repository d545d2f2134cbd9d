/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving the data of a variable: the regions bound to it, cut into contiguous pieces.
 */
#include "dsm/transfer.h"

int dsm_batch_flush(struct dsm_batch *batch)
{
    size_t count = batch->count;
    batch->count = 0;
    return count == 0 ? 0 : batch->move(batch->dsm, batch->rank, batch->piece, count);
}

int dsm_batch_add(struct dsm_batch *batch, uint64_t offset, uint64_t length)
{
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

static int move_regions(struct dsm_batch *batch, const struct dsm_binding *binding)
{
    int result = 0;
    for (uint32_t i = 0; i < binding->region_count && result == 0; i++)
        result = batch_add_region(batch, &binding->region[i]);
    return result < 0 ? result : dsm_batch_flush(batch);
}

/* One plain region, which is the usual case, needs no list. */
static int move_all(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, dsm_mover move)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    if (likely(binding->region_count == 1 && binding->region[0].block_count <= 1)) {
        struct dsm_piece piece = {binding->region[0].offset, binding->region[0].length};
        return move(dsm, rank, &piece, 1);
    }
    struct dsm_batch batch = {.dsm = dsm, .move = move, .rank = rank};
    return move_regions(&batch, binding);
}

int dsm_data_pull(struct rh_dsm *dsm, rh_dsm_variable variable, int rank)
{
    uint64_t length = dsm->bindings[variable].length;
    int result = dsm->bindings[variable].stamps != 0
                     ? dsm_diff_pull(dsm, variable, rank, &length)
                     : move_all(dsm, variable, rank, dsm->bulk->pull);
    if (likely(result == 0))
        dsm_count(dsm, variable, fetched_bytes, COUNTER_DSM_BYTES, length);
    return result;
}

int dsm_data_push(struct rh_dsm *dsm, rh_dsm_variable variable, int rank)
{
    uint64_t length = dsm->bindings[variable].length;
    int result = dsm->bindings[variable].stamps != 0
                     ? dsm_diff_push(dsm, variable, rank, &length)
                     : move_all(dsm, variable, rank, dsm->bulk->push);
    if (likely(result == 0))
        dsm_count(dsm, variable, pushed_bytes, COUNTER_DSM_BYTES, length);
    return result;
}
