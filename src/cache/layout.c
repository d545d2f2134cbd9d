/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See layout.h.
 */
#include "cache/layout.h"

#define WATCH_COUNT (1u << 15)
#define REQUESTS    256u
#define FILES       2048u

bool cache_shape_make(struct cache_shape *shape, uint64_t bytes, uint32_t block_length)
{
    if (block_length < CACHE_BLOCK_MIN || block_length > CACHE_BLOCK_MAX ||
        (block_length & (block_length - 1)) != 0)
        return false;
    uint64_t chunk_count = bytes / block_length;
    if (chunk_count < 2 || chunk_count > CACHE_SLOTS_MAX / 2)
        return false;
    uint64_t others = chunk_count * block_length / CACHE_MEAN;
    if (others > CACHE_SLOTS_MAX - chunk_count)
        others = CACHE_SLOTS_MAX - chunk_count;
    *shape = (struct cache_shape){.block_length = block_length,
                                  .chunk_count = (uint32_t)chunk_count,
                                  .slot_count = (uint32_t)(chunk_count + others),
                                  .watch_count = WATCH_COUNT,
                                  .request_count = REQUESTS,
                                  .file_count = FILES};
    /* Half full at most, if everything were small. */
    shape->bucket_count = cache_power_of_two(others * 2 / CACHE_ENTRIES);
    shape->slots_offset = (uint64_t)shape->bucket_count * sizeof(struct cache_bucket);
    shape->data_offset = cache_round_up(shape->slots_offset +
                                            (uint64_t)shape->slot_count * sizeof(struct cache_slot),
                                        block_length);
    shape->arena_length = shape->data_offset + cache_data_length(shape);
    uint64_t requests_end = sizeof(struct cache_control) + REQUESTS * sizeof(struct cache_request);
    shape->files_offset = cache_round_up(requests_end, CACHE_PAGE);
    shape->touched_offset = shape->files_offset + FILES * sizeof(struct cache_file_stat);
    shape->control_length = cache_round_up(shape->touched_offset + shape->slot_count, CACHE_PAGE);
    return true;
}

bool cache_shape_check(const struct cache_shape *shape)
{
    struct cache_shape again;
    return cache_shape_make(&again, cache_data_length(shape), shape->block_length) &&
           __builtin_memcmp(&again, shape, sizeof(again)) == 0;
}
