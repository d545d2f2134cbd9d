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
            if (pages->pages[run.first].access != FAULTS_NONE)
                result = pages_access_set(pages, run, FAULTS_READ);
            if (result == 0)
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

/* Pages that are sent together, in ascending order, all entered. Those whose home does not get the
 * changes stay `written`: their twins are still what the home knows. */
struct batch {
    size_t count;
    size_t page[PAGES_CLOSE_MAX];
    int64_t changed[PAGES_CLOSE_MAX]; /* bytes, or an error */
};

static void batch_enter(struct rh_dsm_pages *pages, size_t *at, struct batch *batch)
{
    struct faults_run run;
    batch->count = 0;
    while (batch->count < PAGES_CLOSE_MAX && pages_next_run(pages->written, pages->count, *at,
                                                            PAGES_CLOSE_MAX - batch->count, &run)) {
        *at = run.first + run.count;
        for (size_t i = run.first; i < *at; i++) {
            pages_enter(pages, i);
            batch->page[batch->count++] = i;
        }
    }
}

static void batch_leave(struct rh_dsm_pages *pages, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        pages_leave(pages, batch->page[i]);
}

/* Where writes raise faults, nobody may write a page that is compared: protect neighbours at one
 * go. What cannot be protected is not sent. */
static int batch_protect(struct rh_dsm_pages *pages, struct batch *batch)
{
    int result = 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->changed[i] = 0;
    for (size_t i = 0, end; i < batch->count && pages->tells_writes; i = end) {
        struct faults_run run = {.first = batch->page[i], .count = 1};
        end = i + 1;
        if (pages->pages[run.first].access != FAULTS_WRITE)
            continue;
        while (end < batch->count && batch->page[end] == run.first + run.count &&
               pages->pages[batch->page[end]].access == FAULTS_WRITE)
            end++, run.count++;
        int protected = pages_access_set(pages, run, FAULTS_READ);
        for (size_t k = i; k < end && protected < 0; k++)
            batch->changed[k] = result = protected;
    }
    return result;
}

/* A copy that this process has written. Where the kernel notes writes, others may be going on: what
 * is compared is a picture of the page, which becomes the twin. */
static int64_t send_page(struct rh_dsm_pages *pages, size_t page, char *picture)
{
    const char *now = pages_backing(pages, page);
    if (!pages->tells_writes) {
        memcpy(picture, now, FAULTS_PAGE);
        now = picture;
    }
    return change_send(pages, page, now, pages_twin(pages, page));
}

static void batch_send(struct rh_dsm_pages *pages, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        size_t page = batch->page[i];
        int home = pages_home_of(pages, page);
        if (batch->changed[i] < 0 || pages->pages[page].access == FAULTS_NONE)
            continue;
        if (home == pages->rank)
            batch->changed[i] = FAULTS_PAGE;
        else if (pages->reached[home] < 0)
            batch->changed[i] = pages->reached[home]; /* not again and again */
        else
            batch->changed[i] = send_page(pages, page, pages->scratch + i * FAULTS_PAGE);
        if (home != pages->rank && batch->changed[i] != 0 && pages->reached[home] >= 0)
            pages->reached[home] = batch->changed[i] < 0 ? (int)batch->changed[i] : 1;
    }
}

/* Wait until everything that was sent has arrived. */
static int batch_complete(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (int rank = 0; rank < pages->size; rank++) {
        if (pages->reached[rank] == 1)
            pages->reached[rank] = change_complete(pages, rank);
        if (pages->reached[rank] < 0)
            result = pages->reached[rank];
    }
    return result;
}

static void batch_settle(struct rh_dsm_pages *pages, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        size_t page = batch->page[i];
        int home = pages_home_of(pages, page);
        bool is_mine = home == pages->rank;
        if (batch->changed[i] < 0 ||
            (!is_mine && batch->changed[i] > 0 && pages->reached[home] < 0))
            continue;
        pages_bit_clear(pages->written, page);
        if (batch->changed[i] == 0)
            continue;
        pages_bit_set(pages->owed, page);
        if (!is_mine && !pages->tells_writes)
            memcpy(pages_twin(pages, page), pages->scratch + i * FAULTS_PAGE, FAULTS_PAGE);
    }
}

static int send_written(struct rh_dsm_pages *pages)
{
    struct batch batch;
    int result = 0;
    size_t at = 0;
    memset(pages->reached, 0, (size_t)pages->size * sizeof(*pages->reached));
    for (batch_enter(pages, &at, &batch); batch.count > 0; batch_enter(pages, &at, &batch)) {
        int protected = batch_protect(pages, &batch);
        batch_send(pages, &batch);
        int arrived = batch_complete(pages);
        batch_settle(pages, &batch);
        batch_leave(pages, &batch);
        if (protected < 0 || arrived < 0)
            result = arrived < 0 ? arrived : protected;
    }
    return result;
}

static void note_owed(struct rh_dsm_pages *pages)
{
    struct faults_run run;
    for (size_t at = 0; pages_next_run(pages->owed, pages->count, at, pages->count, &run);
         at = run.first + run.count) {
        for (size_t i = run.first; i < run.first + run.count; i++)
            pages_bit_clear(pages->owed, i);
        notices_add(pages, run);
    }
}

int interval_close(struct rh_dsm_pages *pages)
{
    ASSERT(pages->sync.is_taken);
    int result = adopt_sharers(pages);
    if (result == RH_ENOSPACE) {
        result = drop_everything(pages);
        if (result == 0)
            result = adopt_sharers(pages);
    }
    if (result == 0 && !pages->tells_writes)
        result = harvest(pages);
    int sent = send_written(pages);
    if (sent == RH_ENOSPACE)
        sent = drop_everything(pages);
    note_owed(pages);
    return sent < 0 ? sent : result;
}
