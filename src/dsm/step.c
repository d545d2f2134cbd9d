/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See step.h. While nothing is unfinished, which is nearly always, all of this costs one load.
 */
#include "dsm/step.h"

#include "base/clock.h"

#define MOMENT_NS NS_PER_MS

void dsm_step_keep(struct rh_dsm *dsm, rh_dsm_variable variable, enum dsm_step_kind kind,
                   const struct dsm_step *step)
{
    struct dsm_own *own = &dsm->own[variable];
    uint64_t word = dsm_own_word(dsm, variable);
    own->step = *step;
    ASSERT(kind > DSM_STEP_SETTLING);
    ASSERT(atomic_load(&own->step_kind) == DSM_STEP_NONE); /* SERVING is one thread's */
    ASSERT(word & (WORD_TAKEN | WORD_TAKING));
    while (!dsm_own_swap_if(dsm, variable, &word, (word & ~WORD_WRITER) | WORD_SERVING))
        ;
    atomic_fetch_add(&dsm->step_count, 1);
    atomic_store(&own->step_kind, kind);
}

/* ---- How it ended --------------------------------------------------------------------------- */

/* Whether the peer answers; all that was pushed to it before has landed then. It is only told to
 * look again. */
static int sound_out(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, int64_t deadline_ns)
{
    struct rh_done done;
    uint64_t value = dsm_signal_value(dsm);
    int result = rh_push_start(dsm->job, dsm_entry_at(dsm, rank, variable, DSM_SIGNAL), &value,
                               sizeof(value), &done);
    if (result == 0) {
        result = rh_wait_done(dsm->job, &done, rma_left_ns(dsm->job, deadline_ns));
        if (result < 0 && rh_withdraw(dsm->job, &done) == 0)
            result = 0;
    }
    return result == RH_EAGAIN ? RH_ETIMEOUT : result;
}

static int bring_data(struct rh_dsm *dsm, rh_dsm_variable variable, int rank, int64_t deadline_ns)
{
    struct dsm_patience patience = {.purpose = "fetch",
                                    .timeout_ns = rma_timeout_ns(dsm->job, RH_TIMEOUT_DEFAULT)};
    if (dsm_own_word(dsm, variable) & WORD_VALID)
        return 0;
    int result = sound_out(dsm, variable, rank, deadline_ns);
    if (result == 0)
        result = dsm_data_pull(dsm, variable, rank, &patience);
    if (result == 0)
        __atomic_fetch_or(&dsm->entries[variable].word, WORD_VALID, __ATOMIC_SEQ_CST);
    return result;
}

/* RH_ETIMEOUT: it is not known yet. 1: the swap has happened; else it has not, nor will. */
static int find_out(struct rh_dsm *dsm, rh_dsm_variable variable, enum dsm_step_kind kind,
                    struct dsm_step *step)
{
    int64_t deadline_ns = rma_deadline_ns(dsm->job, MOMENT_NS);
    uint64_t old;
    if (kind == DSM_STEP_PUSH)
        return sound_out(dsm, variable, step->rank, deadline_ns);
    if (kind == DSM_STEP_FETCH)
        return bring_data(dsm, variable, step->rank, deadline_ns);
    step->ticket.deadline_ns = deadline_ns;
    step->operands.ticket = &step->ticket;
    int result = rma_atomic(dsm->job, dsm_entry_at(dsm, step->rank, variable, DSM_WORD),
                            &step->operands, &old);
    if (result == RH_ETIMEOUT && step->ticket.is_open)
        return result;
    return result == 0 && old == step->operands.expected && !dsm_is_gone(dsm, step->rank);
}

/* ---- What follows --------------------------------------------------------------------------- */

static void end_serving(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    ASSERT(dsm_own_word(dsm, variable) & WORD_SERVING);
    __atomic_fetch_and(&dsm->entries[variable].word, ~WORD_SERVING, __ATOMIC_SEQ_CST);
    rh_wake(dsm->job, dsm->rank);
}

static void end_take(struct rh_dsm *dsm, rh_dsm_variable variable, const struct dsm_step *step,
                     bool has_happened)
{
    if (has_happened &&
        dsm_become_owner(dsm, variable, step->rank, step->operands.expected, WORD_SERVING)) {
        dsm_step_keep(dsm, variable, DSM_STEP_FETCH, step);
        return;
    }
    end_serving(dsm, variable);
    dsm_own_give_up(dsm, variable);
}

static void end_step(struct rh_dsm *dsm, rh_dsm_variable variable, enum dsm_step_kind kind,
                     const struct dsm_step *step, int result)
{
    if (kind == DSM_STEP_TAKE)
        end_take(dsm, variable, step, result > 0);
    else if (kind == DSM_STEP_GIVE && result > 0)
        dsm_step_down(dsm, variable, step->rank);
    else if (kind == DSM_STEP_RETURN && result > 0)
        dsm_own_drop(dsm, variable, step->rank);
    else if (kind == DSM_STEP_RETURN)
        dsm_step_keep(dsm, variable, DSM_STEP_FETCH, step);
    else if (kind == DSM_STEP_FETCH && result < 0)
        dsm_disown(dsm, variable, step->rank, result);
    else
        end_serving(dsm, variable);
    rh_wake(dsm->job, step->rank);
}

/* ---- Looking after it ----------------------------------------------------------------------- */

static bool settle(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct dsm_own *own = &dsm->own[variable];
    int kind = atomic_load(&own->step_kind);
    if (kind <= DSM_STEP_SETTLING ||
        !atomic_compare_exchange_strong(&own->step_kind, &kind, DSM_STEP_SETTLING))
        return false;
    int result = find_out(dsm, variable, (enum dsm_step_kind)kind, &own->step);
    if (result == RH_ETIMEOUT) {
        atomic_store(&own->step_kind, kind);
        return false;
    }
    ASSERT(atomic_load(&dsm->step_count) > 0);
    ASSERT(dsm_own_word(dsm, variable) & WORD_SERVING);
    struct dsm_step step = own->step; /* what follows may begin another */
    atomic_store(&own->step_kind, DSM_STEP_NONE);
    atomic_fetch_sub(&dsm->step_count, 1);
    end_step(dsm, variable, (enum dsm_step_kind)kind, &step, result);
    return true;
}

bool dsm_settle_some(struct rh_dsm *dsm)
{
    bool has_ended = false;
    for (uint32_t i = 0; i < dsm->entry_count; i++) {
        has_ended |= settle(dsm, i);
        has_ended |= dsm_adopt_settle(dsm, i);
    }
    return has_ended;
}

void dsm_settle_all(struct rh_dsm *dsm, int64_t timeout_ns)
{
    int64_t deadline_ns = rma_deadline_ns(dsm->job, timeout_ns);
    uint64_t never = 0;
    struct rh_wait wait = {.word = &never,
                           .when = RH_NOT_EQUAL,
                           .from = dsm->rank, /* nobody's death ends it */
                           .timeout_ns = MOMENT_NS};
    while (atomic_load(&dsm->step_count) > 0 && rma_left_ns(dsm->job, deadline_ns) > 0) {
        if (!dsm_settle_some(dsm))
            rh_wait_word(dsm->job, &wait);
    }
}
