/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checker: vector clocks, and the records of variables in memory of their homes. Words there only
 * grow, so who raises one needs no lock, and a death leaves none behind.
 */
#include "dsm/check_clock.h"

#include "base/log.h"
#include "dsm/check_state.h"

#include <stdlib.h>
#include <string.h>

#define TRIES      16
#define EVERYTHING UINT64_MAX /* an entry of who is after all that rank has ever done */

/* ---- Layout --------------------------------------------------------------------------------- */

static size_t record_words(const struct rh_dsm *dsm)
{
    return (size_t)CLOCK_IS_SHARED * (size_t)dsm->size + 1;
}

static size_t record_at(const struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return 2 * (size_t)dsm->size + variable / (unsigned)dsm->size * record_words(dsm);
}

static size_t word_at(const struct rh_dsm *dsm, enum clock_row row, int rank)
{
    return (size_t)row * (size_t)dsm->size + (row == CLOCK_IS_SHARED ? 0 : (size_t)rank);
}

/* The clocks at a barrier: two in turn, since who leaves one may enter the next before all others
 * have read its clock, but not leave that. */
static size_t barrier_at(const struct rh_dsm *dsm)
{
    return (dsm->check->clocks->barrier_count & 1) * (size_t)dsm->size;
}

/* ---- Memory of others ----------------------------------------------------------------------- */

static int pull_words(struct rh_dsm *dsm, int rank, size_t at, uint64_t *words, size_t count)
{
    int64_t deadline_ns = rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT);
    int result = RH_ETIMEOUT;
    for (int i = 0; i < TRIES && result == RH_ETIMEOUT; i++) {
        if (i > 0 && rma_left_ns(dsm->job, deadline_ns) == 0)
            break;
        result = rh_pull(dsm->job, rh_at(rank, DSM_SID_CHECK, at * sizeof(*words)), words,
                         count * sizeof(*words));
    }
    return dsm_is_gone(dsm, rank) ? RH_EDEAD : result;
}

/* Make a word, which was `known`, at least `value`. */
static int raise_word(struct rh_dsm *dsm, int rank, size_t at, uint64_t known, uint64_t value)
{
    struct rh_remote word = rh_at(rank, DSM_SID_CHECK, at * sizeof(known));
    int64_t deadline_ns = rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT);
    int losses = 0;
    while (known < value) {
        uint64_t found = known;
        int result = rh_compare_swap(dsm->job, word, known, value, &found);
        if (result < 0 &&
            (result != RH_ETIMEOUT || ++losses == TRIES || rma_left_ns(dsm->job, deadline_ns) == 0))
            return result;
        if (result == 0 && found == known)
            return 0;
        known = result == 0 ? found : known;
    }
    return 0;
}

/* Something is lost that may have ordered this rank after anything. */
static void know_everything(struct rh_dsm *dsm)
{
    for (int rank = 0; rank < dsm->size; rank++) {
        if (rank != dsm->rank)
            dsm->check->clocks->now[rank] = EVERYTHING;
    }
}

/* ---- Records -------------------------------------------------------------------------------- */

bool check_clock_look(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    int result = pull_words(dsm, dsm_home(dsm, variable), record_at(dsm, variable),
                            dsm->check->clocks->record, record_words(dsm));
    if (result < 0)
        know_everything(dsm);
    return result == 0;
}

uint64_t check_clock_word(const struct rh_dsm *dsm, enum clock_row row, int rank)
{
    return dsm->check->clocks->record[word_at(dsm, row, rank)];
}

void check_clock_note(struct rh_dsm *dsm, rh_dsm_variable variable, enum clock_row row,
                      uint64_t value)
{
    size_t at = record_at(dsm, variable) + word_at(dsm, row, dsm->rank);
    raise_word(dsm, dsm_home(dsm, variable), at, 0, value); /* if it fails, so will looking */
}

/* ---- Order ---------------------------------------------------------------------------------- */

static void join(struct rh_dsm *dsm, const uint64_t *clock)
{
    uint64_t *now = dsm->check->clocks->now;
    for (int rank = 0; rank < dsm->size; rank++) {
        if (rank != dsm->rank && clock[rank] > now[rank])
            now[rank] = clock[rank];
    }
}

void check_clock_join(struct rh_dsm *dsm, enum clock_row row)
{
    join(dsm, dsm->check->clocks->record + word_at(dsm, row, 0));
}

void check_clock_publish(struct rh_dsm *dsm, rh_dsm_variable variable, enum clock_row row)
{
    uint64_t *now = dsm->check->clocks->now;
    int home = dsm_home(dsm, variable), result = 0;
    if (!check_clock_look(dsm, variable))
        return;
    for (int rank = 0; rank < dsm->size && result == 0; rank++)
        result = raise_word(dsm, home, record_at(dsm, variable) + word_at(dsm, row, rank),
                            check_clock_word(dsm, row, rank), now[rank]);
    now[dsm->rank]++;
}

void check_clock_enter_barrier(struct rh_dsm *dsm)
{
    struct check_clocks *clocks = dsm->check->clocks;
    uint64_t *slot = clocks->segment + barrier_at(dsm);
    for (int rank = 0; rank < dsm->size; rank++)
        __atomic_store_n(&slot[rank], clocks->now[rank], __ATOMIC_SEQ_CST);
    clocks->now[dsm->rank]++;
}

void check_clock_leave_barrier(struct rh_dsm *dsm, bool is_met)
{
    struct check_clocks *clocks = dsm->check->clocks;
    if (!is_met)
        know_everything(dsm);
    for (int rank = 0; rank < dsm->size && is_met; rank++) {
        /* the dead did not come, and what they knew the others bring */
        if (rank != dsm->rank &&
            pull_words(dsm, rank, barrier_at(dsm), clocks->record, (size_t)dsm->size) == 0)
            join(dsm, clocks->record);
    }
    clocks->barrier_count++;
}

/* ---- Open and close ------------------------------------------------------------------------- */

void check_clock_make(struct rh_dsm *dsm)
{
    struct check_clocks *clocks = calloc(1, sizeof(*clocks));
    size_t own_count = (dsm->entry_count + (unsigned)dsm->size - 1) / (unsigned)dsm->size;
    size_t length = (2 * (size_t)dsm->size + own_count * record_words(dsm)) * sizeof(uint64_t);
    void *segment = NULL;
    dsm->check->clocks = clocks;
    if (!clocks)
        return;
    clocks->now = calloc((size_t)dsm->size, sizeof(*clocks->now));
    clocks->record = calloc(record_words(dsm), sizeof(*clocks->record));
    if (!clocks->now || !clocks->record ||
        rh_segment_alloc(dsm->job, DSM_SID_CHECK, length, &segment) < 0)
        return;
    memset(segment, 0, length);
    clocks->now[dsm->rank] = 1;
    clocks->segment = segment;
}

void check_clock_meet(struct rh_dsm *dsm)
{
    for (int rank = 0; rank < dsm->size; rank++) {
        if (rh_segment_wait(dsm->job, rank, DSM_SID_CHECK, RH_TIMEOUT_NONE) == 0)
            continue;
        log_warning("RHINET_DSM_CHECK: rank %d keeps no clocks (it is not checked, or has no "
                    "memory for them); no data races are looked for",
                    rank);
        check_clock_close(dsm);
        return;
    }
}

void check_clock_close(struct rh_dsm *dsm)
{
    struct check_clocks *clocks = dsm->check->clocks;
    if (!clocks)
        return;
    if (clocks->segment)
        rh_segment_detach(dsm->job, DSM_SID_CHECK);
    free(clocks->record);
    free(clocks->now);
    free(clocks);
    dsm->check->clocks = NULL;
}
