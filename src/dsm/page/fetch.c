/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults: making a page accessible, in the thread that wants it. Pages that nobody has touched yet
 * are claimed at the rank that looks after them; all others are fetched from their home, with some
 * that follow if the faults come in sequence.
 */
#include "dsm/page/pages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_MAX  PAGES_BATCH
#define CLAIM_MAX   8 /* too many would take pages that a neighbour is about to touch */
#define UPDATES_MAX 31
#define HOT         3

/* ---- First touch ---------------------------------------------------------------------------- */

/* Claim a page that has no home as far as we know, entered. Returns its home. */
static int claim(struct rh_dsm_pages *pages, size_t page)
{
    size_t share = (pages->count + (size_t)pages->size - 1) / (size_t)pages->size;
    struct rh_remote word = rh_at((int)(page / share), pages->control_sid,
                                  pages->layout.directory + page % share * 8);
    struct pages_patience patience = pages_patience(pages);
    uint64_t old = 0;
    int result;
    do {
        result = rh_compare_swap(pages->job, word, 0, (uint64_t)pages->rank + 1, &old);
    } while (pages_try_again(pages, &patience, result));
    if (result < 0)
        return result;
    if (old > (uint64_t)pages->size)
        return error_set(RH_ECORRUPT, word.rank, "page %zu has no sensible home at rank %d", page,
                         word.rank);
    int home = old == 0 ? pages->rank : (int)old - 1;
    /* release: pairs with pages_home_of(). */
    atomic_store_explicit(&pages->pages[page].home, home, memory_order_release);
    return home;
}

/* How many pages after the first one, which is claimed, are to be had as well. */
static size_t claim_ahead(struct rh_dsm_pages *pages, size_t page, size_t ahead)
{
    size_t count = 1;
    if (ahead > CLAIM_MAX)
        ahead = CLAIM_MAX;
    while (count <= ahead && page + count < pages->count && pages_try_enter(pages, page + count)) {
        if (pages_home_of(pages, page + count) == PAGES_HOME_UNKNOWN &&
            !pages_bit(pages->moving, page + count) && claim(pages, page + count) == pages->rank) {
            count++;
            continue;
        }
        pages_leave(pages, page + count);
        break;
    }
    return count;
}

/* ---- Fetching ------------------------------------------------------------------------------- */

/* Tell the home that it has sharers for these pages, once. pages.h tells why in this order. */
static int announce(struct rh_dsm_pages *pages, struct faults_run run, int home)
{
    bool is_new = false;
    for (size_t word = run.first / 64; word <= (run.first + run.count - 1) / 64; word++) {
        uint64_t mask = UINT64_MAX;
        if (word == run.first / 64)
            mask &= UINT64_MAX << run.first % 64;
        if (word == (run.first + run.count - 1) / 64)
            mask &= UINT64_MAX >> (63 - (run.first + run.count - 1) % 64);
        mask &= ~atomic_load_explicit(&pages->announced[word], memory_order_relaxed);
        if (mask == 0)
            continue;
        struct rh_remote map = rh_at(home, pages->control_sid, pages->layout.shared + word * 8);
        struct pages_patience patience = pages_patience(pages);
        int result;
        do {
            result = rh_fetch_or(pages->job, map, mask, NULL);
        } while (pages_try_again(pages, &patience, result));
        if (result < 0)
            return result;
        atomic_fetch_or_explicit(&pages->announced[word], mask, memory_order_relaxed);
        is_new = true;
    }
    if (!is_new)
        return 0;
    struct rh_remote generation = rh_at(home, pages->control_sid, pages->layout.generation);
    struct pages_patience patience = pages_patience(pages);
    int result;
    do {
        result = rh_fetch_add(pages->job, generation, 1, NULL);
    } while (pages_try_again(pages, &patience, result));
    for (size_t i = run.first; result < 0 && i < run.first + run.count; i++)
        pages_bit_clear(pages->announced, i); /* the home may not have heard of it */
    return result;
}

/* Enter pages behind `page` that can be fetched together with it. Returns how many with it. */
static size_t enter_ahead(struct rh_dsm_pages *pages, size_t page, int home, size_t ahead)
{
    size_t count = 1;
    while (count <= ahead && count < WINDOW_MAX && page + count < pages->count &&
           pages_try_enter(pages, page + count)) {
        if (pages->pages[page + count].access != FAULTS_NONE ||
            pages_home_of(pages, page + count) != home || pages_bit(pages->moving, page + count)) {
            pages_leave(pages, page + count);
            break;
        }
        count++;
    }
    return count;
}

static void warm_up(struct page *page)
{
    page->heat += page->heat < UINT8_MAX;
    page->credit = page->heat >= HOT ? UPDATES_MAX : 0;
}

/* Pages that have arrived in the backing become accessible; the first one for writing, if so
 * wanted. */
static int admit(struct rh_dsm_pages *pages, struct faults_run run, bool for_writing)
{
    struct faults_run first = {.first = run.first, .count = 1};
    int result = 0;
    for (size_t i = run.first; i < run.first + run.count; i++)
        warm_up(&pages->pages[i]);
    if (!pages->tells_writes || for_writing)
        memcpy(pages_twin(pages, run.first), pages_backing(pages, run.first),
               (pages->tells_writes ? 1 : run.count) * FAULTS_PAGE);
    for (size_t i = run.first; !pages->tells_writes && i < run.first + run.count; i++)
        pages_bit_set(pages->watched, i);
    if (for_writing) {
        pages_bit_set(pages->written, run.first);
        result = pages_access_set(pages, first, FAULTS_WRITE);
        run.first++, run.count--;
    }
    return result < 0 ? result : pages_access_set(pages, run, FAULTS_READ);
}

static int fetch(struct rh_dsm_pages *pages, struct faults_run run, int home, bool for_writing)
{
    int result = announce(pages, run, home);
    if (result == 0)
        result = pages_pull(pages, pages_data_at(pages, home, run.first),
                            pages_backing(pages, run.first), run.count * FAULTS_PAGE);
    if (result == 0)
        result = admit(pages, run, for_writing);
    if (result == 0)
        pages_count(&pages->stat.fetched_pages, run.count);
    return result;
}

/* A page that is not here. It is entered; those that come with it are left here. */
static int bring(struct rh_dsm_pages *pages, size_t page, enum faults_cause cause, size_t ahead)
{
    int home = pages_home_of(pages, page);
    struct faults_run run = {.first = page, .count = 1};
    int result;
    if (home == PAGES_HOME_UNKNOWN)
        home = claim(pages, page);
    if (home < 0)
        return home;
    if (home == pages->rank) {
        run.count = claim_ahead(pages, page, ahead);
        result = pages_access_set(pages, run, FAULTS_WRITE);
        if (pages_bit(pages->watched, page)) /* one of ours that drop_everything() has taken */
            pages_bit_set(pages->written, page);
    } else {
        run.count = enter_ahead(pages, page, home, ahead);
        result = fetch(pages, run, home, cause == FAULTS_BY_WRITE);
    }
    for (size_t i = 1; i < run.count; i++)
        pages_leave(pages, page + i);
    pages_count(&pages->stat.read_faults, 1);
    atomic_store_explicit(&pages->stream_next, page + run.count, memory_order_relaxed);
    return result;
}

/* ---- Faults --------------------------------------------------------------------------------- */

static int make_writable(struct rh_dsm_pages *pages, size_t page)
{
    struct faults_run run = {.first = page, .count = 1};
    if (!pages_is_mine(pages, page) && !pages_bit(pages->written, page))
        memcpy(pages_twin(pages, page), pages_backing(pages, page), FAULTS_PAGE);
    pages_bit_set(pages->written, page);
    pages_count(&pages->stat.write_faults, 1);
    return pages_access_set(pages, run, FAULTS_WRITE);
}

/* The page is here: another thread was faster, or the kernel has taken its entry away to save
 * memory. In the latter case writes that it noted are forgotten, so count it as written. */
static int map_again(struct rh_dsm_pages *pages, size_t page)
{
    struct faults_run run = {.first = page, .count = 1};
    bool for_reading = pages->tells_writes && pages->pages[page].access == FAULTS_READ;
    return faults_set(pages->faults, run, FAULTS_NONE, for_reading ? FAULTS_READ : FAULTS_WRITE);
}

/* Enter a page that is not between two homes. */
static int enter_settled(struct rh_dsm_pages *pages, size_t page)
{
    int result = 0;
    pages_enter(pages, page);
    while (pages_bit(pages->moving, page)) {
        pages_leave(pages, page);
        result = sync_await_settled(pages, page);
        if (result < 0)
            return result;
        pages_enter(pages, page);
    }
    return 0;
}

static int provide(struct rh_dsm_pages *pages, size_t page, enum faults_cause cause, size_t ahead)
{
    int result = enter_settled(pages, page);
    if (result < 0)
        return result;
    if (pages->pages[page].access == FAULTS_NONE)
        result = bring(pages, page, cause, ahead);
    else if (pages->pages[page].access == FAULTS_READ && pages->tells_writes &&
             cause != FAULTS_BY_READ)
        result = make_writable(pages, page);
    else
        result = map_again(pages, page);
    pages_leave(pages, page);
    return result;
}

int pages_provide(struct rh_dsm_pages *pages, size_t page, enum faults_cause cause, size_t ahead)
{
    int result = provide(pages, page, cause, ahead);
    if (result != RH_ENOSPACE)
        return result;
    result = drop_room_make(pages);
    return result < 0 ? result : provide(pages, page, cause, ahead);
}

/* Faults in sequence fetch more and more ahead. */
static size_t window(struct rh_dsm_pages *pages, size_t page)
{
    unsigned now = atomic_load_explicit(&pages->stream_window, memory_order_relaxed);
    bool goes_on = atomic_load_explicit(&pages->stream_next, memory_order_relaxed) == page;
    unsigned next = !goes_on ? 0 : now == 0 ? 1 : now * 2 < WINDOW_MAX ? now * 2 : WINDOW_MAX - 1;
    if (next != now)
        atomic_store_explicit(&pages->stream_window, next, memory_order_relaxed);
    return next;
}

/* Nobody is there to return an error to. */
static void complain(struct rh_dsm_pages *pages, size_t page)
{
    char text[512];
    int length = snprintf(text, sizeof(text),
                          "rhinet: rank %d ends: shared page %zu (address %p) cannot be had from "
                          "rank %d: %s\n",
                          pages->rank, page, (void *)(pages->view + page * FAULTS_PAGE),
                          rh_error_rank(), rh_error_text());
    size_t said = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    if (write(STDERR_FILENO, text, said) < 0)
        return; /* nothing more can be done */
}

bool pages_on_fault(void *context, size_t page, enum faults_cause cause)
{
    struct rh_dsm_pages *pages = context;
    int result = pages_provide(pages, page, cause, window(pages, page));
    if (result < 0)
        complain(pages, page);
    return result == 0;
}
