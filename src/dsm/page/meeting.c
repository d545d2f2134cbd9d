/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The barrier: all ranks close their interval, exchange how far their logs have got, with the last
 * entries, and learn each other's. It is also where homes move: a page that one remote rank alone
 * has written before some barriers in a row is given to that rank at the next one.
 */
#include "dsm/page/pages.h"

#include <string.h>

#define MOVE_AFTER  3
#define BLOCK_WORDS 31 /* fits what a set exchanges in one step, for up to four ranks */
#define BLOCK_HEAD  2

/* What a rank brings to a barrier. */
struct block {
    uint64_t end;                               /* of its log */
    uint64_t move_count;                        /* pages that it gives away */
    uint64_t entries[BLOCK_WORDS - BLOCK_HEAD]; /* the last ones of its log, up to `end` */
};
_Static_assert(sizeof(struct block) == BLOCK_WORDS * 8, "no holes travel");

void meeting_note_writer(struct rh_dsm_pages *pages, size_t page, int writer)
{
    struct page *one = &pages->pages[page];
    bool is_again = one->meeting == pages->meeting;
    if (pages_bit(pages->noted, page) || (is_again && one->writer != writer)) {
        one->writer = PAGES_HOME_UNKNOWN; /* not alone */
        one->streak = 0;
    } else if (!is_again) {
        one->streak = one->writer == writer ? one->streak + 1 : 1;
        one->writer = writer;
    }
    one->meeting = pages->meeting;
}

/* ---- Homes that move ------------------------------------------------------------------------ */

/* After a barrier: who alone has written a page of ours for long gets it at the next one. */
static void choose_moves(struct rh_dsm_pages *pages)
{
    pages->move_count = 0;
    if (pages->options.is_settled)
        return;
    struct faults_run run;
    for (size_t at = 0; pages_next_run(pages->adopted, pages->count, at, pages->count, &run);
         at = run.first + run.count) {
        for (size_t i = run.first; i < run.first + run.count; i++) {
            const struct page *one = &pages->pages[i];
            if (one->meeting == pages->meeting && one->streak >= MOVE_AFTER &&
                pages->move_count < PAGES_MOVES_MAX && pages_is_mine(pages, i))
                pages->moves[pages->move_count++] = (struct pages_move){
                    .page = i, .home = (uint64_t)one->writer};
        }
    }
}

/* The old home: nobody here can write the page until it has moved. It stays entered. */
static int part_with(struct rh_dsm_pages *pages, size_t page)
{
    struct faults_run run = {.first = page, .count = 1};
    pages_enter(pages, page);
    pages_bit_clear(pages->watched, page);
    pages_bit_clear(pages->written, page);
    pages_bit_clear(pages->adopted, page);
    return pages_set_access(pages, run, FAULTS_NONE);
}

/* The new home takes the page, with what it has written itself; that others fetch it is known. */
static int take_over(struct rh_dsm_pages *pages, size_t page)
{
    struct faults_run run = {.first = page, .count = 1};
    int result = 0;
    pages_enter(pages, page);
    if (pages->pages[page].access != FAULTS_NONE)
        result = drop_entered(pages, run);
    if (result == 0)
        result = pages_pull(pages, pages_data_at(pages, pages_home_of(pages, page), page),
                            pages_backing(pages, page), FAULTS_PAGE);
    if (result == 0) {
        atomic_store_explicit(&pages->pages[page].home, pages->rank, memory_order_release);
        pages_bit_set(pages->adopted, page);
        pages_bit_set(pages->watched, page);
        result = pages_set_access(pages, run, FAULTS_READ);
        pages_count(&pages->stat.moved_pages, 1);
    }
    pages_leave(pages, page);
    return result;
}

static int move_one(struct rh_dsm_pages *pages, const struct pages_move *move, int from)
{
    if (move->page >= pages->count || move->home >= (uint64_t)pages->size)
        return error_set(RH_ECORRUPT, from, "rank %d gives away page %llu to rank %llu", from,
                         (unsigned long long)move->page, (unsigned long long)move->home);
    if (pages_home_of(pages, move->page) == PAGES_HOME_UNKNOWN)
        atomic_store_explicit(&pages->pages[move->page].home, from, memory_order_release);
    if ((int)move->home == pages->rank)
        return take_over(pages, move->page);
    atomic_store_explicit(&pages->pages[move->page].home, (int)move->home, memory_order_release);
    return 0;
}

static int follow_moves(struct rh_dsm_pages *pages, int from, size_t count)
{
    struct pages_move moves[64];
    int result = 0;
    for (size_t at = 0; at < count && result == 0;) {
        size_t piece = count - at < 64 ? count - at : 64;
        struct rh_remote list = rh_at(from, pages->control_sid,
                                      pages->layout.moves + at * sizeof(*moves));
        result = pages_pull(pages, list, moves, piece * sizeof(*moves));
        for (size_t i = 0; i < piece && result == 0; i++)
            result = move_one(pages, &moves[i], from);
        at += piece;
    }
    return result;
}

/* All have learnt everything. First the old homes let go, then the new ones take over, then
 * everybody may use them; a barrier lies between these. */
static int move_homes(struct rh_dsm_pages *pages, const struct block *blocks, int64_t timeout_ns)
{
    int result = 0;
    size_t parted = 0;
    while (parted < pages->move_count && result == 0)
        result = part_with(pages, pages->moves[parted++].page);
    if (result == 0)
        result = rh_barrier(pages->set, timeout_ns);
    for (int rank = 0; rank < pages->size && result == 0; rank++)
        result = follow_moves(pages, rank, blocks[rank].move_count);
    if (result == 0)
        result = rh_barrier(pages->set, timeout_ns);
    for (size_t i = 0; i < parted; i++)
        pages_leave(pages, pages->moves[i].page);
    return result;
}

/* ---- The barrier ---------------------------------------------------------------------------- */

static void fill(const struct rh_dsm_pages *pages, struct block *block)
{
    uint64_t end = pages->vector[pages->rank];
    uint64_t room = BLOCK_WORDS - BLOCK_HEAD;
    *block = (struct block){.end = end, .move_count = pages->move_count};
    for (uint64_t i = 0; i < room && i < end; i++)
        block->entries[room - 1 - i] = atomic_load_explicit(
            &pages->log[(end - 1 - i) % PAGES_LOG_ENTRIES], memory_order_relaxed);
}

static int learn(struct rh_dsm_pages *pages, const struct block *blocks)
{
    int result = 0;
    for (int rank = 0; rank < pages->size && result == 0; rank++) {
        struct notices_news news = {.rank = rank,
                                    .end = blocks[rank].end,
                                    .given = blocks[rank].entries,
                                    .given_count = BLOCK_WORDS - BLOCK_HEAD,
                                    .is_meeting = true};
        result = notices_learn(pages, &news);
    }
    return result;
}

static int meet(struct rh_dsm_pages *pages, struct block *blocks, int64_t timeout_ns)
{
    struct block mine;
    bool has_moves = false;
    int result = interval_close(pages);
    if (result < 0)
        return result;
    fill(pages, &mine);
    result = rh_allgather(pages->set, &mine, blocks, sizeof(mine));
    if (result < 0)
        return result;
    pages->meeting++;
    result = learn(pages, blocks);
    for (int rank = 0; rank < pages->size; rank++)
        has_moves |= blocks[rank].move_count > 0;
    if (result == 0 && has_moves)
        result = move_homes(pages, blocks, timeout_ns);
    for (size_t i = 0; i < (pages->count + 63) / 64; i++)
        atomic_store_explicit(&pages->noted[i], 0, memory_order_relaxed);
    choose_moves(pages);
    return result;
}

int rh_dsm_pages_barrier(struct rh_dsm_pages *pages, int64_t timeout_ns)
{
    pthread_mutex_lock(&pages->sync);
    int result = meet(pages, (struct block *)pages->blocks, timeout_ns);
    pthread_mutex_unlock(&pages->sync);
    return result;
}

size_t meeting_block_length(void)
{
    return sizeof(struct block);
}
