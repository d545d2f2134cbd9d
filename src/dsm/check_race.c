/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checker: data races. Two accesses of which one writes, by two ranks, and neither known to have
 * happened before the other, are one. Who holds a variable counts as using all that is bound to it
 * from then on: as much travels. So races are between one who holds it and one who accesses its
 * memory without, between two who do so, and between holders of two variables that share memory.
 *
 * Both sides put down what they do before they look for the other, so one of them sees it.
 */
#include "base/log.h"
#include "dsm/check.h"
#include "dsm/check_clock.h"
#include "dsm/check_state.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_SECONDS 10 /* for a look at memory of others out of the signal handler */

/* What another rank has done, in words around the name of what it did it to. */
struct other_use {
    int rank;
    const char *did; /* NULL: nothing that is in the way */
    const char *how;
};

static bool is_unordered(const struct rh_dsm *dsm, int rank, uint64_t time)
{
    return rank != dsm->rank && time > dsm->check->clocks->now[rank];
}

/* Accesses without holding, put down in the record that was looked at. */
static struct other_use find_trespass(const struct rh_dsm *dsm, bool is_write)
{
    for (int rank = 0; rank < dsm->size; rank++) {
        uint64_t time = check_clock_word(dsm, CLOCK_TRESPASSED, rank);
        if (((time & 1) || is_write) && is_unordered(dsm, rank, time / 2))
            return (struct other_use){rank, time & 1 ? "wrote" : "read", "without holding it"};
    }
    return (struct other_use){0};
}

static struct other_use find_holder(const struct rh_dsm *dsm, bool is_write)
{
    for (int rank = 0; rank < dsm->size; rank++) {
        if (is_unordered(dsm, rank, check_clock_word(dsm, CLOCK_WROTE, rank)))
            return (struct other_use){rank, "held", "for writing"};
        if (is_write && is_unordered(dsm, rank, check_clock_word(dsm, CLOCK_READ, rank)))
            return (struct other_use){rank, "held", "for reading"};
    }
    return (struct other_use){0};
}

/* ---- Holders -------------------------------------------------------------------------------- */

static const char *held_how(bool is_write)
{
    return is_write ? "writing" : "reading";
}

static bool is_news(struct rh_dsm *dsm, rh_dsm_variable variable, const struct other_use *other)
{
    bool *was_told = &dsm->check->variables[variable].was_race_told;
    bool is_news = other->did && !*was_told;
    *was_told = *was_told || is_news;
    return is_news;
}

static void judge_trespass(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write)
{
    struct other_use other = find_trespass(dsm, is_write);
    if (is_news(dsm, variable, &other))
        log_warning("RHINET_DSM_CHECK: data race on variable %u: rank %d holds it for %s, rank %d "
                    "%s it %s, and nothing orders the two",
                    variable, dsm->rank, held_how(is_write), other.rank, other.did, other.how);
}

/* Holders of other variables to which some of the same memory is bound. */
static void judge_shared(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write)
{
    for (rh_dsm_variable shared = 0; shared < dsm->variable_count; shared++) {
        uint64_t where;
        if (shared == variable || !check_overlap(dsm, variable, shared, &where) ||
            !check_clock_look(dsm, shared))
            continue;
        struct other_use other = find_holder(dsm, is_write);
        if (is_news(dsm, variable, &other))
            log_warning("RHINET_DSM_CHECK: data race at offset %llu, which is bound to two "
                        "variables: rank %d holds %u for %s, rank %d %s %u %s, and nothing orders "
                        "the two",
                        (unsigned long long)where, dsm->rank, variable, held_how(is_write),
                        other.rank, other.did, shared, other.how);
    }
}

void check_race_hold(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write)
{
    struct check_clocks *clocks = dsm->check->clocks;
    if (!clocks)
        return;
    check_clock_note(dsm, variable, is_write ? CLOCK_WROTE : CLOCK_READ, clocks->now[dsm->rank]);
    if (!check_clock_look(dsm, variable))
        return;
    check_clock_join(dsm, CLOCK_WRITERS);
    if (is_write)
        check_clock_join(dsm, CLOCK_READERS);
    judge_trespass(dsm, variable, is_write);
    if (check_clock_word(dsm, CLOCK_IS_SHARED, 0))
        judge_shared(dsm, variable, is_write);
}

void check_race_drop(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write)
{
    if (dsm->check->clocks)
        check_clock_publish(dsm, variable, is_write ? CLOCK_WRITERS : CLOCK_READERS);
}

void check_race_share(struct rh_dsm *dsm, rh_dsm_variable a, rh_dsm_variable b)
{
    if (!dsm->check->clocks)
        return;
    check_clock_note(dsm, a, CLOCK_IS_SHARED, 1);
    check_clock_note(dsm, b, CLOCK_IS_SHARED, 1);
}

/* ---- An access without holding -------------------------------------------------------------- */

static struct other_use find_any(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write)
{
    struct check_clocks *clocks = dsm->check->clocks;
    struct other_use other = {0};
    pthread_mutex_lock(&dsm->check->lock);
    check_clock_note(dsm, variable, CLOCK_TRESPASSED, clocks->now[dsm->rank] * 2 + is_write);
    if (check_clock_look(dsm, variable)) {
        other = find_holder(dsm, is_write);
        if (!other.did)
            other = find_trespass(dsm, is_write);
    }
    pthread_mutex_unlock(&dsm->check->lock);
    return other;
}

/* If the access was made by a call of rhinet, as with a message sent from there, the way to others
 * may be blocked by just that call: then the alarm ends the process, as the access would have. */
void check_race_trespass(struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t offset,
                         bool is_write)
{
    struct sigaction end = {.sa_handler = SIG_DFL}, before;
    char text[256];
    if (!dsm->check->clocks)
        return;
    sigaction(SIGALRM, &end, &before);
    alarm(LOOK_SECONDS);
    struct other_use other = find_any(dsm, variable, is_write);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    if (!other.did)
        return;
    int length = snprintf(text, sizeof(text),
                          "rhinet: data race at offset %llu, variable %u: rank %d %s it without "
                          "holding it, rank %d %s it %s, and nothing orders the two "
                          "(RHINET_DSM_CHECK)\n",
                          (unsigned long long)offset, variable, dsm->rank,
                          is_write ? "writes" : "reads", other.rank, other.did, other.how);
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        return;
}

/* ---- Acting together ------------------------------------------------------------------------ */

void dsm_check_signal(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    pthread_mutex_lock(&dsm->check->lock);
    check_race_drop(dsm, variable, true);
    pthread_mutex_unlock(&dsm->check->lock);
}

int dsm_check_barrier(struct rh_dsm *dsm, int64_t timeout_ns)
{
    if (!dsm->check->clocks)
        return rh_barrier(dsm->set, timeout_ns);
    pthread_mutex_lock(&dsm->check->lock);
    check_clock_enter_barrier(dsm);
    pthread_mutex_unlock(&dsm->check->lock);
    int result = rh_barrier(dsm->set, timeout_ns);
    pthread_mutex_lock(&dsm->check->lock);
    check_clock_leave_barrier(dsm, result == 0);
    pthread_mutex_unlock(&dsm->check->lock);
    return result;
}
