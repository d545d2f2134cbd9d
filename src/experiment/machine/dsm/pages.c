/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared pages: what a fault costs by each mechanism, and what a page costs that comes from the
 * peer. Raw is a fault whose handler only makes the page accessible.
 */
#include "dsm/page/pages.h"
#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/dsm/dsm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES  128u /* of the peer; every second one is touched, so that none is fetched ahead */
#define LENGTH ((size_t)PAGES * FAULTS_PAGE)

/* A watched range whose handler does nothing but what it must. */
struct bench_pages {
    struct rh_dsm_pages *shared;
    struct faults *faults[FAULTS_KINDS];
    char *range[FAULTS_KINDS];
    char *backing;
    enum faults_kind kind; /* the one in use */
    unsigned version;      /* of what the peer writes */
};

/* ---- Raw faults ------------------------------------------------------------------------------ */

static bool on_raw_fault(void *context, size_t page, enum faults_cause cause)
{
    struct faults *const *faults = context;
    struct faults_run run = {.first = page, .count = 1};
    bool for_writing = cause == FAULTS_BY_WRITE && faults_writes_tell(*faults);
    enum faults_access from = for_writing ? FAULTS_READ : FAULTS_NONE;
    return faults_set(*faults, run, from, for_writing ? FAULTS_WRITE : FAULTS_READ) == 0;
}

static int open_raw(struct bench_pages *bench, enum faults_kind kind)
{
    char *range = mremap(bench->backing, 0, LENGTH, MREMAP_MAYMOVE);
    if (range == MAP_FAILED)
        return error_fail(RH_ENOSPACE, "no memory");
    bench->range[kind] = range;
    struct faults_range watch = {
        .base = range, .length = LENGTH, .on_fault = on_raw_fault, .context = &bench->faults[kind]};
    return faults_open(&bench->faults[kind], kind, &watch);
}

/* Time of a read fault, or of the first write to a page that can be read, in ns. */
static int time_faults(struct bench_pages *bench, enum faults_kind kind, bool is_write, double *ns)
{
    struct faults *faults = bench->faults[kind];
    struct faults_run all = {.first = 0, .count = PAGES};
    if (!faults)
        return error_fail(RH_EUNSUP, "this kernel does not have %s", faults_name(kind));
    int result = faults_set(faults, all, FAULTS_WRITE, FAULTS_NONE);
    if (result == 0 && is_write)
        result = faults_set(faults, all, FAULTS_NONE, FAULTS_READ);
    int64_t start_ns = clock_now_ns();
    for (size_t page = 0; page < PAGES; page += 2) {
        volatile char *byte = bench->range[kind] + page * FAULTS_PAGE;
        if (is_write)
            *byte = 1;
        else
            (void)*byte;
    }
    *ns = (double)(clock_now_ns() - start_ns) / (PAGES / 2);
    return result;
}

int pages_raw_fault(struct bench_run *run, double *figure)
{
    return run->rank > 0 ? 0 : time_faults(run->pages, run->pages->kind, false, figure);
}

int pages_raw_mprotect(struct bench_run *run, double *figure)
{
    return run->rank > 0 ? 0 : time_faults(run->pages, FAULTS_MPROTECT, false, figure);
}

int pages_raw_mprotect_write(struct bench_run *run, double *figure)
{
    return run->rank > 0 ? 0 : time_faults(run->pages, FAULTS_MPROTECT, true, figure);
}

int pages_fault_read(struct bench_run *run, double *figure)
{
    enum faults_kind kind = (enum faults_kind)run->bench_case->amount;
    return run->rank > 0 ? 0 : time_faults(run->pages, kind, false, figure);
}

int pages_fault_write(struct bench_run *run, double *figure)
{
    enum faults_kind kind = (enum faults_kind)run->bench_case->amount;
    return run->rank > 0 ? 0 : time_faults(run->pages, kind, true, figure);
}

/* ---- Pages from the peer --------------------------------------------------------------------- */

static int peers_page(void *context, uint64_t page)
{
    (void)context, (void)page;
    return 1;
}

/* The peer writes its pages; afterwards rank 0 has no valid copy of them. */
static int spoil(struct bench_run *run)
{
    struct rh_dsm_pages *shared = run->pages->shared;
    for (size_t page = 0; page < PAGES; page++) {
        shared->pages[page].heat = 0; /* else they would be brought up to date by the barrier */
        shared->pages[page].credit = 0;
        if (run->rank == 1)
            memset(shared->view + page * FAULTS_PAGE, (int)++run->pages->version, FAULTS_PAGE);
    }
    return rh_dsm_pages_barrier(shared, RH_TIMEOUT_DEFAULT);
}

/* Rank 0 reads one byte of every step-th page. */
static int time_fetches(struct bench_run *run, size_t step, double *figure)
{
    int result = spoil(run);
    if (run->rank == 0 && result == 0) {
        int64_t start_ns = clock_now_ns();
        for (size_t page = 0; page < PAGES; page += step)
            (void)*(volatile char *)(run->pages->shared->view + page * FAULTS_PAGE);
        *figure = (double)(clock_now_ns() - start_ns) / (double)(PAGES / step);
    }
    return result < 0 ? result : rh_dsm_pages_barrier(run->pages->shared, RH_TIMEOUT_DEFAULT);
}

int pages_fetch(struct bench_run *run, double *figure)
{
    return time_fetches(run, 2, figure);
}

int pages_stream(struct bench_run *run, double *figure)
{
    return time_fetches(run, 1, figure);
}

/* ---- Synchronisation ------------------------------------------------------------------------- */

static int barrier_chunk(struct bench_run *run, unsigned count)
{
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = rh_dsm_pages_barrier(run->pages->shared, RH_TIMEOUT_DEFAULT);
    return result;
}

BENCH_MEASURE(pages_barrier, bench_time_together, barrier_chunk, 200)

/* A counter under a lock that both want: what a program with threads does most. */
static int count_chunk(struct bench_run *run, unsigned count)
{
    struct rh_dsm_pages *shared = run->pages->shared;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        result = rh_dsm_pages_lock(shared, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
        if (result == 0)
            *(volatile uint64_t *)(void *)shared->view += 1;
        if (result == 0)
            result = rh_dsm_pages_unlock(shared, 0);
    }
    return result;
}

BENCH_MEASURE(pages_lock_count, bench_time_together, count_chunk, 200)

/* ---- Set up ---------------------------------------------------------------------------------- */

void pages_close(struct bench_run *run)
{
    struct bench_pages *bench = run->pages;
    for (int kind = 0; kind < FAULTS_KINDS; kind++) {
        if (bench->faults[kind])
            faults_close(bench->faults[kind]);
        if (bench->range[kind])
            munmap(bench->range[kind], LENGTH);
    }
    munmap(bench->backing, LENGTH);
    if (bench->shared)
        rh_dsm_pages_close(bench->shared);
    free(bench);
    run->pages = NULL;
}

int pages_open(struct bench_run *run)
{
    struct rh_dsm_pages_options options = {.struct_size = sizeof(options),
                                           .length = LENGTH,
                                           .home = RH_DSM_HOME_GIVEN,
                                           .home_of = peers_page,
                                           .is_settled = true,
                                           .lock_count = 1};
    struct bench_pages *bench = calloc(1, sizeof(*bench));
    char *backing = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!bench || backing == MAP_FAILED)
        return error_fail(RH_ENOSPACE, "no memory");
    run->pages = bench;
    bench->backing = backing;
    memset(backing, 0, LENGTH);
    int result = 0;
    for (int kind = 0; kind < FAULTS_KINDS && result == 0; kind++)
        if (faults_probe((enum faults_kind)kind) == 0)
            result = open_raw(bench, (enum faults_kind)kind);
    if (result == 0)
        result = himeno_dsm(run);
    if (result == 0)
        result = rh_dsm_pages_open(&bench->shared, run->dsm, &options);
    if (result == 0)
        bench->kind = bench->shared->kind;
    return result;
}
