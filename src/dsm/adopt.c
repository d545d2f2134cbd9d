/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adopting a variable whose owner is gone. One rank at a time: who adopts puts itself down at the
 * lowest living rank first.
 */
#include "dsm/check.h"
#include "dsm/reach.h"
#include "rma/inside.h"

static int lowest_living(const struct rh_dsm *dsm)
{
    int rank = 0;
    while (rank < dsm->size - 1 && dsm_is_gone(dsm, rank))
        rank++;
    return rank;
}

/* This rank may stand at the registry, though it does not adopt: that would keep others from it. */
static void owe_leave(struct rh_dsm *dsm, rh_dsm_variable variable, int registry)
{
    if (atomic_exchange(&dsm->own[variable].owed_registry, registry + 1) == 0)
        atomic_fetch_add(&dsm->step_count, 1);
}

static void owe_nothing(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    if (atomic_exchange(&dsm->own[variable].owed_registry, 0) != 0)
        atomic_fetch_sub(&dsm->step_count, 1);
}

/* Be the only one; a mark of the dead counts for nothing. */
static int put_down(struct rh_dsm *dsm, rh_dsm_variable variable, int registry)
{
    uint64_t found = 0, mine = (uint64_t)dsm->rank + 1;
    for (;;) {
        int result = dsm_swap_if(dsm, registry, variable, DSM_ADOPTER, &found, mine);
        if (result != 0)
            return result < 0 ? result : 0;
        int other = (int)found - 1;
        if (other >= 0 && other < dsm->size && other != dsm->rank && !dsm_is_gone(dsm, other))
            return error_set(RH_EAGAIN, other, "rank %d is adopting variable %u", other, variable);
    }
}

static int enter(struct rh_dsm *dsm, rh_dsm_variable variable, int registry)
{
    pthread_mutex_lock(&dsm->adopting);
    owe_nothing(dsm, variable);
    int result = put_down(dsm, variable, registry);
    if (result == RH_ETIMEOUT)
        owe_leave(dsm, variable, registry);
    pthread_mutex_unlock(&dsm->adopting);
    return result;
}

static void leave(struct rh_dsm *dsm, rh_dsm_variable variable, int registry)
{
    uint64_t mine = (uint64_t)dsm->rank + 1;
    if (dsm_swap_if(dsm, registry, variable, DSM_ADOPTER, &mine, 0) == RH_ETIMEOUT)
        owe_leave(dsm, variable, registry);
}

bool dsm_adopt_settle(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    if (atomic_load(&dsm->own[variable].owed_registry) == 0 ||
        pthread_mutex_trylock(&dsm->adopting) != 0)
        return false;
    int registry = atomic_load(&dsm->own[variable].owed_registry) - 1;
    owe_nothing(dsm, variable);
    if (registry >= 0)
        leave(dsm, variable, registry);
    pthread_mutex_unlock(&dsm->adopting);
    return atomic_load(&dsm->own[variable].owed_registry) == 0;
}

/* A living rank to copy from: this one if its copy is valid, else another whose is; else, if that
 * is welcome, whose version is the newest. -1: nobody. */
static int find_source(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_stale_welcome,
                       bool *is_stale)
{
    int newest = -1;
    uint64_t most = 0;
    *is_stale = false;
    for (int i = 0; i < dsm->size; i++) {
        int rank = (dsm->rank + i) % dsm->size;
        uint64_t word, version;
        if (dsm_is_gone(dsm, rank) || dsm_load(dsm, rank, variable, DSM_WORD, &word) < 0 ||
            dsm_load(dsm, rank, variable, DSM_VERSION, &version) < 0)
            continue;
        if (word & WORD_VALID)
            return rank;
        if (newest < 0 || version > most) {
            newest = rank;
            most = version;
        }
    }
    *is_stale = true;
    return is_stale_welcome ? newest : -1;
}

/* Whom to adopt from, with its data here already. The own word is TAKING. */
static int choose(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_stale_welcome,
                  bool *is_stale, struct dsm_patience *patience)
{
    struct dsm_search search = {.target = word_hint(dsm_own_word(dsm, variable))};
    int result = dsm_owner_find(dsm, variable, &search, patience);
    if (result == 0)
        return error_set(RH_EINVALID, search.target, "rank %d owns variable %u, and lives",
                         search.target, variable);
    if (result != RH_EDEAD)
        return result;
    int source = find_source(dsm, variable, is_stale_welcome, is_stale);
    if (source < 0)
        return error_fail(RH_ENOSEG, "nobody has a valid copy of variable %u any more", variable);
    return source == dsm->rank ? 0 : dsm_data_pull(dsm, variable, source, patience);
}

/* The data is here, and nobody owns the variable. */
static int become_owner(struct rh_dsm *dsm, rh_dsm_variable variable, struct dsm_patience *patience)
{
    uint64_t word = dsm_own_word(dsm, variable), next;
    do /* anybody may have a copy */
        next = word_with_hint((word & ~(WORD_TAKING | WORD_FRESH)) | WORD_OWNER | WORD_WRITER |
                                  WORD_VALID | WORD_COPIES,
                              dsm->rank);
    while (!dsm_own_swap_if(dsm, variable, &word, next));
    rh_wake(dsm->job, dsm->rank);
    return dsm_write_alone(dsm, variable, patience);
}

static int adopt(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_stale_welcome,
                 struct dsm_patience *patience)
{
    bool is_stale = false;
    int result = dsm_own_begin(dsm, variable, patience);
    if (result < 0)
        return result;
    result = choose(dsm, variable, is_stale_welcome, &is_stale, patience);
    if (result < 0) {
        dsm_own_give_up(dsm, variable);
        return result;
    }
    result = become_owner(dsm, variable, patience);
    return result < 0 ? result : is_stale ? RH_OWNER_DIED : 0;
}

int rh_dsm_adopt(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_stale_welcome)
{
    struct dsm_patience patience = {.purpose = "adopt",
                                    .timeout_ns = rma_timeout_ns(dsm->job, RH_TIMEOUT_DEFAULT)};
    if (variable >= dsm->variable_count)
        return error_fail(RH_EINVALID, "there is no variable %u", variable);
    int registry = lowest_living(dsm);
    int result = enter(dsm, variable, registry);
    if (result < 0)
        return result;
    result = adopt(dsm, variable, is_stale_welcome, &patience);
    leave(dsm, variable, registry);
    if (result >= 0 && dsm->check)
        dsm_check_hold(dsm, variable, true);
    return result;
}
