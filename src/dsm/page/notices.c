/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Logs of changed pages, and what they say between barriers. A reader that finds another place in
 * an entry than it expects has been overtaken by the writer.
 */
#include "dsm/page/pages.h"

#define COUNT_BITS  12
#define PIECE       128u /* entries pulled at a time */
#define DROP_ALL_AT (PAGES_LOG_ENTRIES - PIECE)

_Static_assert(PAGES_RUN_MAX < 1u << COUNT_BITS, "a run's length fits beside its place");

/* An entry as it was pulled. */
struct entry {
    uint64_t first;
    uint64_t count;
};
_Static_assert(sizeof(struct entry) == sizeof(struct pages_entry), "the same memory");

/* A run as one word, for barriers. */
static uint64_t notices_pack(struct faults_run run)
{
    return (uint64_t)run.count << 32 | run.first;
}

static bool unpack(const struct rh_dsm_pages *pages, uint64_t packed, struct faults_run *run)
{
    run->first = packed & UINT32_MAX;
    run->count = packed >> 32;
    return run->first < pages->count && run->count > 0 && run->count <= pages->count - run->first;
}

/* release: peers read it after having learnt the log's end, by a lock or a barrier. */
static void entry_write(struct pages_entry *entry, uint64_t place, struct faults_run run)
{
    atomic_store_explicit(&entry->first, place << 32 | run.first, memory_order_release);
    atomic_store_explicit(&entry->count, place << COUNT_BITS | run.count, memory_order_release);
}

/* The run of an entry, packed; 0 if another stands at this place by now. */
static uint64_t entry_read(const struct entry *entry, uint64_t place)
{
    if (entry->count >> COUNT_BITS != (place << COUNT_BITS) >> COUNT_BITS ||
        entry->first >> 32 != (place & UINT32_MAX))
        return 0;
    struct faults_run run = {.first = entry->first & UINT32_MAX,
                             .count = entry->count & ((1u << COUNT_BITS) - 1)};
    return notices_pack(run);
}

uint64_t notices_own(const struct rh_dsm_pages *pages, uint64_t place)
{
    const struct pages_entry *own = &pages->log[place % PAGES_LOG_ENTRIES];
    struct entry entry = {.first = atomic_load_explicit(&own->first, memory_order_relaxed),
                          .count = atomic_load_explicit(&own->count, memory_order_relaxed)};
    return entry_read(&entry, place);
}

void notices_add(struct rh_dsm_pages *pages, struct faults_run run)
{
    ASSERT(pages->sync.is_taken);
    ASSERT(run.first + run.count <= pages->count);
    pages_count(&pages->stat.noted_pages, run.count);
    for (size_t i = run.first; i < run.first + run.count; i++)
        pages_bit_set(pages->noted, i);
    while (run.count > 0) {
        struct faults_run piece = run;
        piece.count = run.count < PAGES_RUN_MAX ? run.count : PAGES_RUN_MAX;
        uint64_t place = pages->vector[pages->rank]++;
        entry_write(&pages->log[place % PAGES_LOG_ENTRIES], place, piece);
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
            move_writer_note(pages, i, news->rank);
    }
    return drop_run(pages, run);
}

static int drop_all(struct rh_dsm_pages *pages)
{
    struct faults_run all = {.first = 0, .count = pages->count};
    return drop_run(pages, all);
}

/* Up to PIECE runs, packed, of entries that lie together in the log from `place` on. */
static int pull_piece(struct rh_dsm_pages *pages, const struct notices_news *news, uint64_t place,
                      uint64_t *runs)
{
    struct entry entries[PIECE];
    uint64_t at = place % PAGES_LOG_ENTRIES, count = news->end - place;
    if (count > PIECE)
        count = PIECE;
    if (count > PAGES_LOG_ENTRIES - at)
        count = PAGES_LOG_ENTRIES - at;
    struct rh_remote log = rh_at(news->rank, pages->control_sid,
                                 pages->layout.log + at * sizeof(*entries));
    int result = pages_pull(pages, log, entries, count * sizeof(*entries));
    for (uint64_t i = 0; i < count && result == 0; i++)
        runs[i] = entry_read(&entries[i], place + i);
    return result < 0 ? result : (int)count;
}

/* Act on runs that stand in the log from *place on, and move *place behind them; to the end of the
 * news if everything had to be dropped. */
static int learn_runs(struct rh_dsm_pages *pages, const struct notices_news *news, uint64_t *place,
                      const uint64_t *runs, uint64_t count)
{
    int result = 0;
    for (uint64_t i = 0; i < count && result == 0; i++) {
        struct faults_run run;
        if (!unpack(pages, runs[i], &run)) {
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
    ASSERT((unsigned)news->rank < (unsigned)pages->size);
    uint64_t place = pages->vector[news->rank];
    uint64_t runs[PIECE];
    int result = 0;
    if (news->end <= place || news->rank == pages->rank)
        return 0;
    if (news->end - place <= news->given_count) {
        const uint64_t *fresh = news->given + (news->given_count - (news->end - place));
        result = learn_runs(pages, news, &place, fresh, news->end - place);
    } else if (news->end - place > DROP_ALL_AT) {
        result = drop_all(pages);
        place = news->end;
    }
    while (place < news->end && result == 0) {
        int got = pull_piece(pages, news, place, runs);
        result = got < 0 ? got : learn_runs(pages, news, &place, runs, (uint64_t)got);
    }
    if (result == 0)
        pages->vector[news->rank] = news->end;
    return result;
}

int notices_vector_learn(struct rh_dsm_pages *pages, const uint64_t *vector)
{
    int result = 0;
    for (int rank = 0; rank < pages->size && result == 0; rank++) {
        struct notices_news news = {.rank = rank, .end = vector[rank]};
        result = notices_learn(pages, &news);
    }
    return result;
}
