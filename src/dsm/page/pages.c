/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing shared pages, and what concerns one page.
 */
#include "dsm/page/pages.h"

#include "base/clock.h"
#include "base/rest.h"
#include "base/struct_size.h"
#include "dsm/dsm.h"
#include "dsm/page/open.h"

#include <stdlib.h>

#define SPINS_BEFORE_YIELD 200

/* ---- One page ------------------------------------------------------------------------------- */

bool pages_try_enter(struct rh_dsm_pages *pages, size_t page)
{
    _Atomic uint8_t *busy = &pages->pages[page].busy;
    /* acquire: pairs with pages_leave() */
    return atomic_load_explicit(busy, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(busy, 1, memory_order_acquire) == 0;
}

void pages_enter(struct rh_dsm_pages *pages, size_t page)
{
    struct rest rest = {0};
    for (unsigned spins = 0; !pages_try_enter(pages, page); spins++) {
        if (spins < SPINS_BEFORE_YIELD)
            cpu_relax();
        else
            rest_once(&rest);
    }
}

void pages_leave(struct rh_dsm_pages *pages, size_t page)
{
    ASSERT(page < pages->count);
    ASSERT(atomic_load_explicit(&pages->pages[page].busy, memory_order_relaxed));
    atomic_store_explicit(&pages->pages[page].busy, 0, memory_order_release);
}

/* Where the kernel notes writes, a copy that may be written is as good as one that may be read. */
int pages_access_set(struct rh_dsm_pages *pages, struct faults_run run, enum faults_access to)
{
    if (run.count == 0)
        return 0;
    ASSERT(run.first + run.count <= pages->count);
    int result = faults_set(pages->faults, run, pages->pages[run.first].access, to);
    for (size_t i = run.first; i < run.first + run.count && result == 0; i++) {
        bool is_copy = !pages_is_mine(pages, i);
        pages->pages[i].access = to == FAULTS_WRITE && is_copy && !pages->tells_writes ? FAULTS_READ
                                                                                       : to;
    }
    return result;
}

bool pages_next_run(const _Atomic uint64_t *map, size_t count, size_t from, size_t most,
                    struct faults_run *run)
{
    size_t at = from;
    while (at < count) {
        uint64_t word = atomic_load_explicit(&map[at / 64], memory_order_relaxed) >> (at % 64);
        if (word != 0) {
            at += (size_t)__builtin_ctzll(word);
            break;
        }
        at = (at / 64 + 1) * 64;
    }
    if (at >= count)
        return false;
    run->first = at;
    while (at < count && at - run->first < most && pages_bit(map, at))
        at++;
    run->count = at - run->first;
    return run->count > 0;
}

/* A call that was dropped returns at once, one to a rank that does not answer after its
 * time-out. */
bool pages_try_again(const struct rh_dsm_pages *pages, struct pages_patience *patience, int result)
{
    if (result != RH_ETIMEOUT && result != RH_EAGAIN)
        return false;
    int64_t taken_ns = rh_clock_ns(pages->job) - patience->since_ns;
    patience->tries += result == RH_ETIMEOUT; /* a full queue may have room after any flush */
    return patience->tries < PAGES_TRIES &&
           taken_ns < rma_timeout_ns(pages->job, RH_TIMEOUT_DEFAULT) / 2;
}

int pages_pull(struct rh_dsm_pages *pages, struct rh_remote source, void *target, size_t length)
{
    struct pages_patience patience = pages_patience(pages);
    int result;
    do {
        result = rh_pull(pages->job, source, target, length);
    } while (pages_try_again(pages, &patience, result));
    return result;
}

/* ---- Open and close ------------------------------------------------------------------------- */

static int check_options(const struct rh_dsm_pages_options *options)
{
    if (!struct_size_is_sound(options->struct_size, sizeof(*options)) || options->length == 0 ||
        options->length > (uint64_t)UINT32_MAX * FAULTS_PAGE)
        return error_fail(
            RH_EINVALID,
            "shared pages need struct_size right and a length of 1 byte or more, not %llu",
            (unsigned long long)options->length);
    if (options->home == RH_DSM_HOME_GIVEN && !options->home_of)
        return error_fail(RH_EINVALID, "RH_DSM_HOME_GIVEN needs home_of");
    return 0;
}

int rh_dsm_pages_open(struct rh_dsm_pages **pages, struct rh_dsm *dsm,
                      const struct rh_dsm_pages_options *options)
{
    int result = check_options(options);
    if (result < 0)
        return result;
    struct rh_dsm_pages *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("shared pages");
    made->dsm = dsm;
    made->options = *options;
    made->count = (options->length + FAULTS_PAGE - 1) / FAULTS_PAGE;
    result = sync_open(made);
    if (result == 0)
        result = open_memory(made);
    if (result == 0)
        result = open_faults(made);
    if (result == 0)
        result = rh_barrier(made->set, RH_TIMEOUT_DEFAULT);
    if (result < 0) {
        struct error_state why; /* undoing waits for others, and waits have errors of their own */
        error_save(&why);
        open_undo(made);
        error_restore(&why);
        return result;
    }
    *pages = made;
    return 0;
}

/* Nobody fetches from us after the first barrier; after the second one the numbers of our segments
 * and set are free on all ranks, so that other pages may have them. A rank that has died is no
 * matter here. */
int rh_dsm_pages_close(struct rh_dsm_pages *pages)
{
    struct rh_set *all = pages->dsm->set;
    int result = 0;
    if (pages->stage != MEETING_APART) /* one that ran out of time: the others count on us */
        result = rh_dsm_pages_barrier(pages, RH_TIMEOUT_DEFAULT);
    if (result == 0)
        result = rh_barrier(pages->set, RH_TIMEOUT_DEFAULT);
    if (result == 0)
        result = lock_close(pages);
    open_undo(pages);
    if (result == 0)
        result = rh_barrier(all, RH_TIMEOUT_DEFAULT);
    return result == RH_EDEAD ? 0 : result;
}

/* ---- Questions ------------------------------------------------------------------------------ */

void *rh_dsm_pages_base(const struct rh_dsm_pages *pages)
{
    return pages->view;
}

bool rh_dsm_pages_same_address(const struct rh_dsm_pages *pages)
{
    return pages->is_same_address;
}

const char *rh_dsm_pages_faults(const struct rh_dsm_pages *pages)
{
    return faults_name(pages->kind);
}

int rh_dsm_pages_home(const struct rh_dsm_pages *pages, const void *address)
{
    size_t page = (size_t)((const char *)address - pages->view) / FAULTS_PAGE;
    return page < pages->count ? pages_home_of(pages, page) : PAGES_HOME_UNKNOWN;
}

int rh_dsm_pages_stat(const struct rh_dsm_pages *pages, struct rh_dsm_pages_stat *stat)
{
    if (stat->struct_size < sizeof(*stat))
        return error_fail(RH_EINVALID, "struct_size is not set");
    size_t size = stat->struct_size;
    *stat = pages->stat;
    stat->struct_size = size;
    return 0;
}

int rh_dsm_pages_touch(struct rh_dsm_pages *pages, void *start, uint64_t length,
                       enum rh_dsm_access access)
{
    uint64_t offset = (uint64_t)((char *)start - pages->view);
    uint64_t most = pages->count * FAULTS_PAGE;
    int result = 0;
    if (offset > most || length > most - offset)
        return error_fail(RH_EBOUNDS, "%llu bytes at %p are not shared pages",
                          (unsigned long long)length, start);
    size_t end = (offset + length + FAULTS_PAGE - 1) / FAULTS_PAGE;
    enum faults_cause cause = access == RH_DSM_WRITE ? FAULTS_BY_WRITE : FAULTS_BY_READ;
    for (size_t page = offset / FAULTS_PAGE; page < end && result == 0; page++)
        result = pages_provide(pages, page, cause, end - page - 1);
    return result;
}
