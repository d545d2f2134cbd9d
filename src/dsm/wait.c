/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting for a variable, and finding who owns it.
 *
 * Waits are cut into slices, after which the waiter looks for itself: whoever was to wake it may
 * have died, or may have passed its place on to one who did.
 */
#include "base/clock.h"
#include "dsm/reach.h"
#include "rma/inside.h"

#include <stdio.h>

#define SLICE_NS    (50 * NS_PER_MS)
#define NAP_NS      (20 * NS_PER_US)
#define NAME_LENGTH 32
#define RESCANS     50 /* for a rank that is between two steps to make the second one */

int64_t dsm_deadline_ns(struct rh_dsm *dsm, struct dsm_patience *patience)
{
    ASSERT(patience->timeout_ns >= 0);
    if (patience->deadline_ns == 0)
        patience->deadline_ns = rma_deadline_ns(dsm->job, patience->timeout_ns);
    return patience->deadline_ns;
}

static int64_t left_ns(struct rh_dsm *dsm, struct dsm_patience *patience)
{
    if (patience->timeout_ns == 0)
        return 0;
    return rma_left_ns(dsm->job, dsm_deadline_ns(dsm, patience));
}

/* What a program calls it: variables of our own have other names. */
static void name_of(const struct rh_dsm *dsm, rh_dsm_variable variable, char name[NAME_LENGTH])
{
    if (variable < dsm->variable_count)
        snprintf(name, NAME_LENGTH, "variable %u", variable);
    else
        snprintf(name, NAME_LENGTH, "the allocator of shared memory");
}

/* In vain. `who` has it: a rank, this one, or (RH_ANY_RANK) one after the other. */
static int give_up(const struct rh_dsm *dsm, rh_dsm_variable variable, int who,
                   const struct dsm_patience *patience)
{
    char name[NAME_LENGTH], holder[64], waited[64];
    name_of(dsm, variable, name);
    if (who == RH_ANY_RANK)
        snprintf(holder, sizeof(holder), "which changes hands all the time");
    else if (who == dsm->rank)
        snprintf(holder, sizeof(holder), "which a thread of this rank itself has");
    else
        snprintf(holder, sizeof(holder), "which rank %d has", who);
    if (patience->timeout_ns == 0)
        return error_set(RH_EAGAIN, who, "cannot %s %s at once, %s", patience->purpose, name,
                         holder);
    snprintf(waited, sizeof(waited), "waited %.3g s", (double)patience->timeout_ns / 1e9);
    return error_set(RH_ETIMEOUT, who, "%s to %s %s, %s", waited, patience->purpose, name, holder);
}

struct watch {
    const struct dsm_entry *entry;
    const struct dsm_await *await;
    rh_dsm_variable variable;
    int rank; /* own */
};

static bool is_met(void *context)
{
    const struct watch *watch = context;
    uint64_t word = __atomic_load_n(&watch->entry->word, __ATOMIC_SEQ_CST);
    return (word & watch->await->mask) != watch->await->value ||
           __atomic_load_n(&watch->entry->signal, __ATOMIC_SEQ_CST) != watch->await->seen;
}

static void describe(void *context, struct wait_note *note)
{
    const struct watch *watch = context;
    int from = watch->await->from; /* a thread of this rank is nobody to point at */
    *note = (struct wait_note){.call = WAIT_VARIABLE,
                               .peer = from == watch->rank ? RH_ANY_RANK : from,
                               .number = watch->variable};
}

int dsm_await(struct rh_dsm *dsm, rh_dsm_variable variable, const struct dsm_await *await,
              struct dsm_patience *patience)
{
    struct watch watch = {
        .entry = &dsm->entries[variable], .await = await, .variable = variable, .rank = dsm->rank};
    int64_t left = left_ns(dsm, patience);
    struct rh_until until = {.is_met = is_met,
                             .context = &watch,
                             .from = await->from,
                             .timeout_ns = left < SLICE_NS ? left : SLICE_NS};
    if (dsm_settle(dsm))
        return 0; /* it may be that which is waited for */
    int result = rma_wait_until(dsm->job, &until, describe);
    if (result == 0 || result == RH_EDEAD) /* who died is found out by looking */
        return 0;
    return left_ns(dsm, patience) > 0 ? 0 : give_up(dsm, variable, await->from, patience);
}

int dsm_nap(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience)
{
    uint64_t never = 0;
    struct rh_wait wait = {.word = &never,
                           .when = RH_NOT_EQUAL,
                           .from = dsm->rank, /* nobody's death ends it */
                           .timeout_ns = NAP_NS};
    if (!dsm_settle(dsm))
        rh_wait_word(dsm->job, &wait);
    if (patience->timeout_ns == 0) /* no time to wait for holders, but enough for one step */
        return patience->naps++ < RESCANS ? 0 : give_up(dsm, variable, RH_ANY_RANK, patience);
    return left_ns(dsm, patience) > 0 ? 0 : give_up(dsm, variable, RH_ANY_RANK, patience);
}

/* ---- Finding the owner ---------------------------------------------------------------------- */

struct sight {
    bool has_doubt;  /* somebody cannot say whether it is the owner */
    uint64_t digest; /* of all words */
};

/* One look at all living ranks. 1: found; 0: nobody; RH_EAGAIN: somebody is between two steps;
 * RH_ETIMEOUT: somebody does not answer. */
static int scan(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_search *search,
                struct sight *sight)
{
    int result = 0;
    *sight = (struct sight){0};
    for (int rank = 0; rank < dsm->size; rank++) {
        uint64_t word;
        int found = dsm_is_gone(dsm, rank) ? RH_EDEAD
                                           : dsm_load(dsm, rank, variable, DSM_WORD, &word);
        if (found == RH_ETIMEOUT)
            return found; /* it may be the owner */
        if (found < 0)
            continue;
        if (word & WORD_OWNER) {
            search->target = rank;
            return 1;
        }
        sight->digest = (sight->digest ^ word) * 0x9e3779b97f4a7c15u + (unsigned)rank;
        if (rank != dsm->rank && (word & WORD_TAKING) && !(word & WORD_WAIT_WRITE)) {
            result = RH_EAGAIN;
            sight->has_doubt |= (word & WORD_SERVING) != 0;
        }
    }
    return result;
}

int dsm_follow(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_search *search,
               uint64_t found, struct dsm_patience *patience)
{
    struct sight sight;
    int next = word_hint(found);
    if (unlikely(next >= dsm->size))
        return error_set(RH_ECORRUPT, search->target,
                         "rank %d says that rank %d owns variable %u, but there is no such rank",
                         search->target, next, variable);
    search->target = next;
    if (++search->hops <= dsm->size)
        return 0;
    /* In a circle: somebody has just taken it and is about to say so; or, much later, an old hint
     * has come late. */
    search->hops = 0;
    if (++search->circles % RESCANS == 0 && scan(dsm, variable, search, &sight) == RH_ETIMEOUT)
        return RH_ETIMEOUT;
    return dsm_nap(dsm, variable, patience);
}

/* Who is gone, of whom `guess` is the most probable; -1: nobody. */
static int find_gone(const struct rh_dsm *dsm, int guess)
{
    for (int i = 0; i < dsm->size; i++) {
        int rank = (guess + i) % dsm->size;
        if (dsm_is_gone(dsm, rank))
            return rank;
    }
    return -1;
}

/* Ranks are looked at one after the other, and meanwhile one that was may have made another the
 * owner that had been looked at before. So the owner is gone only if somebody is, and if two looks
 * in a row have seen the same. */
int dsm_owner_find(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_search *search,
                   struct dsm_patience *patience)
{
    int guess = search->target, gone = -1;
    struct sight sight, before = {0};
    for (int i = 0; gone < 0; i++) {
        int result = scan(dsm, variable, search, &sight);
        if (result > 0)
            return 0;
        if (result == RH_ETIMEOUT)
            return result;
        bool is_same = i > 0 && sight.digest == before.digest;
        bool is_enough = is_same ? result == 0 || i >= RESCANS : i >= 8 * RESCANS;
        if (!sight.has_doubt && is_enough)
            gone = find_gone(dsm, guess);
        before = sight;
        result = gone < 0 ? dsm_nap(dsm, variable, patience) : 0;
        if (result < 0)
            return result;
    }
    return error_set(RH_EDEAD, gone,
                     "rank %d, which owned variable %u, is gone; rh_dsm_adopt() makes a copy of "
                     "its data the owner's, if there is one",
                     gone, variable);
}
