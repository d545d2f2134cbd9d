/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writing the copies of others: who reads a variable every time finds it up to date.
 *
 * A copy that is written is FRESH until it is read. A writer that makes it invalid while it still
 * is has pushed in vain, and does not push to that rank again until it has fetched by itself.
 */
#include "dsm/step.h"

#define STREAK_MIN 3 /* writes in a row whose data was read, before it is pushed by itself */

void dsm_write_begin(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t had, uint64_t used)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_WRITER);
    struct dsm_own *own = &dsm->own[variable];
    unsigned mode = dsm->bindings[variable].mode;
    own->interest |= had;
    own->use_streak = used == 0 ? 0 : own->use_streak < 255 ? own->use_streak + 1 : 255;
    if (mode & RH_DSM_PUSH)
        own->pushed = had;
    else if (!(mode & RH_DSM_PULL) && own->use_streak >= STREAK_MIN)
        own->pushed = used;
    else
        own->pushed = 0;
    bool is_diff = dsm->bindings[variable].stamps != 0;
    if (is_diff)
        dsm_diff_begin(dsm, variable);
    own->has_end_work = own->pushed != 0 || is_diff;
}

/* The word of a rank that has just been given the data. */
static uint64_t updated(const struct rh_dsm *dsm, uint64_t word)
{
    uint64_t next = word_with_hint(word | WORD_VALID, dsm->rank);
    if (!(word & WORD_WAIT_READ))
        return next | WORD_FRESH;
    return ((next & ~WORD_WAIT_READ) | WORD_GRANTED) + WORD_READER_ONE;
}

/* What is not known after an update: what was pushed may still land, also in part; or the copy may
 * be valid. */
struct outcome {
    enum dsm_step_kind kind; /* DSM_STEP_NONE: all is known */
    struct dsm_step step;
};

/* Write one rank's copy. It has none, and gets none by itself while we hold the variable. */
static int update(struct rh_dsm *dsm, rh_dsm_variable variable, int rank,
                  struct dsm_patience *patience, struct outcome *outcome)
{
    const uint64_t stops = WORD_VALID | WORD_READERS | WORD_TAKEN | (WORD_BUSY & ~WORD_WAIT_READ);
    ASSERT(rank != dsm->rank);
    ASSERT(dsm_own_word(dsm, variable) & WORD_TAKEN); /* nobody else writes what is pushed */
    uint64_t word;
    int result = dsm_load(dsm, rank, variable, DSM_WORD, &word);
    if (result < 0 || (word & stops))
        return result;
    __atomic_fetch_or(&dsm->entries[variable].word, word_copy(rank), __ATOMIC_SEQ_CST);
    outcome->step.rank = rank;
    result = dsm_data_push(dsm, variable, rank, patience);
    if (result < 0 && result != RH_EDEAD)
        outcome->kind = DSM_STEP_PUSH;
    while (result == 0 && !(word & stops))
        result = dsm_word_swap(dsm, rank, variable, &word, updated(dsm, word), &outcome->step);
    if (outcome->step.ticket.is_open)
        outcome->kind = DSM_STEP_GRANT;
    if (result <= 0)
        return result;
    dsm_count(dsm, variable, updates, COUNTER_DSM_UPDATE, 1);
    rh_wake(dsm->job, rank);
    return 0;
}

static struct outcome update_groups(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t groups)
{
    struct outcome outcome = {.kind = DSM_STEP_NONE};
    struct dsm_patience patience = {.purpose = "update",
                                    .timeout_ns = rma_timeout_ns(dsm->job, RH_TIMEOUT_DEFAULT)};
    for (int rank = 0; rank < dsm->size && outcome.kind == DSM_STEP_NONE; rank++) {
        if (rank != dsm->rank && (groups & word_copy(rank)) && !dsm_is_gone(dsm, rank) &&
            update(dsm, variable, rank, &patience, &outcome) == RH_ETIMEOUT)
            break; /* the others fetch it: a release takes no longer than one time-out */
    }
    return outcome;
}

bool dsm_copies_update(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_WRITER);
    struct dsm_own *own = &dsm->own[variable];
    if (dsm->bindings[variable].stamps != 0)
        dsm_diff_end(dsm, variable);
    struct outcome outcome = update_groups(dsm, variable, own->pushed);
    own->pushed = 0;
    own->has_end_work = false;
    if (unlikely(outcome.kind != DSM_STEP_NONE))
        dsm_step_keep(dsm, variable, outcome.kind, &outcome.step);
    return outcome.kind != DSM_STEP_NONE;
}

void dsm_update_interested(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t word = dsm_own_word(dsm, variable);
    do { /* SERVING keeps others from handing it on before it is known who has a copy */
        if (!(word & WORD_OWNER) || (word & WORD_TAKEN))
            return; /* they fetch it */
    } while (!dsm_own_swap_if(dsm, variable, &word, word | WORD_SERVING));
    struct outcome outcome = update_groups(dsm, variable, dsm->own[variable].interest);
    if (unlikely(outcome.kind != DSM_STEP_NONE))
        dsm_step_keep(dsm, variable, outcome.kind, &outcome.step);
    else
        dsm_serve(dsm, variable);
}
