/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the members of a set have called: noticing that it is not the same, saying so to all of them
 * and in words; and who has not come at all.
 */
#include "msg/set/set.h"

#include "base/clock.h"
#include "base/fence.h"

#include <stddef.h>
#include <stdio.h>

#define CALL_TEXT_LENGTH 128

/* ---- Digests -------------------------------------------------------------------------------- */

/* Two calls that differ have different digests, but for one chance in 2^32. Digests are also
 * summed up, so that they must not be small numbers that make up for each other. */
static uint32_t digest_of(const struct set_call *call)
{
    uint64_t what = (uint64_t)call->kind << 48 | (uint64_t)call->type << 40 |
                    (uint64_t)call->operator_ << 32 | (uint32_t)call->root;
    uint64_t mixed = (what + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29 ^ call->length) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111ebu;
    return (uint32_t)(mixed >> 32);
}

void set_call_begin(struct rh_set *set, const struct set_call *call)
{
    set->call = *call;
    set->call_digest = digest_of(call);
}

static uint64_t digest_of_mismatch(const struct set_mismatch *mismatch)
{
    uint64_t digest = (uint64_t)(uint32_t)mismatch->rank[0] << 32 | (uint32_t)mismatch->rank[1];
    for (int i = 0; i < 2; i++)
        digest = digest * 0x9e3779b97f4a7c15u + digest_of(&mismatch->call[i]);
    return digest ^ mismatch->number * 0xbf58476d1ce4e5b9u;
}

/* ---- In words ------------------------------------------------------------------------------- */

static const char *const call_names[SET_CALL_COUNT] = {
    [SET_CALL_NONE] = "nothing",           [SET_CALL_BARRIER] = "rh_barrier",
    [SET_CALL_DESTROY] = "rh_set_destroy", [SET_CALL_BROADCAST] = "rh_broadcast",
    [SET_CALL_REDUCE] = "rh_reduce",       [SET_CALL_ALLREDUCE] = "rh_allreduce",
    [SET_CALL_GATHER] = "rh_gather",       [SET_CALL_SCATTER] = "rh_scatter",
    [SET_CALL_ALLGATHER] = "rh_allgather", [SET_CALL_ALLTOALL] = "rh_alltoall",
};

static bool has_root(const struct set_call *call)
{
    return call->kind == SET_CALL_BROADCAST || call->kind == SET_CALL_REDUCE ||
           call->kind == SET_CALL_GATHER || call->kind == SET_CALL_SCATTER;
}

static const char *name_of(const struct set_call *call)
{
    return call_names[call->kind < SET_CALL_COUNT ? call->kind : SET_CALL_NONE];
}

static void write_call(const struct set_call *call, char *text)
{
    static const char *const types[] = {"int8",   "uint8", "int16",  "uint16", "int32",
                                        "uint32", "int64", "uint64", "float",  "double"};
    static const char *const operators[] = {"sum", "product", "min", "max", "and", "or", "xor"};
    char root[32] = "";
    if (has_root(call))
        snprintf(root, sizeof(root), ", root %d", call->root);
    if (call->kind == SET_CALL_REDUCE || call->kind == SET_CALL_ALLREDUCE)
        snprintf(text, CALL_TEXT_LENGTH, "%s(%s of %llu %s%s)", name_of(call),
                 operators[call->operator_ <= RH_XOR ? call->operator_ : 0],
                 (unsigned long long)call->length, types[call->type <= RH_DOUBLE ? call->type : 0],
                 root);
    else if (call->kind > SET_CALL_DESTROY)
        snprintf(text, CALL_TEXT_LENGTH, "%s(%llu bytes%s)", name_of(call),
                 (unsigned long long)call->length, root);
    else
        snprintf(text, CALL_TEXT_LENGTH, "%s", name_of(call));
}

/* ---- Different calls ------------------------------------------------------------------------- */

/* A push may fail because its target is gone: that needs it no more. */
static void tell_one(struct rh_set *set, int member, const struct set_mismatch *mismatch,
                     uint64_t word)
{
    struct rh_remote broken, tale;
    if (member == set->me || rh_peer_state(set->job, set->ranks[member]) >= RH_PEER_LEFT)
        return;
    if (set_remote(set, member, offsetof(struct set_front, broken_by), 0, &broken) < 0)
        return; /* it has not made the set: see set_part() */
    tale = broken;
    tale.offset = offsetof(struct set_front, mismatch);
    struct rh_notice notice = {.word = broken, .value = word};
    rh_push_notify(set->job, tale, mismatch, sizeof(*mismatch), &notice);
}

void set_mismatch_tell(struct rh_set *set, int member)
{
    struct set_mismatch mismatch = set->front->mismatch;
    /* acquire: as set_check() */
    tell_one(set, member, &mismatch, __atomic_load_n(&set->front->broken_by, __ATOMIC_ACQUIRE));
}

int set_mismatch_error(struct rh_set *set, uint64_t broken_by)
{
    struct set_mismatch mismatch = set->front->mismatch;
    int rank[2] = {(int)(broken_by >> 32 & 0x7fffffff), (int)(broken_by & 0x7fffffff)};
    int own = set->ranks[set->me];
    int other = rank[0] == own ? rank[1] : rank[0];
    bool is_whole = mismatch.digest == digest_of_mismatch(&mismatch) &&
                    mismatch.rank[0] == rank[0] && mismatch.rank[1] == rank[1];
    if (is_whole && (int64_t)(mismatch.number - set->number) > 0)
        return 0; /* over a call that we have not come to: the others have left the last one */
    if (!set->has_told) {
        /* Before we return: who hears of it and leaves must not be taken for the cause. */
        set->has_told = true;
        for (int i = 0; i < set->size; i++)
            tell_one(set, i, &mismatch, broken_by);
    }
    if (!is_whole)
        return error_set(RH_EINVALID, other,
                         "set %u: ranks %d and %d made different calls; all members must make the "
                         "same. Destroy it",
                         set->id, rank[0], rank[1]);
    char call[2][CALL_TEXT_LENGTH];
    write_call(&mismatch.call[0], call[0]);
    write_call(&mismatch.call[1], call[1]);
    return error_set(RH_EINVALID, other,
                     "set %u: rank %d called %s, but rank %d %s; all members must make the same "
                     "call. Destroy it",
                     set->id, rank[0], call[0], rank[1], call[1]);
}

/* Both ends of a pair find the same, so they must tell it in the same order. */
static int mismatch_with(struct rh_set *set, int member, const struct set_call *theirs)
{
    int own = member < set->me ? 1 : 0;
    struct set_mismatch mismatch = {.number = set->number};
    mismatch.rank[own] = set->ranks[set->me];
    mismatch.call[own] = set->call;
    mismatch.rank[1 - own] = set->ranks[member];
    mismatch.call[1 - own] = *theirs;
    mismatch.digest = digest_of_mismatch(&mismatch);
    uint64_t word = SET_MISMATCH | (uint64_t)mismatch.rank[0] << 32 | (uint64_t)mismatch.rank[1];
    set->front->mismatch = mismatch;
    /* release: pairs with set_check() */
    __atomic_store_n(&set->front->broken_by, word, __ATOMIC_RELEASE);
    full_fence(); /* before we tell, see ask_for_mismatch() */
    return set_check(set);
}

int set_differ(struct rh_set *set, int member)
{
    int gone = member;
    int result = set_check(set); /* the other one may have been faster, and be away */
    if (result < 0)
        return result;
    for (int i = 0; i < set->size; i++) {
        struct set_call theirs;
        struct rh_remote remote;
        if (i == set->me || (member >= 0 && i != member))
            continue;
        result = set_remote(set, i, offsetof(struct set_front, call), RH_TIMEOUT_DEFAULT, &remote);
        if (result == 0)
            result = set_pull(set, remote, &theirs, sizeof(theirs));
        if (result < 0)
            gone = i;
        else if (digest_of(&theirs) != set->call_digest)
            return mismatch_with(set, i, &theirs);
    }
    result = set_check(set);
    if (result < 0)
        return result;
    if (gone >= 0) /* whoever it was, it is not there to be asked */
        return set_break(set, set->ranks[gone]);
    set->is_out_of_step = true;
    return error_fail(RH_ECORRUPT, "set %u: its memory was overwritten", set->id);
}

/* ---- Who has not come ------------------------------------------------------------------------ */

/* The boards of other hosts cannot be seen from here. -1: all that we see have come. */
static int find_late(const struct rh_set *set)
{
    const struct board_rank *boards = rma_watch(set->job)->boards;
    int own = set->ranks[set->me];
    for (int i = 0; i < set->size && boards; i++) {
        int rank = set->ranks[i];
        if (rank != own && rh_node(set->job, rank) == rh_node(set->job, own) &&
            board_group_is_late(&boards[rank], set->id, set->number))
            return rank;
    }
    return -1;
}

int set_late_error(struct rh_set *set, int from, int64_t timeout_ns)
{
    int late = set->way == SET_PAIR ? from : find_late(set);
    double seconds = (double)timeout_ns / NS_PER_S;
    if (late >= 0)
        return error_set(RH_ETIMEOUT, late,
                         "set %u: waited %.3g s in %s for rank %d, which has not come", set->id,
                         seconds, name_of(&set->call), late);
    return error_set(RH_ETIMEOUT, from,
                     "set %u: waited %.3g s in %s for rank %d, which has not come or waits for "
                     "others itself",
                     set->id, seconds, name_of(&set->call), from);
}
