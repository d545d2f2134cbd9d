/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Open jobs: ranks for who comes, and ranks that are somebody else's later.
 *
 * Who talks to a rank keeps things of it: views of its memory, lanes, half a message. Nothing of
 * that must meet the next one with the same number. So the manager, which is asked before anybody
 * reaches anybody's memory, notes who has met whom: a row of bits for each rank. When a process
 * goes, its bit goes from all rows; its own row stays, and while a bit is left in there its rank is
 * nobody's. Who has not met the former one keeps nothing, and never sees the difference. Model:
 * tests/model/open_rank.pml.
 */
#include "base/error.h"
#include "job/manager/state.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64

static size_t row_words(const struct manager *manager)
{
    return ((size_t)manager->size + WORD_BITS - 1) / WORD_BITS;
}

static uint64_t *row_of(const struct manager *manager, int rank)
{
    return manager->met + (size_t)rank * row_words(manager);
}

static uint64_t bit_of(int rank)
{
    return 1ULL << ((unsigned)rank % WORD_BITS);
}

int manager_open_jobs_open(struct manager *manager)
{
    manager->met = calloc((size_t)manager->size * row_words(manager), sizeof(manager->met[0]));
    return manager->met ? 0 : error_no_memory("an open job of %d", manager->size);
}

void manager_met(struct manager *manager, int one, int other)
{
    if (!manager->met || one == other || manager->members[other].fd < 0)
        return; /* who is gone is not met any more */
    row_of(manager, one)[(unsigned)other / WORD_BITS] |= bit_of(other);
    row_of(manager, other)[(unsigned)one / WORD_BITS] |= bit_of(one);
}

static bool have_met(const struct manager *manager, int one, int other)
{
    return (row_of(manager, one)[(unsigned)other / WORD_BITS] & bit_of(other)) != 0;
}

void manager_met_died(struct manager *manager, int rank)
{
    struct roster *roster = manager->memory.roster;
    for (int other = 0; manager->met && other < roster_used(roster); other++) {
        struct roster_peer *peer = &roster->peer[other];
        if (!have_met(manager, rank, other))
            continue;
        atomic_store_explicit(&peer->last_dead_met, rank, memory_order_relaxed);
        atomic_fetch_add_explicit(&peer->deaths_met, 1, memory_order_release);
    }
}

void manager_seat_left(struct manager *manager, int rank)
{
    for (int other = 0; manager->met && other < roster_used(manager->memory.roster); other++)
        row_of(manager, other)[(unsigned)rank / WORD_BITS] &= ~bit_of(rank);
}

/* ---- Coming --------------------------------------------------------------------------------- */

static bool is_free(const struct manager *manager, int rank)
{
    const struct member *member = &manager->members[rank];
    const uint64_t *row = row_of(manager, rank);
    if (member->fd >= 0 || member->process_fd >= 0)
        return false;
    for (size_t i = 0; i < row_words(manager); i++) {
        if (row[i] != 0)
            return false;
    }
    return true;
}

static int find_seat(const struct manager *manager)
{
    int used = roster_used(manager->memory.roster);
    for (int rank = 0; rank < used; rank++) {
        if (is_free(manager, rank))
            return rank;
    }
    return used;
}

static void seat_clear(struct manager *manager, int rank)
{
    struct member *member = &manager->members[rank];
    struct roster_peer *peer = &manager->memory.roster->peer[rank];
    manager_offers_drop(member);
    free(member->card);
    member->card = NULL;
    member->card_length = 0;
    member->has_come = member->has_joined = member->has_left = false;
    atomic_store_explicit(&peer->deaths_met, 0, memory_order_relaxed);
    atomic_store_explicit(&peer->end_signal, 0, memory_order_relaxed);
    atomic_store_explicit(&peer->end_status, 0, memory_order_relaxed);
    atomic_store_explicit(&peer->serial, ++manager->serial, memory_order_relaxed);
    atomic_store_explicit(&peer->state, RH_PEER_STARTING, memory_order_release);
}

int manager_let_in(struct manager *manager, int fd, int pid)
{
    struct roster *roster = manager->memory.roster;
    int rank = find_seat(manager);
    if (rank >= manager->size)
        return error_fail(RH_ENOSPACE,
                          "the open job is full: all its %d ranks are taken, or were by processes "
                          "that others still know; end some, or end all and set RHINET_OPEN_RANKS "
                          "higher",
                          manager->size);
    int result = job_memory_rank_add(&manager->memory, rank);
    if (result < 0)
        return result;
    struct member *member = &manager->members[rank];
    seat_clear(manager, rank);
    member->fd = fd;
    result = manager_socket_watch(manager, rank);
    if (result < 0) {
        member->fd = -1;
        return result;
    }
    member->has_come = true;
    member->known_pid = pid;
    atomic_store_explicit(&roster->peer[rank].pid, pid, memory_order_relaxed);
    if (rank >= roster_used(roster)) /* release: whoever sees it finds the rest cleared */
        atomic_store_explicit(&roster->used, (uint32_t)rank + 1, memory_order_release);
    atomic_store_explicit(&roster->joins, manager->serial, memory_order_release);
    return rank;
}
