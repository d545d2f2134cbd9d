/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Read-ahead: a file that is read in order, or in steps of the same length, has its next blocks
 * asked for before they are wanted. The agent is only bothered when a new block is entered.
 */
#include "cache/client/state.h"

#include <fcntl.h>

#define RUN_MIN    2u  /* reads that look like a pattern */
#define STRIDE_MAX 4u  /* strides ahead */
#define WINDOW_OFF 0u  /* the program said: random */
#define ADVICE_MAX 64u /* blocks that one advice may bring */

static uint64_t block_count(const struct cache_file *file)
{
    return (file->size + file->block_length - 1) / file->block_length;
}

/* Ask for those of [first, end) that are not here. */
static void want(struct cache_file *file, uint64_t first, uint64_t end)
{
    if (end > block_count(file))
        end = block_count(file);
    while (first < end && cache_block_is_here(file, first))
        first++;
    while (end > first && cache_block_is_here(file, end - 1))
        end--;
    if (first >= end)
        return;
    struct cache_wish wish = {
        .kind = CACHE_AHEAD, .file_id = file->id, .block = first, .count = (uint32_t)(end - first)};
    cache_ask_ahead(file->client, &wish);
}

static void ahead_in_order(struct cache_file *file, uint64_t last_block)
{
    uint32_t most = file->client->card->ahead_max;
    uint64_t asked = __atomic_load_n(&file->ahead, __ATOMIC_RELAXED);
    uint32_t window = __atomic_load_n(&file->window, __ATOMIC_RELAXED);
    if (asked < last_block + 1 || asked > last_block + 1 + most)
        asked = last_block + 1; /* a new run */
    /* Half a window before it ends, ask for the next. */
    if (asked > last_block + 1 + window / 2)
        return;
    window = window * 2 < most ? window * 2 : most;
    want(file, asked, last_block + 1 + window);
    __atomic_store_n(&file->window, window, __ATOMIC_RELAXED);
    __atomic_store_n(&file->ahead, last_block + 1 + window, __ATOMIC_RELAXED);
}

static void ahead_in_steps(struct cache_file *file, uint64_t offset, uint64_t length,
                           int64_t stride)
{
    uint64_t current = offset / file->block_length;
    for (unsigned i = 1; i <= STRIDE_MAX; i++) {
        int64_t next = (int64_t)offset + (int64_t)i * stride;
        if (next < 0 || (uint64_t)next >= file->size)
            break;
        uint64_t first = (uint64_t)next / file->block_length;
        if (first != current && !cache_block_is_here(file, first))
            want(file, first, ((uint64_t)next + length - 1) / file->block_length + 1);
    }
}

void cache_ahead(struct cache_file *file, uint64_t offset, uint64_t length)
{
    uint64_t last_offset = __atomic_load_n(&file->last_offset, __ATOMIC_RELAXED);
    uint64_t last_end = __atomic_load_n(&file->last_end, __ATOMIC_RELAXED);
    int64_t stride = (int64_t)(offset - last_offset);
    bool is_in_order = offset == last_end;
    bool is_pattern = is_in_order ||
                      (stride != 0 && stride == __atomic_load_n(&file->stride, __ATOMIC_RELAXED));
    __atomic_store_n(&file->last_offset, offset, __ATOMIC_RELAXED);
    __atomic_store_n(&file->last_end, offset + length, __ATOMIC_RELAXED);
    __atomic_store_n(&file->stride, stride, __ATOMIC_RELAXED);
    uint32_t run = is_pattern ? __atomic_load_n(&file->run_length, __ATOMIC_RELAXED) + 1 : 0;
    __atomic_store_n(&file->run_length, run, __ATOMIC_RELAXED);
    if (__atomic_load_n(&file->window, __ATOMIC_RELAXED) == WINDOW_OFF ||
        file->client->card->ahead_max == 0)
        return;
    if (!is_pattern)
        __atomic_store_n(&file->window, 1, __ATOMIC_RELAXED);
    else if (is_in_order)
        ahead_in_order(file, (offset + length - 1) / file->block_length);
    else if (run >= RUN_MIN)
        ahead_in_steps(file, offset, length, stride);
}

void cache_file_advise(struct cache_file *file, int fd, off_t offset, off_t length, int advice)
{
    if (!file->client || offset < 0 || length < 0 || (uint64_t)offset >= file->size)
        return;
    uint64_t end = length == 0 || (uint64_t)length > file->size - (uint64_t)offset
                       ? file->size
                       : (uint64_t)offset + (uint64_t)length;
    uint64_t first = (uint64_t)offset / file->block_length;
    uint64_t last = (end - 1) / file->block_length;
    switch (advice) {
    case POSIX_FADV_WILLNEED:
        if (file->stat_index == 0) /* the agent has never heard of it */
            cache_introduce(file->client, fd);
        want(file, first, last - first < ADVICE_MAX ? last + 1 : first + ADVICE_MAX);
        break;
    case POSIX_FADV_RANDOM:
        __atomic_store_n(&file->window, WINDOW_OFF, __ATOMIC_RELAXED);
        break;
    case POSIX_FADV_SEQUENTIAL:
        __atomic_store_n(&file->window, file->client->card->ahead_max, __ATOMIC_RELAXED);
        break;
    case POSIX_FADV_NORMAL:
        __atomic_store_n(&file->window, 1, __ATOMIC_RELAXED);
        break;
    default:
        break;
    }
}
