/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An acquire: copies that others have overtaken are dropped, to be fetched again when they are
 * used; or, if they have been fetched again and again, brought up to date at once, which costs a
 * tenth of a fault. After a while even those are dropped, to see whether anybody still wants them.
 *
 * What this process has written into such a page and not yet sent is kept: sent home before the
 * page is dropped, or left as it is while the bytes that others have changed are put in.
 */
#include "dsm/page/pages.h"

#include <string.h>

/* ---- Dropping ------------------------------------------------------------------------------- */

/* Changes of ours in a page that nobody can write now, entered. */
static int rescue(struct rh_dsm_pages *pages, size_t page)
{
    int64_t changed = change_send(pages, page, pages_backing(pages, page), pages_twin(pages, page));
    int result = changed > 0 ? change_complete(pages, pages_home_of(pages, page)) : (int)changed;
    if (changed > 0 && result == 0)
        pages_bit_set(pages->owed, page);
    return result;
}

static void forget(struct rh_dsm_pages *pages, size_t page)
{
    pages_bit_clear(pages->watched, page);
    pages_bit_clear(pages->written, page);
}

/* Writes raise faults: changes go home while the page can still be read. If they do not get there
 * it stays as it is. */
static int drop_told(struct rh_dsm_pages *pages, struct faults_run run)
{
    int result = 0;
    for (size_t i = run.first; i < run.first + run.count && result == 0; i++) {
        struct faults_run one = {.first = i, .count = 1};
        if (pages_bit(pages->written, i)) {
            result = pages_access_set(pages, one, FAULTS_READ);
            if (result == 0)
                result = rescue(pages, i);
        }
        if (result == 0)
            forget(pages, i);
    }
    return result < 0 ? result : pages_access_set(pages, run, FAULTS_NONE);
}

/* The kernel notes writes: only a page without access cannot be written. */
static int drop_noted(struct rh_dsm_pages *pages, struct faults_run run)
{
    int result = pages_access_set(pages, run, FAULTS_NONE);
    if (result < 0)
        return result;
    for (size_t i = run.first; i < run.first + run.count; i++) {
        struct faults_run one = {.first = i, .count = 1};
        int rescued = rescue(pages, i);
        if (rescued == 0) {
            forget(pages, i);
            continue;
        }
        result = rescued;
        pages_bit_set(pages->written, i);
        int kept = pages_access_set(pages, one, FAULTS_READ);
        if (kept < 0)
            result = kept;
    }
    return result;
}

int drop_entered(struct rh_dsm_pages *pages, struct faults_run run)
{
    ASSERT(run.first + run.count <= pages->count);
    ASSERT(atomic_load_explicit(&pages->pages[run.first].busy, memory_order_relaxed));
    int result = pages->tells_writes ? drop_told(pages, run) : drop_noted(pages, run);
    if (result == 0)
        pages_count(&pages->stat.dropped_pages, run.count);
    return result;
}

/* ---- Updating ------------------------------------------------------------------------------- */

/* A run of copies with one home, all entered, readable. Where writes raise faults nobody can write
 * now; else only bytes that others have changed are touched, so that what our threads write
 * meanwhile stays. */
static int update_entered(struct rh_dsm_pages *pages, struct faults_run run)
{
    size_t length = run.count * FAULTS_PAGE;
    struct rh_remote home = pages_data_at(pages, pages_home_of(pages, run.first), run.first);
    char *backing = pages_backing(pages, run.first), *twin = pages_twin(pages, run.first);
    int result = pages_pull(pages, home, pages->tells_writes ? backing : pages->scratch, length);
    if (result < 0)
        return result;
    if (!pages->tells_writes) {
        change_copy(backing, pages->scratch, twin, length);
        memcpy(twin, pages->scratch, length);
    }
    for (size_t i = run.first; i < run.first + run.count; i++)
        pages->pages[i].credit--;
    pages_count(&pages->stat.updated_pages, run.count);
    return 0;
}

/* ---- Either --------------------------------------------------------------------------------- */

enum fate { LEAVE, DROP, UPDATE };

static enum fate fate_of(const struct rh_dsm_pages *pages, size_t page)
{
    const struct page *one = &pages->pages[page];
    if (one->access == FAULTS_NONE || pages_is_mine(pages, page))
        return LEAVE;
    /* An update would write over what our home has not got yet. */
    bool is_clean = one->access == FAULTS_READ &&
                    !(pages->tells_writes && pages_bit(pages->written, page));
    return is_clean && one->credit > 0 ? UPDATE : DROP;
}

/* The longest run from `first` on that has one fate and one home; all are entered. */
static struct faults_run same_fate(const struct rh_dsm_pages *pages, size_t first, size_t end)
{
    struct faults_run run = {.first = first, .count = 1};
    enum fate fate = fate_of(pages, first);
    int home = pages_home_of(pages, first);
    while (first + run.count < end && fate_of(pages, first + run.count) == fate &&
           (fate != UPDATE || pages_home_of(pages, first + run.count) == home))
        run.count++;
    return run;
}

static int drop_batch(struct rh_dsm_pages *pages, struct faults_run run)
{
    size_t end = run.first + run.count;
    int result = 0;
    for (size_t i = run.first; i < end; i++)
        pages_enter(pages, i);
    for (size_t at = run.first; at < end && result == 0;) {
        struct faults_run part = same_fate(pages, at, end);
        enum fate fate = fate_of(pages, at);
        if (fate == DROP)
            result = drop_entered(pages, part);
        else if (fate == UPDATE)
            result = update_entered(pages, part);
        at += part.count;
    }
    for (size_t i = run.first; i < end; i++)
        pages_leave(pages, i);
    return result;
}

/* ---- Everything ------------------------------------------------------------------------------ */

/* One page that is not accessible any more, and has just been; entered. */
static int evict(struct rh_dsm_pages *pages, size_t page)
{
    struct faults_run one = {.first = page, .count = 1};
    bool was_written = pages_bit(pages->written, page);
    pages->pages[page].access = FAULTS_NONE;
    if (pages_is_mine(pages, page)) { /* stays watched: see bring() */
        if (was_written)
            pages_bit_set(pages->owed, page);
        pages_bit_clear(pages->written, page);
        return 0;
    }
    int result = was_written ? rescue(pages, page) : 0;
    if (result == 0) {
        forget(pages, page);
        pages_count(&pages->stat.dropped_pages, 1);
        return 0;
    }
    int kept = pages_access_set(pages, one, FAULTS_READ);
    return kept < 0 ? kept : result;
}

int drop_everything(struct rh_dsm_pages *pages)
{
    struct faults_run all = {.first = 0, .count = pages->count};
    for (size_t i = 0; i < pages->count; i++)
        pages_enter(pages, i);
    int result = faults_set(pages->faults, all, FAULTS_WRITE, FAULTS_NONE);
    for (size_t i = 0; i < pages->count && result != RH_ENOSPACE; i++) {
        int evicted = pages->pages[i].access == FAULTS_NONE ? 0 : evict(pages, i);
        if (evicted < 0)
            result = evicted;
    }
    for (size_t i = 0; i < pages->count; i++)
        pages_leave(pages, i);
    return result;
}

int drop_room_make(struct rh_dsm_pages *pages)
{
    int result = sync_take(pages);
    if (result < 0)
        return result;
    result = drop_everything(pages);
    sync_give(pages);
    return result;
}

/* ---- What others have written ---------------------------------------------------------------- */

int drop_run(struct rh_dsm_pages *pages, struct faults_run run)
{
    int result = 0;
    while (run.count > 0 && result == 0) {
        struct faults_run batch = run;
        if (batch.count > PAGES_BATCH)
            batch.count = PAGES_BATCH;
        result = drop_batch(pages, batch);
        run.first += batch.count;
        run.count -= batch.count;
    }
    return result == RH_ENOSPACE ? drop_everything(pages) : result;
}
