/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A release: find the pages that this process has changed, send the changes home, and note the
 * pages in the log. Other threads may go on writing meanwhile: a page is protected before it is
 * compared, so that what comes later is found at the next release.
 */
#include "base/fence.h"
#include "dsm/page/pages.h"

#include <string.h>

#define GAP_MAX  16 /* pages between two watched ones that are harvested along */
#define HARVESTS 64

/* ---- Sharers of our own pages --------------------------------------------------------------- */

/* Somebody fetches these pages of ours now: find our writes to them from now on. That they have
 * been written since must be assumed. */
static int adopt_word(struct rh_dsm_pages *pages, size_t word, uint64_t fresh)
{
    int result = 0;
    for (unsigned bit = 0; bit < 64 && result == 0; bit++) {
        struct faults_run run = {.first = word * 64 + bit, .count = 1};
        if (!(fresh >> bit & 1) || run.first >= pages->count)
            continue;
        pages_enter(pages, run.first);
        if (pages_is_mine(pages, run.first)) {
            result = pages_set_access(pages, run, FAULTS_READ);
            pages_bit_set(pages->adopted, run.first);
            pages_bit_set(pages->watched, run.first);
            pages_bit_set(pages->owed, run.first);
        }
        pages_leave(pages, run.first);
    }
    return result;
}

static int adopt_sharers(struct rh_dsm_pages *pages)
{
    const _Atomic uint64_t *generation = (const _Atomic uint64_t *)(pages->control +
                                                                    pages->layout.generation);
    const _Atomic uint64_t *shared = (const _Atomic uint64_t *)(pages->control +
                                                                pages->layout.shared);
    full_fence(); /* our writes before this look: see pages.h */
    uint64_t now = atomic_load_explicit(generation, memory_order_acquire);
    if (now == pages->generation_seen)
        return 0;
    int result = 0;
    for (size_t word = 0; word < (pages->count + 63) / 64 && result == 0; word++) {
        uint64_t fresh = atomic_load_explicit(&shared[word], memory_order_acquire) &
                         ~atomic_load_explicit(&pages->adopted[word], memory_order_relaxed);
        if (fresh != 0)
            result = adopt_word(pages, word, fresh);
    }
    if (result == 0)
        pages->generation_seen = now;
    return result;
}

/* ---- Harvest (async) ------------------------------------------------------------------------ */

static int harvest_span(struct rh_dsm_pages *pages, struct faults_run span)
{
    struct faults_run found[HARVESTS];
    int runs = HARVESTS;
    while (runs == HARVESTS && span.count > 0) {
        size_t end = span.first + span.count;
        runs = faults_harvest(pages->faults, span, found, HARVESTS);
        if (runs < 0)
            return runs;
        for (int i = 0; i < runs; i++)
            for (size_t page = found[i].first; page < found[i].first + found[i].count; page++)
                if (pages_bit(pages->watched, page))
                    pages_bit_set(pages->written, page);
        if (runs > 0)
            span.first = found[runs - 1].first + found[runs - 1].count;
        span.count = end - span.first;
    }
    return 0;
}

/* Watched pages that lie close together are asked for with one call. */
static int harvest(struct rh_dsm_pages *pages)
{
    struct faults_run span = {0}, run;
    int result = 0;
    for (size_t at = 0;
         result == 0 && pages_next_run(pages->watched, pages->count, at, pages->count, &run);
         at = run.first + run.count) {
        if (span.count > 0 && run.first - (span.first + span.count) <= GAP_MAX) {
            span.count = run.first + run.count - span.first;
            continue;
        }
        result = harvest_span(pages, span);
        span = run;
    }
    return result < 0 ? result : harvest_span(pages, span);
}

/* ---- Sending -------------------------------------------------------------------------------- */

/* A copy that this process has written, entered. Where the kernel notes writes, others may be going
 * on: what is compared is a picture of the page, which becomes the twin. */
static int64_t send_page(struct rh_dsm_pages *pages, size_t page)
{
    char *now = pages_backing(pages, page), *before = pages_twin(pages, page);
    if (pages->tells_writes)
        return change_send(pages, page, now, before);
    memcpy(pages->scratch, now, FAULTS_PAGE);
    int64_t changed = change_send(pages, page, pages->scratch, before);
    if (changed > 0)
        memcpy(before, pages->scratch, FAULTS_PAGE);
    return changed;
}

/* Pages of a run, all entered: protect them at one go, then see what has changed. */
static int close_entered(struct rh_dsm_pages *pages, struct faults_run run)
{
    int result = 0;
    if (pages->tells_writes)
        result = pages_set_access(pages, run, FAULTS_READ);
    for (size_t i = run.first; i < run.first + run.count && result == 0; i++) {
        bool is_mine = pages_is_mine(pages, i);
        int64_t changed = is_mine ? 1 : send_page(pages, i);
        if (changed < 0)
            result = (int)changed;
        if (changed > 0)
            pages_bit_set(pages->owed, i);
    }
    return result;
}

/* A run of pages that have been written; some may have been dropped since. */
static int close_run(struct rh_dsm_pages *pages, struct faults_run run)
{
    int result = 0;
    enum faults_access wanted = pages->tells_writes ? FAULTS_WRITE : FAULTS_READ;
    size_t end = run.first + run.count;
    struct faults_run entered = {.first = run.first};
    for (size_t i = run.first; i < end; i++)
        pages_enter(pages, i);
    for (size_t i = run.first; i <= end && result == 0; i++) {
        if (i < end && pages->pages[i].access == wanted) {
            entered.count++;
            continue;
        }
        result = close_entered(pages, entered);
        entered = (struct faults_run){.first = i + 1};
    }
    for (size_t i = run.first; i < end; i++)
        pages_leave(pages, i);
    return result;
}

static void forget(_Atomic uint64_t *map, struct faults_run run)
{
    for (size_t i = run.first; i < run.first + run.count; i++)
        pages_bit_clear(map, i);
}

static int complete(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (int rank = 0; rank < pages->size && result == 0; rank++)
        if (rank != pages->rank && !pages->direct[rank])
            result = change_complete(pages, rank);
    return result;
}

int interval_close(struct rh_dsm_pages *pages)
{
    struct faults_run run;
    uint64_t pushed = pages->stat.pushed_bytes;
    int result = adopt_sharers(pages);
    if (result == 0 && !pages->tells_writes)
        result = harvest(pages);
    for (size_t at = 0;
         result == 0 && pages_next_run(pages->written, pages->count, at, PAGES_BATCH, &run);
         at = run.first + run.count) {
        forget(pages->written, run); /* before it is protected: a later write sets it again */
        result = close_run(pages, run);
    }
    if (result == 0 && pages->stat.pushed_bytes != pushed)
        result = complete(pages);
    for (size_t at = 0;
         result == 0 && pages_next_run(pages->owed, pages->count, at, pages->count, &run);
         at = run.first + run.count) {
        forget(pages->owed, run);
        notices_add(pages, run);
    }
    return result;
}
