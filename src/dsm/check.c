/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checker: protection of what is not held.
 */
#include "dsm/check.h"

#include "base/log.h"
#include "dsm/check_clock.h"
#include "dsm/check_state.h"
#include "dsm/reach.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096u

/* What the signal handler looks at; the one thing in rhinet that does not hang off a job. */
static _Atomic(struct rh_dsm *) checked;

/* ---- Protection ----------------------------------------------------------------------------- */

static int protection_of(const struct check_page *page)
{
    return page->writers > 0 ? PROT_READ | PROT_WRITE : page->readers > 0 ? PROT_READ : PROT_NONE;
}

static void change_pages(struct rh_dsm *dsm, uint64_t offset, uint64_t length, bool is_write,
                         int amount)
{
    for (uint64_t page = offset / PAGE; page <= (offset + length - 1) / PAGE; page++) {
        struct check_page *state = &dsm->check->pages[page];
        int before = protection_of(state);
        if (is_write)
            state->writers += amount;
        else
            state->readers += amount;
        int after = protection_of(state);
        if (after != before)
            mprotect(dsm->base + page * PAGE, PAGE, after);
    }
}

static void change(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write, int amount)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    for (uint32_t i = 0; i < binding->region_count; i++) {
        const struct rh_dsm_region *region = &binding->region[i];
        uint64_t rows = region->block_count > 1 ? region->block_count : 1;
        for (uint64_t row = 0; row < rows; row++)
            change_pages(dsm, region->offset + row * region->stride, region->length, is_write,
                         amount);
    }
}

void dsm_check_hold(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write)
{
    pthread_mutex_lock(&dsm->check->lock);
    change(dsm, variable, is_write, 1);
    if (is_write)
        check_parts_begin(dsm, variable);
    check_race_hold(dsm, variable, is_write);
    pthread_mutex_unlock(&dsm->check->lock);
}

void dsm_check_drop(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write)
{
    pthread_mutex_lock(&dsm->check->lock);
    if (is_write)
        check_parts_end(dsm, variable);
    change(dsm, variable, is_write, -1);
    check_race_drop(dsm, variable, is_write);
    pthread_mutex_unlock(&dsm->check->lock);
}

/* ---- Accesses ------------------------------------------------------------------------------- */

static bool covers(const struct rh_dsm_region *region, uint64_t offset)
{
    uint64_t rows = region->block_count > 1 ? region->block_count : 1;
    if (offset < region->offset)
        return false;
    uint64_t at = offset - region->offset;
    uint64_t row = rows > 1 ? at / region->stride : 0;
    return row < rows && at - row * region->stride < region->length;
}

static bool is_bound(const struct dsm_binding *binding, uint64_t offset)
{
    for (uint32_t i = 0; i < binding->region_count; i++) {
        if (covers(&binding->region[i], offset))
            return true;
    }
    return false;
}

static bool was_write(const ucontext_t *context)
{
#if defined(__x86_64__)
    return context->uc_mcontext.gregs[REG_ERR] & 2;
#else
    return false;
#endif
}

/* The text is made in the handler: the program is stopped in the middle of an access of its own,
 * not in the middle of the C library. */
static void report_access(struct rh_dsm *dsm, uint64_t offset, bool is_write)
{
    char text[256];
    rh_dsm_variable variable = 0;
    while (variable < dsm->variable_count && !is_bound(&dsm->bindings[variable], offset))
        variable++;
    int length;
    if (variable == dsm->variable_count)
        length = snprintf(text, sizeof(text),
                          "rhinet: rank %d %s shared memory at offset %llu, which is bound to no "
                          "variable (RHINET_DSM_CHECK)\n",
                          dsm->rank, is_write ? "writes" : "reads", (unsigned long long)offset);
    else
        length = snprintf(
            text, sizeof(text),
            "rhinet: rank %d %s shared memory at offset %llu without holding variable "
            "%u%s (RHINET_DSM_CHECK)\n",
            dsm->rank, is_write ? "writes" : "reads", (unsigned long long)offset, variable,
            dsm_own_word(dsm, variable) & WORD_READERS ? " for writing" : "");
    if (write(STDERR_FILENO, text, (size_t)length) > 0 && variable < dsm->variable_count)
        check_race_trespass(dsm, variable, offset, is_write);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    struct rh_dsm *dsm = atomic_load(&checked);
    const char *address = info->si_addr;
    if (dsm && address >= dsm->base && address < dsm->base + dsm->heap_length)
        report_access(dsm, (uint64_t)(address - dsm->base), was_write(context));
    if (dsm) /* the access is tried again, and then fails for whoever was there before */
        sigaction(signal_number, &dsm->check->before, NULL);
}

/* ---- Open and close ------------------------------------------------------------------------- */

static int protect(struct rh_dsm *dsm)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct rh_dsm *nobody = NULL;
    if (!atomic_compare_exchange_strong(&checked, &nobody, dsm)) {
        log_warning("RHINET_DSM_CHECK: another rank of this process is checked; this one is not");
        return 0;
    }
    struct dsm_check *check = calloc(1, sizeof(*check));
    if (check)
        check->pages = calloc(dsm->heap_length / PAGE, sizeof(*check->pages));
    if (check)
        check->variables = calloc(dsm->variable_count, sizeof(*check->variables));
    /* of length 0: a second mapping of the same memory */
    void *alias = mremap(dsm->heap, 0, dsm->heap_length, MREMAP_MAYMOVE);
    if (!check || !check->pages || !check->variables || alias == MAP_FAILED) {
        atomic_store(&checked, NULL);
        return error_fail(RH_ENOSPACE,
                          "RHINET_DSM_CHECK: no memory for a second view of the shared memory");
    }
    pthread_mutex_init(&check->lock, NULL);
    dsm->check = check;
    dsm->base = alias;
    mprotect(alias, dsm->heap_length, PROT_NONE);
    sigaction(SIGSEGV, &action, &check->before);
    return 0;
}

static void unprotect(struct rh_dsm *dsm)
{
    struct dsm_check *check = dsm->check;
    sigaction(SIGSEGV, &check->before, NULL);
    atomic_store(&checked, NULL);
    munmap(dsm->base, dsm->heap_length);
    dsm->base = dsm->heap;
    dsm->check = NULL;
    for (uint32_t i = 0; i < dsm->variable_count; i++)
        free(check->variables[i].twin);
    pthread_mutex_destroy(&check->lock);
    free(check->variables);
    free(check->pages);
    free(check);
}

int dsm_check_open(struct rh_dsm *dsm)
{
    int result = protect(dsm);
    if (dsm->check)
        check_clock_make(dsm);
    int met = rh_barrier(dsm->set, RH_TIMEOUT_DEFAULT);
    if (dsm->check)
        check_clock_meet(dsm);
    if (dsm->check && met < 0) {
        check_clock_close(dsm);
        unprotect(dsm);
    }
    return result < 0 ? result : met;
}

void dsm_check_close(struct rh_dsm *dsm)
{
    check_report(dsm);
    check_clock_close(dsm);
    unprotect(dsm);
}

/* ---- Bindings ------------------------------------------------------------------------------- */

/* Looks at the ends of rows only, which is enough to find whatever is bound twice by mistake. */
static bool overlaps(const struct dsm_binding *a, const struct dsm_binding *b, uint64_t *where)
{
    for (uint32_t i = 0; i < a->region_count; i++) {
        const struct rh_dsm_region *region = &a->region[i];
        uint64_t rows = region->block_count > 1 ? region->block_count : 1;
        for (uint64_t row = 0; row < rows; row++) {
            *where = region->offset + row * region->stride;
            if (is_bound(b, *where) || is_bound(b, *where + region->length - 1))
                return true;
        }
    }
    return false;
}

bool check_overlap(const struct rh_dsm *dsm, rh_dsm_variable a, rh_dsm_variable b, uint64_t *where)
{
    const struct dsm_binding *one = &dsm->bindings[a], *other = &dsm->bindings[b];
    return overlaps(one, other, where) || overlaps(other, one, where);
}

void dsm_check_bound(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    for (rh_dsm_variable other = 0; other < dsm->variable_count; other++) {
        uint64_t where = 0;
        if (other == variable || !check_overlap(dsm, variable, other, &where))
            continue;
        pthread_mutex_lock(&dsm->check->lock);
        check_race_share(dsm, variable, other);
        pthread_mutex_unlock(&dsm->check->lock);
        log_warning(
            "RHINET_DSM_CHECK: rank %d binds shared memory at offset %llu to variable %u, "
            "but it is bound to variable %u, too: who holds one does not keep out who holds "
            "the other",
            dsm->rank, (unsigned long long)where, variable, other);
    }
}
