/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See directory.h: opening a part of it on each node, time, peers.
 */
#include "cache/directory/directory.h"

#include "base/clock.h"
#include "base/error.h"

#include <stdlib.h>

#define LINE 64u

/* ---- Opening -------------------------------------------------------------------------------- */

static void lay_out(struct directory *directory, const struct cache_shape *shape)
{
    uint32_t others = shape->slot_count - shape->chunk_count; /* a row and an alternate for each */
    directory->row_words = (uint32_t)cache_round_up(1u + (uint32_t)directory->group_count, 8);
    directory->bucket_count = cache_power_of_two(others / DIRECTORY_ROWS);
    directory->alternate_count = cache_power_of_two(others);
    directory->done_offset = cache_round_up(sizeof(struct directory_head), LINE);
    directory->totals_offset = cache_round_up(
        directory->done_offset + (uint64_t)directory->size * sizeof(uint64_t), LINE);
    directory->rows_offset = directory->totals_offset +
                             (uint64_t)directory->size *
                                 cache_round_up(CACHE_TOTAL_COUNT * sizeof(uint64_t), LINE);
    directory->alternate_offset = directory->rows_offset + (uint64_t)directory->bucket_count *
                                                               DIRECTORY_ROWS *
                                                               directory->row_words * 8;
    directory->length = directory->alternate_offset + (uint64_t)directory->alternate_count * 8;
}

int directory_open(struct directory *directory, const struct directory_options *options)
{
    *directory = (struct directory){.job = options->job,
                                    .control = options->control,
                                    .rank = rh_rank(options->job),
                                    .size = rh_size(options->job),
                                    .group_count = options->group_count,
                                    .is_simulated = options->is_simulated,
                                    .lease_ns = options->lease_ns};
    if (directory->size > CELL_RANKS_MAX)
        return error_fail(RH_EINVALID, "a cache has %d nodes at most, not %d", CELL_RANKS_MAX,
                          directory->size);
    directory->group = directory->rank % directory->group_count;
    lay_out(directory, options->shape);
    directory->shapes = calloc((size_t)directory->size, sizeof(*directory->shapes));
    directory->is_shape_known = calloc((size_t)directory->size, 1);
    void *memory = NULL;
    int result = !directory->shapes || !directory->is_shape_known
                     ? error_no_memory("%d nodes", directory->size)
                     : rh_segment_alloc(options->job, CACHE_SID_DIRECTORY, directory->length,
                                        &memory);
    if (result < 0) {
        free(directory->shapes);
        free((void *)directory->is_shape_known);
        return result;
    }
    directory->memory = memory;
    pthread_mutex_init(&directory->leases_lock, NULL);
    struct directory_head *head = memory;
    head->shape = *options->own;
    /* release: whoever finds the magic number finds the shape */
    __atomic_store_n(&head->magic, CACHE_MAGIC, __ATOMIC_RELEASE);
    return 0;
}

void directory_close(struct directory *directory)
{
    rh_segment_detach(directory->job, CACHE_SID_DIRECTORY);
    pthread_mutex_destroy(&directory->leases_lock);
    free(directory->shapes);
    free((void *)directory->is_shape_known);
}

/* ---- Time ----------------------------------------------------------------------------------- */

int64_t directory_now_ns(const struct directory *directory)
{
    return directory->is_simulated ? rh_clock_ns(directory->job) : clock_now_ns();
}

void directory_sleep(const struct directory *directory, int64_t duration_ns)
{
    if (directory->is_simulated) {
        uint64_t never = 0;
        struct rh_wait wait = {&never, RH_NOT_EQUAL, 0, RH_ANY_RANK, duration_ns};
        (void)rh_wait_word(directory->job, &wait);
        return;
    }
    struct timespec pause = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* ---- Peers ---------------------------------------------------------------------------------- */

int directory_shape(struct directory *directory, int rank, struct cache_shape *shape)
{
    if (!atomic_load_explicit(&directory->is_shape_known[rank], memory_order_acquire)) {
        struct directory_head head;
        int result = rh_pull(directory->job, rh_at(rank, CACHE_SID_DIRECTORY, 0), &head,
                             sizeof(head));
        if (result < 0)
            return result;
        if (head.magic != CACHE_MAGIC || !cache_shape_check(&head.shape))
            return error_set(RH_ECORRUPT, rank, "rank %d has no cache of this version", rank);
        /* Threads that come at the same time write the same. */
        directory->shapes[rank] = head.shape;
        atomic_store_explicit(&directory->is_shape_known[rank], 1, memory_order_release);
    }
    *shape = directory->shapes[rank];
    return 0;
}

bool directory_say(struct directory *directory, enum directory_word word)
{
    uint64_t value = word, at = directory->done_offset + (uint64_t)directory->rank * 8;
    if (directory->said != value)
        directory->told = 0;
    directory->said = value;
    for (; directory->told < directory->size; directory->told++) {
        int rank = directory->told;
        if (directory_is_alive(directory, rank) &&
            rh_push(directory->job, rh_at(rank, CACHE_SID_DIRECTORY, at), &value, sizeof(value)) <
                0)
            return false;
    }
    return true;
}

static uint64_t word_of(const struct directory *directory, int rank)
{
    const uint64_t *words = (const uint64_t *)(directory->memory + directory->done_offset);
    return __atomic_load_n(&words[rank], __ATOMIC_ACQUIRE);
}

bool directory_all_say(const struct directory *directory, enum directory_word least)
{
    for (int rank = 0; rank < directory->size; rank++) {
        if (directory_is_alive(directory, rank) && word_of(directory, rank) < least)
            return false;
    }
    return true;
}

bool directory_any_says(const struct directory *directory, enum directory_word word)
{
    for (int rank = 0; rank < directory->size; rank++) {
        if (word_of(directory, rank) == word)
            return true;
    }
    return false;
}

uint32_t directory_alive_count(const struct directory *directory)
{
    uint32_t count = 0;
    for (int rank = 0; rank < directory->size; rank++)
        count += directory_is_alive(directory, rank);
    return count;
}

static uint64_t totals_at(const struct directory *directory, int rank)
{
    return directory->totals_offset +
           (uint64_t)rank * cache_round_up(CACHE_TOTAL_COUNT * sizeof(uint64_t), LINE);
}

bool directory_totals_tell(struct directory *directory, const uint64_t values[CACHE_TOTAL_COUNT])
{
    struct rh_remote there = rh_at(0, CACHE_SID_DIRECTORY, totals_at(directory, directory->rank));
    return !directory_is_alive(directory, 0) ||
           rh_push(directory->job, there, values, CACHE_TOTAL_COUNT * sizeof(uint64_t)) == 0;
}

void directory_totals_sum(const struct directory *directory, uint64_t values[CACHE_TOTAL_COUNT])
{
    for (int i = 0; i < CACHE_TOTAL_COUNT; i++)
        values[i] = 0;
    for (int rank = 0; rank < directory->size; rank++) {
        const uint64_t *told = (const uint64_t *)(directory->memory + totals_at(directory, rank));
        for (int i = 0; i < CACHE_TOTAL_COUNT; i++)
            values[i] += __atomic_load_n(&told[i], __ATOMIC_RELAXED);
    }
}
