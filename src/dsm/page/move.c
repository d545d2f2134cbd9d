/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Homes that move: a page that one remote rank alone has written before some barriers in a row is
 * given to that rank at the next one. All ranks know of it before anybody uses the page again; who
 * wants to meanwhile waits. The model is tests/model/pages.pml.
 */
#include "dsm/page/pages.h"

#define MOVE_AFTER 3

void move_writer_note(struct rh_dsm_pages *pages, size_t page, int writer)
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

void move_choose(struct rh_dsm_pages *pages)
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

/* The old home: nobody here can write the page until it has moved. Other threads may have done so
 * since we came to the barrier, which others have yet to be told; where the kernel notes writes,
 * it must be assumed. */
static int part_with(struct rh_dsm_pages *pages, size_t page)
{
    struct faults_run run = {.first = page, .count = 1};
    pages_enter(pages, page);
    int result = pages_access_set(pages, run, FAULTS_NONE);
    if (result == 0) {
        if (!pages->tells_writes || pages_bit(pages->written, page))
            pages_bit_set(pages->owed, page);
        pages_bit_set(pages->moving, page);
        pages_bit_clear(pages->watched, page);
        pages_bit_clear(pages->written, page);
        pages_bit_clear(pages->adopted, page);
    }
    pages_leave(pages, page);
    return result;
}

int move_part(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (size_t i = 0; i < pages->move_count && result == 0; i++)
        if (!pages_bit(pages->moving, pages->moves[i].page))
            result = part_with(pages, pages->moves[i].page);
    return result;
}

/* The new home takes the page, with what it has written itself; that others fetch it is known.
 * Entered. */
static int take_over(struct rh_dsm_pages *pages, size_t page)
{
    struct faults_run run = {.first = page, .count = 1};
    int result = 0;
    if (pages->pages[page].access != FAULTS_NONE)
        result = drop_entered(pages, run);
    if (result == 0)
        result = pages_pull(pages, pages_data_at(pages, pages_home_of(pages, page), page),
                            pages_backing(pages, page), FAULTS_PAGE);
    if (result < 0)
        return result;
    atomic_store_explicit(&pages->pages[page].home, pages->rank, memory_order_release);
    pages_bit_set(pages->adopted, page);
    pages_bit_set(pages->watched, page);
    pages_count(&pages->stat.moved_pages, 1);
    return pages_access_set(pages, run, FAULTS_READ);
}

/* Entered. A new home that does not have the page yet must not be asked for it: `moving`. */
static int move_entered(struct rh_dsm_pages *pages, const struct pages_move *move, int from)
{
    if (pages_is_mine(pages, move->page) && (int)move->home == pages->rank)
        return 0; /* done before a time-out */
    if (pages_home_of(pages, move->page) == PAGES_HOME_UNKNOWN)
        atomic_store_explicit(&pages->pages[move->page].home, from, memory_order_release);
    if ((int)move->home == pages->rank)
        return take_over(pages, move->page);
    pages_bit_set(pages->moving, move->page);
    atomic_store_explicit(&pages->pages[move->page].home, (int)move->home, memory_order_release);
    return 0;
}

static int move_one(struct rh_dsm_pages *pages, const struct pages_move *move, int from)
{
    if (move->page >= pages->count || move->home >= (uint64_t)pages->size)
        return error_set(RH_ECORRUPT, from, "rank %d gives away page %llu to rank %llu", from,
                         (unsigned long long)move->page, (unsigned long long)move->home);
    pages_enter(pages, move->page);
    int result = move_entered(pages, move, from);
    pages_leave(pages, move->page);
    return result;
}

int move_follow(struct rh_dsm_pages *pages, int from, size_t count)
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
