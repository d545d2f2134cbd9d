/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks acting together: the barrier that carries data, prefetching, and conditions.
 *
 * A condition is a word at the variable's home that says which ranks wait, and one at each rank
 * that changes when it is signalled. Who waits puts itself down before it releases the variable, so
 * a signal given by whoever holds it next cannot be missed.
 */
#include "dsm/check.h"
#include "dsm/step.h"
#include "rma/inside.h"

static int refuse_number(const struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return error_fail(RH_EINVALID, "there is no variable %u; they go from 0 to %u", variable,
                      dsm->variable_count - 1);
}

/* ---- Barrier and prefetch ------------------------------------------------------------------- */

/* An owner writes the copies of all who have read the variable before. */
static int refresh(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    if (!(dsm_own_word(dsm, variable) & WORD_OWNER))
        return 0;
    int result = dsm_acquire(dsm, variable, RH_DSM_READ, timeout_ns);
    if (result < 0)
        return result;
    if (dsm_own_word(dsm, variable) & WORD_OWNER)
        dsm_update_interested(dsm, variable);
    return dsm_release(dsm, variable);
}

/* What is left for the next part of a call, which is to say of itself that time is over. */
static int64_t left_ns(struct rh_dsm *dsm, struct dsm_patience *patience)
{
    int64_t left = rma_left_ns(dsm->job, dsm_deadline_ns(dsm, patience));
    return left > 0 || patience->timeout_ns == 0 ? left : 1;
}

int rh_dsm_barrier(struct rh_dsm *dsm, const rh_dsm_variable *variables, size_t count,
                   int64_t timeout_ns)
{
    struct dsm_patience patience = {.timeout_ns = rma_timeout_ns(dsm->job, timeout_ns)};
    for (size_t i = 0; i < count; i++) {
        if (variables[i] >= dsm->variable_count)
            return refuse_number(dsm, variables[i]);
        int result = refresh(dsm, variables[i], left_ns(dsm, &patience));
        if (result < 0)
            return result;
        timeout_ns = left_ns(dsm, &patience);
    }
    if (unlikely(atomic_load(&dsm->step_count) > 0)) { /* others may wait for it, and not come */
        dsm_settle_all(dsm, left_ns(dsm, &patience));
        timeout_ns = left_ns(dsm, &patience);
    }
    return unlikely(dsm->check != NULL) ? dsm_check_barrier(dsm, timeout_ns)
                                        : rh_barrier(dsm->set, timeout_ns);
}

int rh_dsm_prefetch(struct rh_dsm *dsm, const rh_dsm_variable *variables, size_t count)
{
    int valid = 0;
    for (size_t i = 0; i < count; i++) {
        if (variables[i] >= dsm->variable_count)
            return refuse_number(dsm, variables[i]);
        if (dsm_acquire(dsm, variables[i], RH_DSM_READ, RH_TIMEOUT_NONE) < 0)
            continue;
        dsm_release(dsm, variables[i]);
        valid++;
    }
    return valid;
}

/* ---- Conditions ----------------------------------------------------------------------------- */

/* Put this rank down at the variable's home; once for all its threads. */
static int enlist(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    uint64_t old;
    pthread_mutex_lock(&dsm->conditions);
    int result = dsm_or(dsm, dsm_home(dsm, variable), variable, DSM_EVENT_WAITERS,
                        dsm_bit(dsm->rank), &old);
    dsm->own[variable].event_waits += result == 0;
    pthread_mutex_unlock(&dsm->conditions);
    return result;
}

/* A thread waits no more. One that has not been signalled strikes the rank out if it was the last:
 * else it would swallow a signal that is meant for others. True: one was on its way, and counts. */
static bool strike_out(struct rh_dsm *dsm, rh_dsm_variable variable, bool was_signalled)
{
    uint64_t old = dsm_bit(dsm->rank);
    pthread_mutex_lock(&dsm->conditions);
    bool is_last = --dsm->own[variable].event_waits == 0;
    if (is_last && !was_signalled && dsm->size <= 64) /* else another rank may have the same bit */
        dsm_and(dsm, dsm_home(dsm, variable), variable, DSM_EVENT_WAITERS, ~dsm_bit(dsm->rank),
                &old);
    pthread_mutex_unlock(&dsm->conditions);
    return is_last && !was_signalled && !(old & dsm_bit(dsm->rank));
}

static int await_event(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t seen,
                       int64_t timeout_ns)
{
    struct rh_wait wait = {.word = &dsm->entries[variable].event,
                           .when = RH_NOT_EQUAL,
                           .value = seen,
                           .from = RH_ANY_RANK,
                           .timeout_ns = timeout_ns};
    int result = rh_wait_word(dsm->job, &wait);
    return strike_out(dsm, variable, result == 0) ? 0 : result;
}

static int nobody_signalled(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    return error_set(RH_ETIMEOUT, RH_ANY_RANK,
                     "waited %.3g s for somebody to signal variable %u; rh_dsm_signal() and "
                     "rh_dsm_broadcast() do",
                     (double)rma_timeout_ns(dsm->job, timeout_ns) / 1e9, variable);
}

int rh_dsm_wait(struct rh_dsm *dsm, rh_dsm_variable variable, int64_t timeout_ns)
{
    if (variable >= dsm->variable_count)
        return refuse_number(dsm, variable);
    uint64_t seen = __atomic_load_n(&dsm->entries[variable].event, __ATOMIC_SEQ_CST);
    uint64_t held = dsm_own_word(dsm, variable) & (WORD_WRITER | WORD_READERS);
    if (held == 0)
        return error_fail(RH_EINVALID, "variable %u is not held", variable);
    dsm_settle(dsm);
    int listed = enlist(dsm, variable);
    int result = rh_dsm_release(dsm, variable); /* held no more, whatever happens */
    if (listed < 0 || result < 0)
        return listed < 0 ? listed : result;
    int waited = await_event(dsm, variable, seen, timeout_ns);
    if (waited < 0 && waited != RH_ETIMEOUT && waited != RH_EAGAIN)
        return waited;
    result = rh_dsm_acquire(dsm, variable, held & WORD_WRITER ? RH_DSM_WRITE : RH_DSM_READ,
                            RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    /* only now: acquiring waits, and its waits have texts of their own */
    return waited == RH_ETIMEOUT ? nobody_signalled(dsm, variable, timeout_ns) : waited;
}

static int post_event(struct rh_dsm *dsm, rh_dsm_variable variable, int rank)
{
    return dsm_post(dsm, rank, variable, DSM_EVENT, dsm_signal_value(dsm));
}

/* Signal to up to `most` ranks, of which each may be a few that share a bit. */
static int signal_some(struct rh_dsm *dsm, rh_dsm_variable variable, int most)
{
    int home = dsm_home(dsm, variable);
    uint64_t waiters = 0, old;
    if (unlikely(dsm->check != NULL))
        dsm_check_signal(dsm, variable);
    int result = dsm_swap(dsm, home, variable, DSM_EVENT_WAITERS, 0, &waiters);
    if (result < 0)
        return result;
    for (int i = 1; i <= dsm->size && waiters != 0 && most > 0; i++) {
        int rank = (dsm->rank + i) % dsm->size;
        if (!(waiters & dsm_bit(rank)))
            continue;
        for (int same = rank & 63; same < dsm->size; same += 64) {
            if (!dsm_is_gone(dsm, same) && post_event(dsm, variable, same) == 0)
                most -= same == rank;
        }
        waiters &= ~dsm_bit(rank);
    }
    return waiters == 0 ? 0 : dsm_or(dsm, home, variable, DSM_EVENT_WAITERS, waiters, &old);
}

int rh_dsm_signal(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    int most = dsm->size <= 64 ? 1 : dsm->size; /* bits of ranks that gave up stay where shared */
    return variable < dsm->variable_count ? signal_some(dsm, variable, most)
                                          : refuse_number(dsm, variable);
}

int rh_dsm_broadcast(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    return variable < dsm->variable_count ? signal_some(dsm, variable, dsm->size)
                                          : refuse_number(dsm, variable);
}
