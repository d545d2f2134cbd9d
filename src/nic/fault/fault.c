/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC `fault(INNER)`: passes every operation on to another NIC, except where RHINET_FAULT says
 * that something goes wrong. Without faults it is transparent. Grammar: fault_spec.h; which
 * operation is hit: fault_dice.h; reordering: fault_hold.h; files: fault_nic.h. The injections are
 * counted (COUNTER_FAULT), each delay as well.
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
#include "base/error.h"
#include "base/settings.h"
#include "nic/fault/fault_nic.h"
#include "nic/handover.h"

#include <stdlib.h>

/* ---- Order and waiting ----------------------------------------------------------------------- */

static int fault_flush(struct nic *nic, int rank)
{
    nic_assert_any_rank(nic, rank);
    struct fault *fault = fault_of(nic);
    if (!fault->is_active)
        return fault->inner->ops->flush(fault->inner, rank);
    struct fault_plan plan;
    int result = fault_strike(fault, FAULT_ON_FLUSH, 0, rank, &plan);
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
    int result = fault_strike(fault, FAULT_ON_WAIT, 0, wait->from, &plan);
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

static void fault_copied(struct nic *nic, uint64_t length)
{
    struct fault *fault = fault_of(nic);
    fault->inner->ops->copied(fault->inner, length);
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
    view->sleeper = NULL;
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

static int fault_open(struct nic **nic, struct nic_job *job, const char *inner)
{
    struct fault_spec spec;
    if (!inner)
        return error_fail(RH_EINVALID, "NIC fault wraps another one: name it, as fault(shm)");
    int result = fault_spec_parse(setting_text(job->settings, SETTING_FAULT), &spec);
    if (result < 0)
        return result;
    struct fault *fault = calloc(1, sizeof(*fault));
    if (!fault)
        return error_fail(RH_ENOSPACE, "fault NIC: no memory");
    result = nic_open(&fault->inner, inner, job);
    if (result < 0) {
        free(fault);
        return result;
    }
    fault->nic.ops = &fault_ops;
    fault->nic.job = job;
    fault->nic.attached_is_slow = fault->inner->attached_is_slow;
    fault->nic.is_crowded = fault->inner->is_crowded;
    fault_dice_init(&fault->dice, &spec, job->rank);
    fault_hold_init(&fault->hold, fault->inner, fault_mix(spec.seed + (uint64_t)job->rank));
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
    .copied = fault_copied,
    .now_ns = fault_now_ns,
};
