/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange, and the barrier that it is made for. set.h tells how; the model is
 * tests/model/barrier.pml.
 *
 * Whoever is told last is the center (in a tree: a parent after its children), so that a member
 * that has left the job cannot be missed by one that still waits for its release.
 *
 * Longer than most files: the ways share the steps of waiting and telling, which are few
 * instructions each and stand beside them, so that the compiler puts them in.
 */
#include "base/clock.h"
#include "msg/set/set.h"
#include "rma/inside.h"

#include <string.h>

#define SLICE_NS   (10 * NS_PER_MS)
#define PUSH_TRIES 8

struct passage {
    struct rh_set *set;
    const struct set_exchange *exchange;
    size_t stride; /* between gifts */
    int64_t timeout_ns;
    int64_t deadline_ns; /* asked for when a slice was in vain; 0: not yet */
};

static bool has_result(const struct passage *passage)
{
    return passage->exchange->result_length > 0;
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/* Whether all have arrived, and called the same, for a member that has found another one gone. */
static int is_complete(struct passage *passage, bool *complete, bool *same)
{
    struct rh_set *set = passage->set;
    struct rh_remote remote;
    uint64_t counter;
    int result = set_remote(set, set->center, offsetof(struct set_front, counter),
                            passage->timeout_ns, &remote);
    if (result == 0)
        result = set_pull(set, remote, &counter, sizeof(counter));
    if (result < 0)
        return result;
    int32_t more = (int32_t)((uint32_t)counter - (uint32_t)set->expected);
    *complete = more >= 0;
    *same = more > 0 || counter == set->expected; /* who has gone on was released from this one */
    return 0;
}

/* A slice of waiting for `from` was in vain. 0: wait on; 1: all have entered, and whoever should
 * have told us is dead. */
static int look_around(struct passage *passage, int from, int result)
{
    struct rh_set *set = passage->set;
    bool is_counter = set->way == SET_COUNTER, complete = false, same = false;
    int broken = set_check(set);
    if (broken < 0)
        return broken;
    if (result == RH_EDEAD)
        return set_break(set, from);
    if (passage->deadline_ns == 0) {
        int64_t left = passage->timeout_ns < SLICE_NS ? 0 : passage->timeout_ns - SLICE_NS;
        passage->deadline_ns = rma_deadline_ns(set->job, left);
    }
    /* In a tree one who has left was released; whether we are is its children's and parent's care.
     * */
    int gone = set_gone_find(set, is_counter);
    if (gone >= 0 && is_counter && is_complete(passage, &complete, &same) == 0 && complete) {
        if (set_gone_find(set, false) < 0)
            gone = -1; /* our release is on its way */
        else if (!same)
            return set_differ(set, -1);
        else if (!has_result(passage))
            return 1;
    }
    if (gone >= 0)
        return set_break(set, gone);
    if (rh_clock_ns(set->job) < passage->deadline_ns)
        return 0;
    return set_late_error(set, from, passage->timeout_ns);
}

static void describe(void *context, struct wait_note *note)
{
    const struct passage *passage = context;
    set_describe(passage->set, -1, note);
}

/* The first slice was in vain: it may take long. */
static int await_longer(struct passage *passage, struct rh_wait *wait, int result)
{
    struct rh_set *set = passage->set;
    struct stall_watch stall = {.job = rma_watch(set->job),
                                .since_ns = rh_clock_ns(set->job) - wait->timeout_ns,
                                .describe = describe,
                                .context = passage};
    while (result < 0) {
        result = look_around(passage, wait->from, result);
        if (result != 0)
            break;
        int64_t now = rh_clock_ns(set->job);
        wait->timeout_ns = deadline_slice_ns(passage->deadline_ns, now, SLICE_NS);
        stall_watch_keep(&stall, now);
        result = mail_wait_word(set->hub->msg, wait, &stall);
    }
    stall_watch_end(&stall);
    if (result == 1) /* or a release that is late passes for that of the next exchange */
        __atomic_store_n(&set->front->release.word, set->words[0], __ATOMIC_RELAXED);
    return result < 0 ? result : 0;
}

/* Wait until a member changes a word of ours from what it was before to that of this exchange. */
static int await_word(struct passage *passage, const uint64_t *word, uint64_t before, int member)
{
    struct rh_set *set = passage->set;
    struct rh_wait wait = {.word = word,
                           .when = RH_NOT_EQUAL,
                           .value = before,
                           .from = set->ranks[member],
                           .timeout_ns = passage->timeout_ns < SLICE_NS ? passage->timeout_ns
                                                                        : SLICE_NS};
    int result = rh_wait_word(set->job, &wait);
    if (unlikely(result < 0))
        result = await_longer(passage, &wait, result);
    /* relaxed: the wait has seen it */
    if (likely(result < 0 || __atomic_load_n(word, __ATOMIC_RELAXED) == set->words[0]))
        return result;
    return set_differ(set, member);
}

/* ---- Telling -------------------------------------------------------------------------------- */

/* Write the word of this exchange, and data before it if there is any. */
struct tidings {
    int member;
    uint64_t word_offset;
    uint64_t data_offset;
    const void *data;
    size_t length;
};

static int tell_once(struct rh_set *set, struct rh_remote word, const struct tidings *tidings)
{
    if (tidings->length == 0)
        return rh_push_inline(set->job, word, &set->words[0], sizeof(set->words[0]));
    struct rh_remote target = word;
    target.offset = tidings->data_offset;
    struct rh_notice notice = {.word = word, .value = set->words[0]};
    return rh_push_notify(set->job, target, tidings->data, tidings->length, &notice);
}

static int tell(struct passage *passage, const struct tidings *tidings)
{
    struct rh_set *set = passage->set;
    struct rh_remote word;
    int result = set_remote(set, tidings->member, tidings->word_offset, passage->timeout_ns, &word);
    if (unlikely(result < 0))
        return result;
    result = tell_once(set, word, tidings);
    for (int i = 0; unlikely(result < 0) && !set_is_gone_code(result) && i < PUSH_TRIES; i++)
        result = tell_once(set, word, tidings);
    return result;
}

/* Release a member. One that died meanwhile had entered all the same: that is found next time. */
static int release(struct passage *passage, int member, const char *result)
{
    struct tidings tidings = {.member = member,
                              .word_offset = offsetof(struct set_front, release.word),
                              .data_offset = offsetof(struct set_front, release.result),
                              .data = result,
                              .length = passage->exchange->result_length};
    int code = tell(passage, &tidings);
    return set_is_gone_code(code) ? 0 : code;
}

/* Bring our gift to the center; it is there when this returns. */
static int bring_gift(struct passage *passage)
{
    struct rh_set *set = passage->set;
    const struct set_exchange *exchange = passage->exchange;
    struct rh_remote remote;
    if (!exchange->gift || exchange->gift_length == 0)
        return 0;
    uint64_t offset = set->gifts_offset + (uint64_t)set->me * passage->stride;
    int result = set_remote(set, set->center, offset, passage->timeout_ns, &remote), tries = 0;
    if (result < 0)
        return result;
    do {
        result = rh_push(set->job, remote, exchange->gift, exchange->gift_length);
    } while (set_try_again(result, &tries));
    return result;
}

/* A call on a peer failed: if that is because it is gone, the set is broken. */
static int judge(struct rh_set *set, int member, int result)
{
    if (!set_is_gone_code(result))
        return result;
    int broken = set_check(set);
    return broken < 0 ? broken : set_break(set, set->ranks[member]);
}

/* ---- The ways ------------------------------------------------------------------------------- */

static void keep_result(const struct passage *passage, const char *result)
{
    const struct set_exchange *exchange = passage->exchange;
    if (exchange->result && exchange->result_length > 0)
        memcpy(exchange->result, result, exchange->result_length);
}

static int pass_pair(struct passage *passage)
{
    struct rh_set *set = passage->set;
    const struct set_exchange *exchange = passage->exchange;
    int other = 1 - set->me;
    ASSERT(set->size == 2);
    ASSERT(exchange->gift_length <= SET_GIFT_MAX);
    ASSERT(exchange->result_length <= SET_RESULT_MAX);
    size_t turn = set->number % 2;
    struct set_slot *slot = &set->front->pair[turn];
    uint64_t slot_offset = offsetof(struct set_front, pair) + turn * sizeof(*slot);
    struct tidings tidings = {.member = other,
                              .word_offset = slot_offset + offsetof(struct set_slot, word),
                              .data_offset = slot_offset + offsetof(struct set_slot, gift),
                              .data = exchange->gift,
                              .length = exchange->gift ? exchange->gift_length : 0};
    int result = set->has_arrived ? 0 : tell(passage, &tidings);
    if (unlikely(result < 0))
        return judge(set, other, result);
    set->has_arrived = true;
    result = await_word(passage, &slot->word, set->words[2], other);
    if (result < 0 || !has_result(passage))
        return result;
    char made[SET_RESULT_MAX];
    if (exchange->gift)
        memcpy(set->gifts + (size_t)set->me * passage->stride, exchange->gift,
               exchange->gift_length);
    memcpy(set->gifts + (size_t)other * passage->stride, slot->gift, exchange->gift_length);
    exchange->make(exchange, set->gifts, passage->stride, 2, made);
    keep_result(passage, made);
    return 0;
}

/* All have arrived, so the exchange is over for us as soon as they can go on. Who is gone by now,
 * as one that leaves the job behind its last barrier, needs nothing more; the next call says so. */
static void flush_releases(struct rh_set *set)
{
    if (likely(rh_flush(set->job, RH_ANY_RANK) == 0))
        return;
    for (int i = 0; i < set->size; i++) {
        if (i != set->me)
            (void)rh_flush(set->job, set->ranks[i]);
    }
}

/* The last one to arrive makes the result and tells all others, the center last. */
static int release_all(struct passage *passage)
{
    struct rh_set *set = passage->set;
    const struct set_exchange *exchange = passage->exchange;
    char made[SET_RESULT_MAX];
    int result = 0;
    if (has_result(passage)) {
        struct rh_remote gifts;
        result = set_remote(set, set->center, set->gifts_offset, passage->timeout_ns, &gifts);
        if (result == 0)
            result = set_pull(set, gifts, set->gifts, passage->stride * (size_t)set->size);
        if (result < 0)
            return judge(set, set->center, result);
        exchange->make(exchange, set->gifts, passage->stride, set->size, made);
        keep_result(passage, made);
    }
    for (int i = 0; i < set->size && result == 0; i++) {
        if (i != set->me && i != set->center)
            result = release(passage, i, made);
    }
    if (set->me != set->center && result == 0)
        result = release(passage, set->center, made);
    if (result < 0)
        return result; /* the next call begins again: nobody is in the next exchange before us */
    set->is_releasing = false;
    __atomic_store_n(&set->front->release.word, set->words[0], __ATOMIC_RELAXED); /* by ourselves */
    flush_releases(set);
    return 0;
}

/* Add to the counter, once: an addition that may have happened is gone on with, by another look
 * here or by the next call. */
static int add_arrival(struct rh_set *set, struct rh_remote counter, uint64_t arrival,
                       uint64_t *before)
{
    struct nic_atomic_operands one_more = {
        .operation = NIC_FETCH_ADD, .operand = arrival, .ticket = &set->arrival};
    int tries = 0, result;
    set->arrival.deadline_ns = 0;
    do {
        result = rma_atomic(set->job, counter, &one_more, before);
    } while (set_try_again(result, &tries));
    if (likely(result != RH_ETIMEOUT || !set->arrival.is_open))
        return result;
    set->arrival.deadline_ns = rh_clock_ns(set->job); /* without waiting */
    return rma_atomic(set->job, counter, &one_more, before);
}

/* Count ourselves in: 1 if we are the last, 0 if not. */
static int count_in(struct passage *passage)
{
    struct rh_set *set = passage->set;
    struct rh_remote counter;
    uint64_t before = 0, arrival = 1 | (uint64_t)set->call_digest << 32;
    int result = bring_gift(passage);
    if (result == 0)
        result = set_remote(set, set->center, offsetof(struct set_front, counter),
                            passage->timeout_ns, &counter);
    if (result == 0)
        result = add_arrival(set, counter, arrival, &before);
    if (unlikely(result < 0))
        return judge(set, set->center, result);
    set->has_arrived = true;
    if ((uint32_t)(before + arrival) != (uint32_t)set->expected)
        return 0;
    return likely(before + arrival == set->expected) ? 1 : set_differ(set, -1);
}

static int pass_counter(struct passage *passage)
{
    struct rh_set *set = passage->set;
    int result = set->has_arrived ? 0 : count_in(passage);
    if (result < 0)
        return result;
    set->is_releasing |= result == 1;
    if (set->is_releasing)
        return release_all(passage);
    result = await_word(passage, &set->front->release.word, set->words[1], set->center);
    if (result == 0)
        keep_result(passage, set->front->release.result);
    return result;
}

static int await_children(struct passage *passage)
{
    struct rh_set *set = passage->set;
    struct set_seat *seats = (void *)(set->base + set->seats_offset);
    for (int i = 0; i < set->child_count; i++) {
        int child = set->children[i];
        int result = await_word(passage, &seats[child].word, set->words[1], child);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Tell the parent that we and all below us are there, and wait for its word. */
static int report(struct passage *passage)
{
    struct rh_set *set = passage->set;
    int parent = set->parents[set->me];
    struct tidings tidings = {.member = parent,
                              .word_offset = set->seats_offset +
                                             (uint64_t)set->me * sizeof(struct set_seat) +
                                             offsetof(struct set_seat, word)};
    int result = set->has_arrived ? 0 : bring_gift(passage);
    if (result < 0)
        return judge(set, set->center, result);
    if (!set->has_arrived)
        result = tell(passage, &tidings);
    if (result < 0)
        return judge(set, parent, result);
    set->has_arrived = true;
    return await_word(passage, &set->front->release.word, set->words[1], parent);
}

/* All have arrived, as far as this member is told. */
static int climb_tree(struct passage *passage)
{
    struct rh_set *set = passage->set;
    const struct set_exchange *exchange = passage->exchange;
    int result = await_children(passage);
    if (result < 0)
        return result;
    if (set->me != set->center)
        return report(passage);
    if (!has_result(passage))
        return 0;
    result = bring_gift(passage);
    if (result == 0)
        exchange->make(exchange, set->base + set->gifts_offset, passage->stride, set->size,
                       set->front->release.result);
    return result;
}

static int pass_tree(struct passage *passage)
{
    struct rh_set *set = passage->set;
    const char *made = set->front->release.result;
    /* Children that were released before a time-out may be in the next exchange. */
    int result = set->is_releasing ? 0 : climb_tree(passage);
    set->is_releasing = result == 0;
    for (int i = 0; i < set->child_count && result == 0; i++)
        result = release(passage, set->children[i], made);
    if (result < 0)
        return result;
    set->is_releasing = false;
    if (set->child_count > 0)
        rh_flush(set->job, RH_ANY_RANK);
    keep_result(passage, made);
    return 0;
}

static int pass_alone(struct passage *passage)
{
    char made[SET_RESULT_MAX];
    if (!has_result(passage))
        return 0;
    passage->exchange->make(passage->exchange, passage->exchange->gift, passage->stride, 1, made);
    keep_result(passage, made);
    return 0;
}

/* ---- The exchange --------------------------------------------------------------------------- */

static void enter(struct rh_set *set)
{
    ASSERT(!set->has_entered);
    set->number++;
    set->has_entered = true;
    set->has_arrived = false;
    set->is_releasing = false;
    set->words[2] = set->words[1];
    set->words[1] = set->words[0];
    set->words[0] = set->number << 32 | set->call_digest;
    set->expected += (uint64_t)set->size * (1 | (uint64_t)set->call_digest << 32);
    set->front->call = set->call;
    board_group_enter(set->board, set->number);
}

int set_exchange(struct rh_set *set, const struct set_exchange *exchange, int64_t timeout_ns)
{
    struct passage passage = {.set = set,
                              .exchange = exchange,
                              .stride = (exchange->gift_length + 7) & ~(size_t)7,
                              .timeout_ns = rma_timeout_ns(set->job, timeout_ns)};
    int result = set_check(set);
    if (unlikely(result < 0))
        return result;
    if (!set->has_entered)
        enter(set);
    switch (set->way) {
    case SET_PAIR:
        result = pass_pair(&passage);
        break;
    case SET_COUNTER:
        result = pass_counter(&passage);
        break;
    case SET_TREE:
        result = pass_tree(&passage);
        break;
    case SET_ALONE:
        result = pass_alone(&passage);
        break;
    }
    if (likely(result == 0))
        set->has_entered = false;
    return result;
}

int set_enter(struct rh_set *set)
{
    if (likely(!set->is_out_of_step && !set->has_entered))
        return set_check(set);
    int result = set_check(set);
    return result < 0
               ? result
               : error_fail(
                     RH_EINVALID,
                     "set %u: an earlier call ended in the middle, so that its members are not in "
                     "step any more; destroy it",
                     set->id);
}

int set_sync(struct rh_set *set)
{
    static const struct set_exchange nothing;
    int result = set_exchange(set, &nothing, RH_TIMEOUT_DEFAULT);
    if (unlikely(result < 0))
        set->is_out_of_step = true;
    return result;
}

/* After RH_ETIMEOUT the next call waits on for the same barrier. */
int rh_barrier(struct rh_set *set, int64_t timeout_ns)
{
    static const struct set_exchange nothing;
    static const struct set_call call = {.kind = SET_CALL_BARRIER};
    if (unlikely(set->is_out_of_step))
        return set_enter(set);
    if (likely(!set->has_entered) && set->call.kind != SET_CALL_BARRIER)
        set_call_begin(set, &call);
    return set_exchange(set, &nothing, timeout_ns);
}
