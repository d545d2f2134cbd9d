/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC `fault(INNER)`: passes every operation on to another NIC, except where RHINET_FAULT says
 * that something goes wrong. Without faults it is transparent. Grammar: fault_spec.h; which
 * operation is hit: fault_dice.h; reordering: fault_hold.h. The injections are counted
 * (COUNTER_FAULT), each delay as well.
 *
 * Two classes. Contract-keeping faults are what a program must survive:
 *   delay    the call sleeps first
 *   fail     the call returns the error and has no effect
 *   drop     nothing is written; the initiator gets RH_ETIMEOUT: by the done flag if there is one,
 *            else from the call
 *   reorder  inline pushes, pushes with a done flag and stores are held back and overtaken
 *   doubt    an atomic operation or append with a ticket happens, but the call says RH_ETIMEOUT;
 *            the answer comes when it is gone on with. A push that is waited for or has a done
 *            flag, where named (doubt=push%RATE), happens as well, and for that there is no answer
 *   kill     SIGKILL to the own process
 * Contract-breaking faults test the detectors of the layers above (checksums, sequence numbers):
 *   lose     nothing is written, and the call succeeds
 *   repeat   the operation happens twice
 *   corrupt  one bit of the data is flipped on its way
 *
 * Segments, views and receiving are never hit. Where stores can be hit, direct pointers to remote
 * memory are hidden from the layers above, so that no store can pass by.
 */
#include "nic/fault/fault.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/settings.h"
#include "nic/fault/fault_dice.h"
#include "nic/fault/fault_doubt.h"
#include "nic/fault/fault_hold.h"
#include "nic/handover.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A view of the inner NIC, kept because the one handed out hides its pointer. */
struct kept_view {
    struct nic_view view;
    struct kept_view *next;
};

struct fault {
    struct nic nic;
    struct nic *inner;
    bool is_active; /* there is something to inject */
    bool is_hiding; /* direct pointers */
    struct fault_dice dice;
    struct fault_hold hold;
    struct fault_doubts doubts;
    pthread_mutex_t views_lock;
    struct kept_view *views;
};

static struct fault *fault_of(struct nic *nic)
{
    return (struct fault *)nic;
}

/* ---- What all faults share ------------------------------------------------------------------- */

#define ALWAYS (FAULT_BIT(FAULT_DELAY) | FAULT_BIT(FAULT_FAIL) | FAULT_BIT(FAULT_KILL))

static void count(struct fault *fault)
{
    counter_add_exact(fault->nic.world->counters, COUNTER_FAULT);
}

static void sleep_ns(int64_t duration_ns)
{
    struct timespec left = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

static int dropped(enum fault_operation operation, int rank, const struct fault_plan *plan)
{
    return error_set(RH_ETIMEOUT, rank, "%s %llu to rank %d was dropped (RHINET_FAULT)",
                     fault_operation_name(operation), (unsigned long long)plan->number, rank);
}

/* Choose the fault for one operation and do those that come before it; a negative result is the
 * operation's. plan->effect is left for the caller: drop, reorder, lose, repeat or corrupt. */
static int strike(struct fault *fault, enum fault_operation operation, unsigned possible, int rank,
                  struct fault_plan *plan)
{
    *plan = fault_dice_roll(&fault->dice, operation, possible | ALWAYS);
    if (plan->delay_ns > 0) {
        count(fault);
        sleep_ns(plan->delay_ns);
    }
    if (plan->effect == FAULT_NONE)
        return 0;
    count(fault);
    if (plan->effect == FAULT_KILL)
        raise(SIGKILL);
    if (plan->effect == FAULT_FAIL)
        return error_set(plan->code, rank, "%s %llu failed with \"%s\" (RHINET_FAULT)",
                         fault_operation_name(operation), (unsigned long long)plan->number,
                         rh_error_name(plan->code));
    return 0;
}

static void done_set(struct rh_done *done, int64_t state)
{
    /* release: pairs with the acquire of whoever sees the flag and reuses the memory */
    __atomic_store_n(&done->state, state, __ATOMIC_RELEASE);
}

/* The answer of a transfer that did not go its usual way: by the done flag where there is one. */
static int answer(const struct nic_extra *extra, int result)
{
    if (!extra || !extra->done)
        return result;
    done_set(extra->done, result < 0 ? result : 1);
    return 0;
}

/* The same wishes, but wait; and what follows the source does not follow a copy of it. */
static struct nic_extra blocking(const struct nic_extra *extra)
{
    struct nic_extra copy = {0};
    if (extra)
        copy.notice = extra->notice;
    return copy;
}

static void flip_bit(void *data, size_t length, uint64_t random)
{
    uint64_t bit = random % ((uint64_t)length * 8);
    ((unsigned char *)data)[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

/* A damaged copy of data, the caller's to free; NULL if there is no memory for one. */
static void *damaged_copy(const void *data, size_t length, uint64_t random)
{
    void *copy = malloc(length);
    if (!copy) {
        error_set(RH_ENOSPACE, ERROR_NO_RANK, "fault NIC: no memory to corrupt %zu bytes", length);
        return NULL;
    }
    memcpy(copy, data, length);
    flip_bit(copy, length, random);
    return copy;
}

/* ---- Push ------------------------------------------------------------------------------------ */

/* Errors that are known at once must not wait until the push is let go. */
static int hold_push(struct fault *fault, struct fault_held *held)
{
    struct nic_view view;
    const struct nic_ops *ops = fault->inner->ops;
    int result = ops->view(fault->inner, held->target, held->length, RH_WRITE, &view);
    if (result == 0)
        ops->view_release(fault->inner, &view);
    if (result == 0 && held->has_notice) {
        result = ops->view(fault->inner, held->notice.word, sizeof(uint64_t), RH_WRITE, &view);
        if (result == 0)
            ops->view_release(fault->inner, &view);
    }
    if (result < 0)
        return result;
    return fault_hold_add(&fault->hold, held) ? 1 : 0;
}

static int push_corrupted(struct fault *fault, struct rh_remote target, const void *source,
                          size_t length, const struct nic_extra *extra, uint64_t random)
{
    void *copy = damaged_copy(source, length, random);
    if (!copy)
        return RH_ENOSPACE;
    struct nic_extra wait = blocking(extra);
    int result = fault->inner->ops->push(fault->inner, target, copy, length, &wait);
    free(copy);
    return result < 0 ? result : answer(extra, 0);
}

static unsigned push_faults(size_t length, const struct nic_extra *extra)
{
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_LOSE) | FAULT_BIT(FAULT_REPEAT);
    if (length > 0)
        possible |= FAULT_BIT(FAULT_CORRUPT);
    if (extra && (extra->done || extra->is_inline))
        possible |= FAULT_BIT(FAULT_REORDER);
    if (!extra || !extra->is_inline)
        possible |= FAULT_BIT(FAULT_DOUBT);
    return possible;
}

static int push_in_doubt(struct fault *fault, const struct fault_held *held,
                         const struct nic_extra *extra, uint64_t number)
{
    struct nic_extra wait = blocking(extra);
    int result = fault->inner->ops->push(fault->inner, held->target, held->source, held->length,
                                         &wait);
    if (result < 0)
        return result;
    return answer(extra, error_set(RH_ETIMEOUT, held->target.rank,
                                   "push %llu to rank %d happened, but its answer is held back "
                                   "(RHINET_FAULT)",
                                   (unsigned long long)number, held->target.rank));
}

static int push_after_strike(struct fault *fault, struct fault_held *held,
                             const struct nic_extra *extra, const struct fault_plan *plan)
{
    struct nic_extra wait = blocking(extra);
    const struct nic_ops *ops = fault->inner->ops;
    int result = 0;
    switch (plan->effect) {
    case FAULT_DROP:
        return answer(extra, dropped(FAULT_ON_PUSH, held->target.rank, plan));
    case FAULT_LOSE:
        return answer(extra, 0);
    case FAULT_CORRUPT:
        return push_corrupted(fault, held->target, held->source, held->length, extra, plan->random);
    case FAULT_DOUBT:
        return push_in_doubt(fault, held, extra, plan->number);
    case FAULT_REPEAT:
        result = ops->push(fault->inner, held->target, held->source, held->length, &wait);
        break;
    case FAULT_REORDER:
        result = hold_push(fault, held);
        break;
    default:
        break;
    }
    if (result != 0)
        return result < 0 ? result : 0;
    return ops->push(fault->inner, held->target, held->source, held->length, extra);
}

static int fault_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
                      const struct nic_extra *extra)
{
    nic_assert_push(nic, target, extra);
    struct fault *fault = fault_of(nic);
    if (!fault->is_active)
        return fault->inner->ops->push(fault->inner, target, source, length, extra);
    struct fault_plan plan;
    int result = strike(fault, FAULT_ON_PUSH, push_faults(length, extra), target.rank, &plan);
    if (result < 0)
        return result;
    struct fault_held held = {.target = target, .source = source, .length = length};
    if (extra)
        held.done = extra->done;
    if (extra && extra->notice) {
        held.has_notice = true;
        held.notice = *extra->notice;
    }
    result = push_after_strike(fault, &held, extra, &plan);
    if (!extra || (!extra->done && !extra->is_inline))
        fault_hold_release(&fault->hold); /* this push has overtaken the held ones */
    return result;
}

/* ---- Pull, store, atomic --------------------------------------------------------------------- */

static int fault_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
                      const struct nic_extra *extra)
{
    nic_assert_pull(nic, source, extra);
    struct fault *fault = fault_of(nic);
    const struct nic_ops *ops = fault->inner->ops;
    if (!fault->is_active)
        return ops->pull(fault->inner, source, target, length, extra);
    struct fault_plan plan;
    unsigned possible = FAULT_BIT(FAULT_DROP) | (length > 0 ? FAULT_BIT(FAULT_CORRUPT) : 0);
    int result = strike(fault, FAULT_ON_PULL, possible, source.rank, &plan);
    if (result < 0)
        return result;
    if (plan.effect == FAULT_DROP)
        return answer(extra, dropped(FAULT_ON_PULL, source.rank, &plan));
    if (plan.effect == FAULT_CORRUPT) {
        result = ops->pull(fault->inner, source, target, length, NULL);
        if (result < 0)
            return result;
        flip_bit(target, length, plan.random);
        return answer(extra, 0);
    }
    result = ops->pull(fault->inner, source, target, length, extra);
    if (!extra || !extra->done)
        fault_hold_release(&fault->hold);
    return result;
}

static bool view_equal(const struct nic_view *a, const struct nic_view *b)
{
    return a->remote.rank == b->remote.rank && a->remote.sid == b->remote.sid &&
           a->remote.offset == b->remote.offset && a->length == b->length &&
           a->pointer == b->pointer && a->handle == b->handle;
}

/* A view that would be another today is stale: then the store itself says so, at once. */
static int hold_store(struct fault *fault, struct fault_held *held)
{
    struct nic_view now;
    const struct nic_view *view = &held->view;
    int result = fault->inner->ops->view(fault->inner, view->remote, view->length, RH_WRITE, &now);
    if (result < 0)
        return result;
    fault->inner->ops->view_release(fault->inner, &now);
    if (!view_equal(view, &now))
        return 0;
    return fault_hold_add(&fault->hold, held) ? 1 : 0;
}

static int store_after_strike(struct fault *fault, struct fault_held *held,
                              const struct fault_plan *plan)
{
    const struct nic_ops *ops = fault->inner->ops;
    int result = 0;
    switch (plan->effect) {
    case FAULT_DROP:
        return dropped(FAULT_ON_STORE, held->target.rank, plan);
    case FAULT_LOSE:
        return 0;
    case FAULT_CORRUPT:
        flip_bit(&held->store_value, held->store_width, plan->random);
        break;
    case FAULT_REPEAT:
        result = ops->store(fault->inner, &held->view, held->store_offset, held->store_value,
                            held->store_width);
        break;
    case FAULT_REORDER:
        result = hold_store(fault, held);
        break;
    default:
        break;
    }
    if (result != 0)
        return result < 0 ? result : 0;
    return ops->store(fault->inner, &held->view, held->store_offset, held->store_value,
                      held->store_width);
}

static int fault_store(struct nic *nic, const struct nic_view *view, uint64_t offset,
                       uint64_t value, unsigned width)
{
    nic_assert_store(nic, view, offset, width);
    struct fault *fault = fault_of(nic);
    if (!fault->is_hiding)
        return fault->inner->ops->store(fault->inner, view, offset, value, width);
    const struct kept_view *kept = view->handle;
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_LOSE) | FAULT_BIT(FAULT_REPEAT) |
                        FAULT_BIT(FAULT_CORRUPT) | FAULT_BIT(FAULT_REORDER);
    struct fault_plan plan;
    int result = strike(fault, FAULT_ON_STORE, possible, view->remote.rank, &plan);
    if (result < 0)
        return result;
    struct fault_held held = {.target = view->remote, .view = kept->view};
    held.store_offset = offset;
    held.store_value = value;
    held.store_width = width;
    return store_after_strike(fault, &held, &plan);
}

static int fault_atomic(struct nic *nic, struct rh_remote target,
                        const struct nic_atomic_operands *operands, uint64_t *old)
{
    nic_assert_atomic(nic, target, operands, old);
    struct fault *fault = fault_of(nic);
    const struct nic_ops *ops = fault->inner->ops;
    if (!fault->is_active)
        return ops->atomic(fault->inner, target, operands, old);
    struct fault_plan plan;
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_REPEAT) |
                        (operands->ticket ? FAULT_BIT(FAULT_DOUBT) : 0);
    int result;
    if (fault_doubt_end(&fault->doubts, operands->ticket, &result, old))
        return result;
    if (operands->ticket && operands->ticket->is_open)
        return ops->atomic(fault->inner, target, operands, old);
    result = strike(fault, FAULT_ON_ATOMIC, possible, target.rank, &plan);
    if (result < 0)
        return result;
    if (plan.effect == FAULT_DROP)
        return dropped(FAULT_ON_ATOMIC, target.rank, &plan);
    result = ops->atomic(fault->inner, target, operands, old);
    if (result == 0 && plan.effect == FAULT_REPEAT) {
        uint64_t ignored;
        result = ops->atomic(fault->inner, target, operands, &ignored);
    }
    fault_hold_release(&fault->hold);
    if (plan.effect == FAULT_DOUBT)
        result = fault_doubt_begin(&fault->doubts, operands->ticket, target.rank, result, *old);
    return result;
}

/* ---- Append and receive ---------------------------------------------------------------------- */

/* An append of either sort. */
struct appended {
    struct rh_remote queue;
    const void *data;
    size_t length;
    int64_t timeout_ns;
    struct nic_ticket *ticket; /* NULL: without */
};

static int append_inside(struct fault *fault, const struct appended *append, const void *data)
{
    const struct nic_ops *ops = fault->inner->ops;
    if (append->ticket)
        return ops->append_try(fault->inner, append->queue, data, append->length, append->ticket);
    return ops->append(fault->inner, append->queue, data, append->length, append->timeout_ns);
}

static int append_corrupted(struct fault *fault, const struct appended *append, uint64_t random)
{
    void *copy = damaged_copy(append->data, append->length, random);
    if (!copy)
        return RH_ENOSPACE;
    int result = append_inside(fault, append, copy);
    free(copy);
    return result;
}

static int append_struck(struct fault *fault, const struct appended *append)
{
    struct fault_plan plan;
    int rank = append->queue.rank;
    unsigned possible = FAULT_BIT(FAULT_DROP) | FAULT_BIT(FAULT_LOSE) | FAULT_BIT(FAULT_REPEAT) |
                        (append->length > 0 ? FAULT_BIT(FAULT_CORRUPT) : 0) |
                        (append->ticket ? FAULT_BIT(FAULT_DOUBT) : 0);
    int result = strike(fault, FAULT_ON_APPEND, possible, rank, &plan);
    if (result < 0)
        return result;
    if (plan.effect == FAULT_DROP)
        return dropped(FAULT_ON_APPEND, rank, &plan);
    if (plan.effect == FAULT_LOSE)
        return 0;
    fault_hold_release(&fault->hold); /* first: the append may wait, for what these would cause */
    if (plan.effect == FAULT_CORRUPT)
        return append_corrupted(fault, append, plan.random);
    result = append_inside(fault, append, append->data);
    if (result == 0 && plan.effect == FAULT_REPEAT)
        result = append_inside(fault, append, append->data);
    if (plan.effect == FAULT_DOUBT)
        result = fault_doubt_begin(&fault->doubts, append->ticket, rank, result, 0);
    return result;
}

static int fault_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                        int64_t timeout_ns)
{
    nic_assert_append(nic, queue, timeout_ns);
    struct fault *fault = fault_of(nic);
    struct appended append = {
        .queue = queue, .data = data, .length = length, .timeout_ns = timeout_ns};
    return fault->is_active ? append_struck(fault, &append) : append_inside(fault, &append, data);
}

static int fault_append_try(struct nic *nic, struct rh_remote queue, const void *data,
                            size_t length, struct nic_ticket *ticket)
{
    nic_assert_append(nic, queue, 0);
    ASSERT(ticket);
    struct fault *fault = fault_of(nic);
    struct appended append = {.queue = queue, .data = data, .length = length, .ticket = ticket};
    int result;
    if (fault_doubt_end(&fault->doubts, ticket, &result, NULL))
        return result;
    return fault->is_active && !ticket->is_open ? append_struck(fault, &append)
                                                : append_inside(fault, &append, data);
}

static int fault_queue_peek(struct nic *nic, void *queue, struct rh_arrival *arrival)
{
    struct fault *fault = fault_of(nic);
    fault_hold_release(&fault->hold);
    return fault->inner->ops->queue_peek(fault->inner, queue, arrival);
}

static void fault_queue_release(struct nic *nic, void *queue)
{
    struct fault *fault = fault_of(nic);
    fault->inner->ops->queue_release(fault->inner, queue);
}

/* ---- Order and waiting ----------------------------------------------------------------------- */

static int fault_flush(struct nic *nic, int rank)
{
    nic_assert_any_rank(nic, rank);
    struct fault *fault = fault_of(nic);
    if (!fault->is_active)
        return fault->inner->ops->flush(fault->inner, rank);
    struct fault_plan plan;
    int result = strike(fault, FAULT_ON_FLUSH, 0, rank, &plan);
    if (result < 0)
        return result;
    fault_hold_release(&fault->hold);
    result = fault->inner->ops->flush(fault->inner, rank);
    int late = fault_hold_late_error(&fault->hold, rank);
    return result < 0 ? result : late;
}

static int fault_wait(struct nic *nic, const struct nic_wait *wait)
{
    nic_assert_wait(nic, wait);
    struct fault *fault = fault_of(nic);
    if (!fault->is_active)
        return fault->inner->ops->wait(fault->inner, wait);
    struct fault_plan plan;
    int result = strike(fault, FAULT_ON_WAIT, 0, wait->from, &plan);
    if (result < 0)
        return result;
    fault_hold_wait_begin(&fault->hold);
    result = fault->inner->ops->wait(fault->inner, wait);
    fault_hold_wait_end(&fault->hold);
    return result;
}

static void fault_withdraw(struct nic *nic, struct rh_done *done)
{
    struct fault *fault = fault_of(nic);
    fault_hold_release(&fault->hold); /* what is held ends with that */
    fault->inner->ops->withdraw(fault->inner, done);
}

static int64_t fault_now_ns(struct nic *nic)
{
    struct fault *fault = fault_of(nic);
    return nic_now_ns(fault->inner);
}

static int fault_wake(struct nic *nic, int rank)
{
    struct fault *fault = fault_of(nic);
    return fault->inner->ops->wake(fault->inner, rank);
}

/* ---- Segments and views ---------------------------------------------------------------------- */

static int fault_segment_add(struct nic *nic, struct nic_segment *segment)
{
    nic_assert_segment(segment);
    struct fault *fault = fault_of(nic);
    return fault->inner->ops->segment_add(fault->inner, segment);
}

static int fault_segment_remove(struct nic *nic, rh_sid sid, int64_t timeout_ns)
{
    struct fault *fault = fault_of(nic);
    fault_hold_release(&fault->hold); /* a held push may come from the segment's memory */
    return fault->inner->ops->segment_remove(fault->inner, sid, timeout_ns);
}

static struct kept_view *keep_view(struct fault *fault, const struct nic_view *view)
{
    struct kept_view *kept = malloc(sizeof(*kept));
    if (!kept)
        return NULL;
    kept->view = *view;
    pthread_mutex_lock(&fault->views_lock);
    kept->next = fault->views;
    fault->views = kept;
    pthread_mutex_unlock(&fault->views_lock);
    return kept;
}

static void let_go_of_view(struct fault *fault, struct kept_view *kept)
{
    pthread_mutex_lock(&fault->views_lock);
    struct kept_view **link = &fault->views;
    while (*link != kept)
        link = &(*link)->next;
    *link = kept->next;
    pthread_mutex_unlock(&fault->views_lock);
    fault_hold_release(&fault->hold); /* a held store may use it */
    fault->inner->ops->view_release(fault->inner, &kept->view);
    free(kept);
}

/* What is handed out instead of a view: without a pointer, and good for stores only. */
static int hide_view(struct fault *fault, unsigned rights, struct nic_view *view)
{
    struct kept_view *kept = NULL;
    if (rights & RH_WRITE)
        kept = keep_view(fault, view);
    if (!kept && rights != 0)
        fault->inner->ops->view_release(fault->inner, view);
    if (!kept && rights & RH_WRITE)
        return error_set(RH_ENOSPACE, view->remote.rank, "fault NIC: no memory for a view");
    view->pointer = NULL;
    view->handle = kept;
    return 0;
}

static int fault_view(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
                      struct nic_view *view)
{
    nic_assert_rank(nic, remote.rank);
    struct fault *fault = fault_of(nic);
    struct nic_view seen;
    int result = fault->inner->ops->view(fault->inner, remote, length, rights, &seen);
    if (result < 0)
        return result;
    if (fault->is_hiding)
        result = hide_view(fault, rights, &seen);
    if (result < 0)
        return result;
    *view = seen;
    return 0;
}

static void fault_view_release(struct nic *nic, const struct nic_view *view)
{
    struct fault *fault = fault_of(nic);
    if (!fault->is_hiding)
        fault->inner->ops->view_release(fault->inner, view);
    else if (view->handle)
        let_go_of_view(fault, view->handle);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static bool hits_stores(const struct fault_dice *dice)
{
    for (size_t i = 0; i < dice->spec.item_count; i++) {
        if (dice->spec.item[i].operations & FAULT_BIT(FAULT_ON_STORE))
            return true;
    }
    return false;
}

static int fault_open(struct nic **nic, struct nic_world *world, const char *inner)
{
    struct fault_spec spec;
    if (!inner)
        return error_set(RH_EINVALID, ERROR_NO_RANK,
                         "NIC fault wraps another one: name it, as fault(shm)");
    int result = fault_spec_parse(setting_text(world->settings, SETTING_FAULT), &spec);
    if (result < 0)
        return result;
    struct fault *fault = calloc(1, sizeof(*fault));
    if (!fault)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "fault NIC: no memory");
    result = nic_open(&fault->inner, inner, world);
    if (result < 0) {
        free(fault);
        return result;
    }
    fault->nic.ops = &fault_ops;
    fault->nic.world = world;
    fault->nic.attached_is_slow = fault->inner->attached_is_slow;
    fault->nic.is_crowded = fault->inner->is_crowded;
    fault_dice_init(&fault->dice, &spec, world->rank);
    fault_hold_init(&fault->hold, fault->inner, fault_mix(spec.seed + (uint64_t)world->rank));
    fault_doubts_init(&fault->doubts);
    pthread_mutex_init(&fault->views_lock, NULL);
    fault->is_active = fault->dice.spec.item_count > 0;
    fault->is_hiding = hits_stores(&fault->dice);
    *nic = &fault->nic;
    return 0;
}

static void fault_close(struct nic *nic)
{
    struct fault *fault = fault_of(nic);
    fault_hold_destroy(&fault->hold);
    fault->inner->ops->close(fault->inner);
    while (fault->views) {
        struct kept_view *next = fault->views->next;
        free(fault->views);
        fault->views = next;
    }
    pthread_mutex_destroy(&fault->views_lock);
    fault_doubts_destroy(&fault->doubts);
    free(fault);
}

const struct nic_ops fault_ops = {
    .name = "fault",
    .help = "wraps another NIC, as fault(shm), and injects the faults of RHINET_FAULT",
    .open = fault_open,
    .close = fault_close,
    .segment_add = fault_segment_add,
    .segment_remove = fault_segment_remove,
    .view = fault_view,
    .view_release = fault_view_release,
    .push = fault_push,
    .pull = fault_pull,
    .store = fault_store,
    .atomic = fault_atomic,
    .append = fault_append,
    .append_try = fault_append_try,
    .queue_peek = fault_queue_peek,
    .queue_release = fault_queue_release,
    .flush = fault_flush,
    .wait = fault_wait,
    .withdraw = fault_withdraw,
    .wake = fault_wake,
    .now_ns = fault_now_ns,
};
