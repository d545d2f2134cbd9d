/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Logs of changed pages. An entry is one word: where it stands in the log (20 bits), how many pages
 * (12), the first (32). A reader that finds another place in an entry than it expects has been
 * overtaken by the writer.
 */
#include "dsm/page/pages.h"

#define PLACE_BITS  20
#define PLACE_MASK  ((1u << PLACE_BITS) - 1)
#define PIECE       128u /* entries pulled at a time */
#define DROP_ALL_AT (PAGES_LOG_ENTRIES - PIECE)

static uint64_t entry_make(uint64_t place, struct faults_run run)
{
    return (place & PLACE_MASK) << 44 | (uint64_t)run.count << 32 | run.first;
}

static bool entry_read(const struct rh_dsm_pages *pages, uint64_t entry, uint64_t place,
                       struct faults_run *run)
{
    run->first = entry & UINT32_MAX;
    run->count = entry >> 32 & PAGES_RUN_MAX;
    return entry >> 44 == (place & PLACE_MASK) && run->first < pages->count && run->count > 0 &&
           run->count <= pages->count - run->first;
}

void notices_add(struct rh_dsm_pages *pages, struct faults_run run)
{
    pages_count(&pages->stat.noted_pages, run.count);
    for (size_t i = run.first; i < run.first + run.count; i++)
        pages_bit_set(pages->noted, i);
    while (run.count > 0) {
        struct faults_run piece = run;
        piece.count = run.count < PAGES_RUN_MAX ? run.count : PAGES_RUN_MAX;
        uint64_t place = pages->vector[pages->rank]++;
        /* Peers read it after having learnt the log's end, by a lock or a barrier. */
        atomic_store_explicit(&pages->log[place % PAGES_LOG_ENTRIES], entry_make(place, piece),
                              memory_order_release);
        run.first += piece.count;
        run.count -= piece.count;
    }
}

/* ---- Learning ------------------------------------------------------------------------------- */

static int act_on(struct rh_dsm_pages *pages, const struct notices_news *news,
                  struct faults_run run)
{
    for (size_t i = run.first; news->is_meeting && i < run.first + run.count; i++) {
        pages_count(&pages->stat.shared_writes, pages_bit(pages->noted, i));
        if (pages_is_mine(pages, i))
            meeting_note_writer(pages, i, news->rank);
    }
    return drop_run(pages, run);
}

static int drop_all(struct rh_dsm_pages *pages)
{
    struct faults_run all = {.first = 0, .count = pages->count};
    return drop_run(pages, all);
}

/* Up to PIECE entries that lie together in the log, from `place` on. */
static int pull_piece(struct rh_dsm_pages *pages, const struct notices_news *news, uint64_t place,
                      uint64_t *entries)
{
    uint64_t at = place % PAGES_LOG_ENTRIES, count = news->end - place;
    if (count > PIECE)
        count = PIECE;
    if (count > PAGES_LOG_ENTRIES - at)
        count = PAGES_LOG_ENTRIES - at;
    struct rh_remote log = rh_at(news->rank, pages->control_sid, pages->layout.log + at * 8);
    int result = pages_pull(pages, log, entries, count * 8);
    return result < 0 ? result : (int)count;
}

/* Act on entries that stand in the log from *place on, and move *place behind them; to the end of
 * the news if everything had to be dropped. */
static int learn_entries(struct rh_dsm_pages *pages, const struct notices_news *news,
                         uint64_t *place, const uint64_t *entries, uint64_t count)
{
    int result = 0;
    for (uint64_t i = 0; i < count && result == 0; i++) {
        struct faults_run run;
        if (!entry_read(pages, entries[i], *place, &run)) {
            *place = news->end;
            return drop_all(pages);
        }
        result = act_on(pages, news, run);
        *place += 1;
    }
    return result;
}

int notices_learn(struct rh_dsm_pages *pages, const struct notices_news *news)
{
    uint64_t place = pages->vector[news->rank];
    uint64_t entries[PIECE];
    int result = 0;
    if (news->end <= place || news->rank == pages->rank)
        return 0;
    if (news->end - place <= news->given_count) {
        const uint64_t *fresh = news->given + (news->given_count - (news->end - place));
        result = learn_entries(pages, news, &place, fresh, news->end - place);
    } else if (news->end - place > DROP_ALL_AT) {
        result = drop_all(pages);
        place = news->end;
    }
    while (place < news->end && result == 0) {
        int got = pull_piece(pages, news, place, entries);
        result = got < 0 ? got : learn_entries(pages, news, &place, entries, (uint64_t)got);
    }
    if (result == 0)
        pages->vector[news->rank] = news->end;
    return result;
}

int notices_learn_vector(struct rh_dsm_pages *pages, const uint64_t *vector)
{
    int result = 0;
    for (int rank = 0; rank < pages->size && result == 0; rank++) {
        struct notices_news news = {.rank = rank, .end = vector[rank]};
        result = notices_learn(pages, &news);
    }
    return result;
}
