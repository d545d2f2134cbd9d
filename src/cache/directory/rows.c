/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of the directory: reading one, changing its words, claiming one for a block that has none;
 * and the words of the alternate directory. See directory.h.
 */
#include "cache/directory/directory.h"

#include "base/clock.h"

#include <string.h>

#define POLL_FIRST (20 * NS_PER_US)
#define POLL_MAX   (2 * NS_PER_MS)
#define WORDS_MAX  (DIRECTORY_ROWS * 16) /* of a bucket */

/* ---- Rows ----------------------------------------------------------------------------------- */

static int home_of(const struct directory *directory, const uint64_t id[2])
{
    uint32_t first = (uint32_t)((id[0] >> 33) % (uint32_t)directory->size);
    for (int i = 0; i < directory->size; i++) {
        int rank = (int)((first + (uint32_t)i) % (uint32_t)directory->size);
        if (directory_is_alive(directory, rank))
            return rank;
    }
    return directory->rank;
}

static struct rh_remote word_at(const struct directory_row *row, uint32_t row_words, int place,
                                unsigned word)
{
    return rh_at(row->home, CACHE_SID_DIRECTORY,
                 row->bucket + ((uint64_t)place * row_words + word) * 8);
}

/* Which row of a bucket is the block's, and which could be. */
static void search_bucket(const struct directory *directory, const uint64_t *words, uint64_t tag,
                          struct directory_row *row)
{
    row->place = row->free_place = -1;
    for (int i = DIRECTORY_ROWS; i-- > 0;) {
        const uint64_t *here = words + (size_t)i * directory->row_words;
        if (head_is(here[0], tag)) {
            row->place = i;
            row->head = here[0];
            memcpy(row->cell, here + 1, (size_t)directory->group_count * 8);
        } else if (head_stage(here[0]) == HEAD_FREE) {
            row->free_place = i;
            row->free_head = here[0];
        }
    }
    /* All in use: one is overwritten. Who was listed there still has the block, unlisted. */
    int other = (int)(tag % DIRECTORY_ROWS);
    const uint64_t *words_there = words + (size_t)other * directory->row_words;
    if (row->free_place < 0 && head_stage(words_there[0]) == HEAD_LOADED) {
        row->free_place = other;
        row->free_head = words_there[0];
    }
}

static int pull_bucket(struct directory *directory, const struct directory_row *row,
                       uint64_t words[WORDS_MAX])
{
    return rh_pull(directory->job, rh_at(row->home, CACHE_SID_DIRECTORY, row->bucket), words,
                   (size_t)DIRECTORY_ROWS * directory->row_words * 8);
}

int directory_look(struct directory *directory, const uint64_t id[2], struct directory_row *row)
{
    uint64_t words[WORDS_MAX];
    uint64_t bucket = (id[0] >> 1) & (directory->bucket_count - 1);
    int result = RH_EDEAD;
    for (int i = 0; i < directory->size && result == RH_EDEAD; i++) {
        row->home = home_of(directory, id);
        row->bucket = directory->rows_offset + bucket * DIRECTORY_ROWS * directory->row_words * 8;
        result = pull_bucket(directory, row, words);
    }
    if (result == 0)
        search_bucket(directory, words, head_tag(id), row);
    return result;
}

static int swap_word(struct directory *directory, struct rh_remote word, uint64_t before,
                     uint64_t after)
{
    uint64_t old;
    int result = rh_compare_swap(directory->job, word, before, after, &old);
    return result < 0 ? result : old == before;
}

int directory_head_set(struct directory *directory, struct directory_row *row, uint64_t head)
{
    int result = swap_word(directory, word_at(row, directory->row_words, row->place, 0), row->head,
                           head);
    if (result == 1)
        row->head = head;
    return result;
}

int directory_cell_set(struct directory *directory, struct directory_row *row, int group,
                       uint64_t cell)
{
    int result = swap_word(directory,
                           word_at(row, directory->row_words, row->place, 1 + (unsigned)group),
                           row->cell[group], cell);
    if (result == 1)
        row->cell[group] = cell;
    return result;
}

int directory_publish(struct directory *directory, struct directory_row *row, uint64_t cell)
{
    memset(row->cell, 0, sizeof(row->cell));
    row->cell[directory->group] = cell;
    int result = rh_push(directory->job, word_at(row, directory->row_words, row->place, 1),
                         row->cell, (size_t)directory->group_count * 8);
    if (result < 0)
        return result;
    return directory_head_set(directory, row, head_with(row->head, HEAD_LOADED));
}

/* ---- Claiming ------------------------------------------------------------------------------- */

uint32_t directory_number(struct directory *directory)
{
    return atomic_fetch_add_explicit(&directory->claim, 1, memory_order_relaxed);
}

/* Another row of the same block in the bucket: its place, or -1. */
static int find_rival(const struct directory *directory, const uint64_t *words, uint64_t tag,
                      int own)
{
    for (int i = 0; i < DIRECTORY_ROWS; i++) {
        if (i != own && head_is(words[(size_t)i * directory->row_words], tag))
            return i;
    }
    return -1;
}

enum rivalry { ALONE, YIELD, WAIT };

/* Two may have claimed different free rows for the same block. Who has not seen the other goes on;
 * of two that are both still looking the lower place goes on, when the higher has withdrawn. */
static enum rivalry judge(const struct directory *directory, const uint64_t *words, uint64_t tag,
                          const struct directory_row *row, int *rival)
{
    *rival = find_rival(directory, words, tag, row->place);
    if (*rival < 0)
        return ALONE;
    enum head_stage stage = head_stage(words[(size_t)*rival * directory->row_words]);
    return stage == HEAD_CLAIMING && *rival > row->place ? WAIT : YIELD;
}

static void poll_sleep(const struct directory *directory, int64_t *pause_ns)
{
    directory_sleep(directory, *pause_ns);
    *pause_ns = *pause_ns * 2 < POLL_MAX ? *pause_ns * 2 : POLL_MAX;
}

/* The rival that we wait for is dead or silent: its row is freed. */
static void remove_rival(struct directory *directory, const struct directory_row *row, int rival,
                         uint64_t head)
{
    if (swap_word(directory, word_at(row, directory->row_words, rival, 0), head, 0) == 1)
        cache_count(directory->control, 0, CACHE_TAKEOVERS, 1);
}

static int settle_claim(struct directory *directory, const uint64_t id[2],
                        struct directory_row *row)
{
    uint64_t words[WORDS_MAX];
    int64_t pause_ns = POLL_FIRST;
    int64_t deadline = deadline_after_ns(directory_now_ns(directory), directory->lease_ns);
    for (;;) {
        int rival, result = pull_bucket(directory, row, words);
        if (result < 0)
            return result;
        enum rivalry rivalry = judge(directory, words, head_tag(id), row, &rival);
        if (rivalry == ALONE)
            return directory_head_set(directory, row, head_with(row->head, HEAD_LOADING));
        if (rivalry == YIELD) {
            result = directory_head_set(directory, row, 0);
            return result < 0 ? result : 0;
        }
        uint64_t head = words[(size_t)rival * directory->row_words];
        if (!directory_is_alive(directory, head_rank(head)) ||
            directory_now_ns(directory) > deadline)
            remove_rival(directory, row, rival, head);
        poll_sleep(directory, &pause_ns);
    }
}

int directory_claim(struct directory *directory, const uint64_t id[2], struct directory_row *row)
{
    if (row->free_place < 0)
        return RH_ENOSPACE; /* no text: the caller loads without the directory */
    uint64_t head = head_make(head_tag(id), HEAD_CLAIMING, directory->rank,
                              directory_number(directory));
    int result = swap_word(directory, word_at(row, directory->row_words, row->free_place, 0),
                           row->free_head, head);
    if (result != 1)
        return result;
    row->place = row->free_place;
    row->head = head;
    return settle_claim(directory, id, row);
}

/* ---- Alternates ----------------------------------------------------------------------------- */

/* Members of our group are the ranks group, group + G, group + 2G ... */
static struct rh_remote alternate_at(const struct directory *directory, const uint64_t id[2])
{
    int members = (directory->size - directory->group + directory->group_count - 1) /
                  directory->group_count;
    uint64_t hash = id[0] >> 12;
    int rank = directory->group + (int)(hash % (uint64_t)members) * directory->group_count;
    uint64_t index = (id[1] >> 24) & (directory->alternate_count - 1);
    return rh_at(rank, CACHE_SID_DIRECTORY, directory->alternate_offset + index * 8);
}

int directory_alternate_get(struct directory *directory, const uint64_t id[2], uint64_t *cell)
{
    return rh_pull(directory->job, alternate_at(directory, id), cell, sizeof(*cell));
}

int directory_alternate_put(struct directory *directory, const uint64_t id[2], uint64_t cell)
{
    return rh_push(directory->job, alternate_at(directory, id), &cell, sizeof(cell));
}

int directory_alternate_drop(struct directory *directory, const uint64_t id[2], uint64_t cell)
{
    return swap_word(directory, alternate_at(directory, id), cell, 0);
}
