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

/* Changes of ours in a page that is not accessible any more, entered. */
static int rescue(struct rh_dsm_pages *pages, size_t page, bool was_written)
{
    if (pages->tells_writes && !was_written)
        return 0;
    int64_t changed = change_send(pages, page, pages_backing(pages, page), pages_twin(pages, page));
    if (changed > 0) {
        pages_bit_set(pages->owed, page);
        return change_complete(pages, pages_home_of(pages, page));
    }
    return (int)changed;
}

int drop_entered(struct rh_dsm_pages *pages, struct faults_run run)
{
    bool was_written[PAGES_BATCH];
    for (size_t i = 0; i < run.count; i++)
        was_written[i] = pages->pages[run.first + i].access == FAULTS_WRITE;
    int result = pages_set_access(pages, run, FAULTS_NONE);
    for (size_t i = 0; i < run.count && result == 0; i++) {
        pages_bit_clear(pages->watched, run.first + i);
        pages_bit_clear(pages->written, run.first + i);
        result = rescue(pages, run.first + i, was_written[i]);
    }
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
    return one->access == FAULTS_READ && one->credit > 0 ? UPDATE : DROP;
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
    return result;
}
