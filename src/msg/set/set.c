/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of ranks: making them, finding the other members' memory, noticing that a member is gone.
 */
#include "msg/set/set.h"
#include "rma/inside.h"

#include "base/fence.h"
#include "base/rest.h"

#include <stdlib.h>

/* ---- The hub -------------------------------------------------------------------------------- */

int sets_open(struct rh_msg *msg)
{
    struct set_hub *hub = calloc(1, sizeof(*hub));
    if (!hub)
        return error_no_memory("sets");
    hub->msg = msg;
    hub->job = msg->job;
    int result = rh_segment_alloc(msg->job, MSG_SID_SETS, sizeof(struct set_directory),
                                  (void **)&hub->directory);
    if (result < 0) {
        free(hub);
        return result;
    }
    pthread_mutex_init(&hub->lock, NULL);
    msg->sets = hub;
    return 0;
}

static void free_set(struct rh_set *set)
{
    if (set->base)
        rh_segment_detach(set->job, set->sid);
    arena_free(&set->memory);
    free(set);
}

void sets_close(struct rh_msg *msg)
{
    struct set_hub *hub = msg->sets;
    while (hub->sets) {
        struct rh_set *set = hub->sets;
        hub->sets = set->next;
        free_set(set);
    }
    rh_segment_detach(hub->job, MSG_SID_SETS);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
    msg->sets = NULL;
}

/* Put the set into the directory, or find it there. Under the lock. */
static int publish(struct rh_set *set)
{
    struct set_name *bucket = set->hub->directory->name[set->id % SET_BUCKETS];
    struct set_name *place = NULL;
    for (int i = 0; i < SET_BUCKET_NAMES; i++) {
        if (bucket[i].key == set->id + 1)
            return error_fail(RH_EEXIST, "this process is already in a set %u", set->id);
        if (bucket[i].key == 0 && !place)
            place = &bucket[i];
    }
    if (!place)
        return error_fail(
            RH_ENOSPACE,
            "set %u: %d sets whose numbers differ by multiples of %d are open; choose "
            "another number",
            set->id, SET_BUCKET_NAMES, SET_BUCKETS);
    set->sid = MSG_SID_SETS + 1 + (rh_sid)(place - &set->hub->directory->name[0][0]);
    int result = rh_segment_alloc(set->job, set->sid, set->length, (void **)&set->base);
    if (result < 0)
        return result;
    set->front = (void *)set->base;
    place->hash = set->hash;
    place->sid = set->sid;
    /* release: pairs with the pull in set_look_up() */
    __atomic_store_n(&place->key, set->id + 1, __ATOMIC_RELEASE);
    full_fence(); /* before we look, see ask_for_mismatch() */
    set->name = place;
    set->next = set->hub->sets;
    set->hub->sets = set;
    return 0;
}

static void unpublish(struct rh_set *set)
{
    pthread_mutex_lock(&set->hub->lock);
    __atomic_store_n(&set->name->key, 0, __ATOMIC_RELEASE); /* as in publish() */
    struct rh_set **link = &set->hub->sets;
    while (*link != set)
        link = &(*link)->next;
    *link = set->next;
    pthread_mutex_unlock(&set->hub->lock);
}

/* ---- Make and destroy ----------------------------------------------------------------------- */

static int allocate(struct rh_set *set)
{
    ARENA_TAKE(&set->memory, set->ranks, set->size);
    ARENA_TAKE(&set->memory, set->parents, set->size);
    ARENA_TAKE(&set->memory, set->children, set->size);
    ARENA_TAKE(&set->memory, set->sids, set->size);
    set_lay_out(set);
    ARENA_TAKE(&set->memory, set->gifts, (size_t)set->size * sizeof(struct set_slot));
    ARENA_TAKE(&set->memory, set->scratch, set->stage_length);
    return set->memory.is_short ? error_no_memory("a set of %d", set->size) : 0;
}

static int create(struct rh_msg *msg, const struct rh_set_spec *spec, struct rh_set **made)
{
    struct rh_set *set = calloc(1, sizeof(*set));
    if (!set)
        return error_no_memory("a set");
    set->hub = msg->sets;
    set->job = msg->job;
    set->id = spec->id;
    set->size = spec->ranks ? (int)spec->rank_count : rh_size(msg->job);
    int result = allocate(set);
    if (result == 0)
        result = set_shape(set, spec);
    if (result == 0) {
        pthread_mutex_lock(&set->hub->lock);
        result = publish(set);
        pthread_mutex_unlock(&set->hub->lock);
    }
    if (result < 0) {
        free_set(set);
        return result;
    }
    set->board = board_group_open(rma_watch(set->job)->board, set->id, (uint32_t)set->size);
    *made = set;
    return 0;
}

int set_create_all(struct rh_msg *msg, uint32_t id, struct rh_set **made)
{
    struct rh_set_spec spec = {.id = id};
    return create(msg, &spec, made);
}

int rh_set_create(struct rh_msg *msg, const struct rh_set_spec *spec, struct rh_set **made)
{
    if ((!spec || !spec->ranks) && rma_is_open(msg->job))
        return error_fail(RH_EUNSUP, "an open job has no set of all ranks, since more may come; "
                                     "name the members");
    if (!spec)
        return set_create_all(msg, SET_ID_ALL, made);
    int result = set_spec_check(msg, spec);
    return result < 0 ? result : create(msg, spec, made);
}

/* Find all members while they can be found. */
static int find_all(struct rh_set *set)
{
    struct rh_remote remote;
    int result = 0;
    for (int i = 0; i < set->size && result == 0; i++)
        result = set_remote(set, i, 0, RH_TIMEOUT_DEFAULT, &remote);
    return result;
}

static int meet_to_part(struct rh_set *set)
{
    static const struct set_call call = {.kind = SET_CALL_DESTROY};
    static const struct set_exchange nothing;
    set_call_begin(set, &call);
    return set_exchange(set, &nothing, RH_TIMEOUT_DEFAULT);
}

/* Between the two barriers nobody can be found any more, so that a set of the same description can
 * be made anew at once; after the second nobody uses the others' memory. Whoever is the last to
 * enter the second must know all others, hence the first step. */
int rh_set_destroy(struct rh_set *set)
{
    if (set->id == SET_ID_BARRIER)
        return error_fail(RH_EINVALID, "the set of rh_set_all() is the job's; rh_leave() ends it");
    bool is_known = set->has_told; /* that members differ: an earlier call has said so */
    bool is_sound = set_check(set) == 0 && !set->is_out_of_step;
    int first = is_sound ? find_all(set) : 0;
    if (is_sound && first == 0 && set->has_entered)
        first = rh_barrier(set, RH_TIMEOUT_DEFAULT); /* that was given up */
    if (is_sound && first == 0)
        first = meet_to_part(set);
    bool is_mismatch = set->has_told;
    if (is_mismatch)
        set_part(set, 1);
    unpublish(set);
    int second = is_sound && first == 0 ? meet_to_part(set) : 0;
    if (is_mismatch)
        set_part(set, 2);
    int news = is_mismatch && !is_known ? set_check(set) : 0;
    board_group_close(set->board);
    free_set(set);
    if (news < 0 || is_known)
        return news;
    if (first == RH_EDEAD)
        return 0; /* the others go, too: nothing is left to wait for */
    return first < 0 ? first : second == RH_EDEAD ? 0 : second;
}

int rh_set_rank(const struct rh_set *set)
{
    return set->me;
}

int rh_set_size(const struct rh_set *set)
{
    return set->size;
}

/* ---- The other members ---------------------------------------------------------------------- */

/* Whether a member has found that calls differ, when we were not yet there to be told. Of us, who
 * have made the set and look, and one who says so in its memory and tells all, one sees the other.
 */
static int ask_for_mismatch(struct rh_set *set, int member)
{
    uint64_t broken_by, unbroken = 0;
    struct rh_remote remote = rh_at(set->ranks[member], set->sids[member],
                                    offsetof(struct set_front, broken_by));
    int result = set_pull(set, remote, &broken_by, sizeof(broken_by));
    if (result < 0 || !(broken_by & SET_MISMATCH))
        return 0; /* whoever went before we could ask has told us */
    remote.offset = offsetof(struct set_front, mismatch);
    set_pull(set, remote, &set->front->mismatch, sizeof(set->front->mismatch));
    __atomic_compare_exchange_n(&set->front->broken_by, &unbroken, broken_by, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); /* as set_check() */
    return set_check(set);
}

int set_look_up(struct rh_set *set, int member)
{
    struct set_name bucket[SET_BUCKET_NAMES];
    uint64_t offset = offsetof(struct set_directory, name) + set->id % SET_BUCKETS * sizeof(bucket);
    struct rh_remote remote = rh_at(set->ranks[member], MSG_SID_SETS, offset);
    int result = rh_pull(set->job, remote, bucket, sizeof(bucket));
    if (result == RH_ENOSEG || result == RH_ETIMEOUT || result == RH_ENOSPACE)
        return RH_EAGAIN;
    if (result == RH_ESTALE) /* its mailbox is closed; it may open it again until it leaves */
        return rh_peer_state(set->job, set->ranks[member]) >= RH_PEER_LEFT ? RH_EDEAD : RH_EAGAIN;
    if (result < 0)
        return result;
    for (int i = 0; i < SET_BUCKET_NAMES; i++) {
        if (bucket[i].key != set->id + 1 || bucket[i].hash != set->hash)
            continue;
        if (bucket[i].sid <= MSG_SID_SETS || bucket[i].sid >= MSG_SID_PULL)
            return RH_EAGAIN; /* read while it was written */
        set->sids[member] = (rh_sid)bucket[i].sid;
        /* relaxed: only to save us asking */
        return __atomic_load_n(&set->front->broken_by, __ATOMIC_RELAXED) != 0
                   ? 0
                   : ask_for_mismatch(set, member);
    }
    return RH_EAGAIN;
}

void set_describe(const struct rh_set *set, int peer, struct wait_note *note)
{
    bool is_barrier = set->call.kind <= SET_CALL_DESTROY;
    *note = (struct wait_note){.call = is_barrier ? WAIT_BARRIER : WAIT_COLLECTIVE,
                               .peer = peer,
                               .number = set->id,
                               .length = set->number};
}

/* A member that has not made the set. */
struct latecomer {
    const struct rh_set *set;
    int rank;
};

static void describe_latecomer(void *context, struct wait_note *note)
{
    const struct latecomer *latecomer = context;
    set_describe(latecomer->set, latecomer->rank, note);
}

static int await_member(struct rh_set *set, int member, int64_t deadline_ns,
                        struct stall_watch *stall)
{
    int rank = set->ranks[member];
    for (;;) {
        int result = set_look_up(set, member);
        if (result == RH_EDEAD)
            return set_break(set, rank);
        if (result != RH_EAGAIN)
            return result;
        result = set_check(set);
        if (result < 0)
            return result;
        int64_t now_ns = rh_clock_ns(set->job);
        if (now_ns >= deadline_ns)
            return error_set(RH_ETIMEOUT, rank, "rank %d has not made set %u", rank, set->id);
        struct rh_wait nap = {.word = &set->front->broken_by,
                              .when = RH_NOT_EQUAL,
                              .from = rank,
                              .timeout_ns = rest_between_ns(now_ns - stall->since_ns)};
        stall_watch_keep(stall, now_ns);
        result = rma_wait_word(set->job, &nap, stall);
        if (result == RH_EDEAD)
            return set_break(set, rank);
    }
}

static int look_up_slow(struct rh_set *set, int member, int64_t timeout_ns)
{
    struct latecomer latecomer = {.set = set, .rank = set->ranks[member]};
    struct stall_watch stall = {.job = rma_watch(set->job),
                                .since_ns = rh_clock_ns(set->job),
                                .describe = describe_latecomer,
                                .context = &latecomer};
    int64_t deadline_ns = rma_deadline_ns(set->job, timeout_ns);
    int result = await_member(set, member, deadline_ns, &stall);
    stall_watch_end(&stall);
    return result;
}

int set_remote(struct rh_set *set, int member, uint64_t offset, int64_t timeout_ns,
               struct rh_remote *remote)
{
    if (unlikely(member != set->me && set->sids[member] == 0)) {
        int result = look_up_slow(set, member, timeout_ns);
        if (result < 0)
            return result;
    }
    *remote = rh_at(set->ranks[member], member == set->me ? set->sid : set->sids[member], offset);
    return 0;
}

int set_pull(struct rh_set *set, struct rh_remote remote, void *target, size_t length)
{
    int result, tries = 0;
    do {
        result = rh_pull(set->job, remote, target, length);
    } while (set_try_again(result, &tries));
    return result;
}

/* ---- Members that are gone ------------------------------------------------------------------- */

int set_check(struct rh_set *set)
{
    /* acquire: pairs with the push in set_break() */
    uint64_t broken_by = __atomic_load_n(&set->front->broken_by, __ATOMIC_ACQUIRE);
    if (likely(broken_by == 0))
        return 0;
    if (broken_by & SET_MISMATCH)
        return set_mismatch_error(set, broken_by);
    int rank = (int)broken_by - 1;
    return error_set(RH_EDEAD, rank, "set %u: member rank %d is gone", set->id, rank);
}

int set_break(struct rh_set *set, int rank)
{
    int died = set_gone_find(set, false);
    if (died >= 0) /* who left because of a death may be noticed before it */
        rank = died;
    uint64_t word = (uint64_t)rank + 1;
    uint64_t offset = offsetof(struct set_front, broken_by);
    if (set_check(set) == 0) {
        __atomic_store_n(&set->front->broken_by, word, __ATOMIC_RELEASE);
        for (int i = 0; i < set->size; i++) {
            if (i == set->me || rh_peer_state(set->job, set->ranks[i]) >= RH_PEER_LEFT)
                continue;
            if (set->sids[i] != 0 || set_look_up(set, i) == 0)
                rh_push(set->job, rh_at(set->ranks[i], set->sids[i], offset), &word, sizeof(word));
        }
    }
    return set_check(set);
}

int set_gone_find(const struct rh_set *set, bool left)
{
    for (int i = 0; i < set->size; i++) {
        int state = rh_peer_state(set->job, set->ranks[i]);
        if (state == RH_PEER_DIED || (left && state == RH_PEER_LEFT))
            return set->ranks[i];
    }
    return -1;
}
