/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `sync`: one release or acquire of a process at a time, and nobody while homes move. It is a flag
 * and no mutex, since a barrier that ran out of time in the middle of a move keeps it until it is
 * called again; so whoever wants it waits with a deadline. Faults on pages that move wait here too.
 */
#include "dsm/page/pages.h"

#include "base/clock.h"
#include "base/log.h"

int sync_open(struct rh_dsm_pages *pages)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0)
        return error_no_memory("shared pages");
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int result = pthread_cond_init(&pages->sync.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (result == 0 && pthread_mutex_init(&pages->sync.gate, NULL) == 0) {
        pages->sync.is_open = true;
        return 0;
    }
    if (result == 0)
        pthread_cond_destroy(&pages->sync.changed);
    return error_no_memory("shared pages");
}

void sync_close(struct rh_dsm_pages *pages)
{
    if (!pages->sync.is_open)
        return;
    pthread_cond_destroy(&pages->sync.changed);
    pthread_mutex_destroy(&pages->sync.gate);
}

/* Nothing can be said when a thread dies that way: so say it before, once. */
void sync_thread_check(const struct rh_dsm_pages *pages)
{
    static _Thread_local bool is_checked;
    if (is_checked)
        return;
    is_checked = true;
    if (faults_are_blocked(pages->faults))
        log_warning("rank %d: a thread that uses shared pages has signals blocked; the kernel ends "
                    "the process without a word if it touches a page that is not here. Unblock "
                    "SIGBUS and SIGSEGV in it",
                    pages->rank);
}

static struct timespec deadline(const struct rh_dsm_pages *pages)
{
    int64_t at_ns = clock_deadline_ns(rma_timeout_ns(pages->job, RH_TIMEOUT_DEFAULT));
    return (struct timespec){.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S};
}

/* Homes were moving when a rank died: who has which page is not known any more. */
static int refuse(const struct rh_dsm_pages *pages)
{
    return error_set(RH_EDEAD, pages->sync.dead,
                     "rank %d died while pages changed their homes: these shared pages cannot be "
                     "used any more; close them",
                     pages->sync.dead);
}

int sync_take(struct rh_dsm_pages *pages)
{
    struct pages_sync *state = &pages->sync;
    struct timespec until = {0};
    int waited = 0;
    pthread_mutex_lock(&state->gate);
    while (state->is_taken && !state->is_lost && waited == 0) {
        if (until.tv_sec == 0)
            until = deadline(pages);
        state->waiters++;
        waited = pthread_cond_timedwait(&state->changed, &state->gate, &until);
        state->waiters--;
    }
    bool is_lost = state->is_lost, is_mine = !is_lost && !state->is_taken;
    if (is_mine)
        state->is_taken = true;
    pthread_mutex_unlock(&state->gate);
    if (is_mine)
        return 0;
    return is_lost ? refuse(pages)
                   : error_fail(RH_ETIMEOUT,
                                "another thread of this rank has not ended its barrier or lock of "
                                "these shared pages; call rh_dsm_pages_barrier() again if it ran "
                                "out of time");
}

void sync_give(struct rh_dsm_pages *pages)
{
    pthread_mutex_lock(&pages->sync.gate);
    ASSERT(pages->sync.is_taken);
    pages->sync.is_taken = false;
    if (pages->sync.waiters > 0)
        pthread_cond_broadcast(&pages->sync.changed);
    pthread_mutex_unlock(&pages->sync.gate);
}

void sync_lose(struct rh_dsm_pages *pages, int dead)
{
    pthread_mutex_lock(&pages->sync.gate);
    pages->sync.is_lost = true;
    pages->sync.dead = dead;
    pthread_cond_broadcast(&pages->sync.changed);
    pthread_mutex_unlock(&pages->sync.gate);
}

void sync_settle(struct rh_dsm_pages *pages)
{
    pthread_mutex_lock(&pages->sync.gate);
    for (size_t i = 0; i < (pages->count + 63) / 64; i++)
        atomic_store_explicit(&pages->moving[i], 0, memory_order_release);
    pthread_cond_broadcast(&pages->sync.changed);
    pthread_mutex_unlock(&pages->sync.gate);
}

int sync_await_settled(struct rh_dsm_pages *pages, size_t page)
{
    struct pages_sync *state = &pages->sync;
    struct timespec until = deadline(pages);
    int waited = 0;
    pthread_mutex_lock(&state->gate);
    while (pages_bit(pages->moving, page) && !state->is_lost && waited == 0) {
        state->waiters++;
        waited = pthread_cond_timedwait(&state->changed, &state->gate, &until);
        state->waiters--;
    }
    bool is_lost = state->is_lost, is_moving = pages_bit(pages->moving, page);
    pthread_mutex_unlock(&state->gate);
    if (is_moving && is_lost)
        return refuse(pages);
    return is_moving
               ? error_fail(
                     RH_ETIMEOUT,
                     "page %zu is between two homes, and the barrier that moves it does not end",
                     page)
               : 0;
}
