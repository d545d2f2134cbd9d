/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Push and store towards ranks that are not near. Words, and what comes with a notice and is short,
 * go by message; the rest by RMA.
 */
#include "base/error.h"
#include "nic/handover.h"
#include "nic/ofi/ofi_nic.h"

#include <string.h>

/* ---- Messages that write -------------------------------------------------------------------- */

/* A notice whose place has been checked. */
struct notice {
    bool is_there;
    struct ofi_far_place place;
    uint64_t value;
};

static size_t put_build(struct ofi_message *message, const struct ofi_view *view, uint64_t offset,
                        const struct notice *notice, const void *data, size_t length)
{
    struct ofi_head *head = &message->head;
    unsigned char *at = message->body;
    *head = ofi_head(OFI_PUT, view->sid, offset);
    head->generation = view->info.generation;
    head->length = (uint16_t)length;
    if (notice->is_there) {
        int64_t delta = (int64_t)(notice->place.offset - offset);
        bool is_far = notice->place.sid != view->sid || delta != (int32_t)delta;
        head->flags = OFI_HAS_NOTICE | (is_far ? OFI_FAR_NOTICE : 0);
        head->notice_delta = (int32_t)delta;
        if (is_far) {
            memcpy(at, &notice->place, sizeof(notice->place));
            at += sizeof(notice->place);
        }
        memcpy(at, &notice->value, sizeof(notice->value));
        at += sizeof(notice->value);
    }
    if (length > 0)
        memcpy(at, data, length);
    return (size_t)(at - (unsigned char *)message) + length;
}

static size_t notice_build(struct ofi_message *message, const struct ofi_far_place *place,
                           const uint64_t *value)
{
    message->head = ofi_head(OFI_PUT, place->sid, place->offset);
    message->head.generation = place->generation;
    message->head.length = sizeof(*value);
    memcpy(message->body, value, sizeof(*value));
    return sizeof(message->head) + sizeof(*value);
}

void ofi_late_notice_send(struct ofi_nic *ofi, struct ofi_task *task)
{
    struct ofi_message message;
    size_t length = notice_build(&message, &task->late_place, &task->late_value);
    task->has_late_notice = false;
    if (ofi_call_add(ofi, task, task->rank, &message))
        ofi_send_soon(ofi, task->rank, &message, length);
    else
        task->result = RH_EAGAIN;
}

void ofi_notice_send_behind(struct ofi_nic *ofi, struct ofi_task *task)
{
    struct ofi_message message;
    size_t length = notice_build(&message, &task->late_place, &task->late_value);
    if (!ofi_call_add(ofi, task, task->rank, &message))
        return;
    if (ofi_send(ofi, task->rank, &message, length) < 0)
        ofi_call_cancel(ofi, message.head.request);
    else
        task->has_late_notice = false;
}

/* ---- Push ----------------------------------------------------------------------------------- */

struct push {
    struct rh_remote target;
    const void *source;
    size_t length;
    struct rh_done *done;
    bool is_inline;
    struct notice notice;
};

/* Without waiting for anything but room in the network. Under the lock. */
static int put_without_reply(struct ofi_nic *ofi, struct ofi_view *view, const struct push *push)
{
    struct ofi_message message;
    size_t length = put_build(&message, view, push->target.offset, &push->notice, push->source,
                              push->length);
    int result = ofi_send(ofi, view->rank, &message, length);
    if (result == 0) {
        ofi->peers[view->rank].has_unflushed = true;
        ofi->peers[view->rank].oneway_count++;
    }
    return result;
}

/* Under the lock. */
static int put_with_reply(struct ofi_nic *ofi, struct ofi_view *view, const struct push *push,
                          struct ofi_task *task)
{
    struct ofi_message message;
    size_t length = put_build(&message, view, push->target.offset, &push->notice, push->source,
                              push->length);
    ofi_task_is_about(task, &message.head);
    if (!ofi_call_add(ofi, task, view->rank, &message))
        return RH_EAGAIN;
    int result = ofi_send(ofi, view->rank, &message, length);
    if (result < 0)
        ofi_call_cancel(ofi, message.head.request);
    return result;
}

/* Under the lock. */
static void write_memory(struct ofi_nic *ofi, struct ofi_view *view, const struct push *push,
                         struct ofi_task *task)
{
    bool follows = push->notice.is_there && ofi->keeps_write_before_send;
    struct ofi_move move = {.view = view,
                            .offset = push->target.offset,
                            .local = (char *)(uintptr_t)push->source,
                            .length = push->length,
                            .is_push = true,
                            .needs_delivery = !follows};
    task->has_late_notice = push->notice.is_there;
    task->late_place = push->notice.place;
    task->late_value = push->notice.value;
    ofi_move_start(ofi, task, &move);
}

/* A word must arrive whole. RMA over a stream may be cut anywhere, unless it is all that is under
 * way to the peer: then it is one packet. A message is put into memory by the peer's processor. */
static bool is_word_at_risk(const struct ofi_nic *ofi, const struct push *push)
{
    const struct ofi_peer *peer = &ofi->peers[push->target.rank];
    bool is_word = push->length == 8 && push->target.offset % 8 == 0;
    return is_word && ofi->is_stream && (peer->busy > 1 || peer->has_unflushed || peer->late > 0);
}

static bool goes_by_message(const struct ofi_nic *ofi, const struct push *push)
{
    if (push->is_inline || push->length == 0)
        return true;
    if (push->notice.is_there)
        return push->length <= OFI_PUT_MAX;
    return is_word_at_risk(ofi, push);
}

/* Start it; *waited is what to wait for, or NULL. The lock is held, and given up. */
static int push_start(struct ofi_nic *ofi, struct ofi_view *view, const struct push *push,
                      struct ofi_task **waited)
{
    int result = RH_EAGAIN;
    *waited = NULL;
    if (push->is_inline) {
        result = put_without_reply(ofi, view, push);
    } else {
        struct ofi_task *task = ofi_transfer_start(ofi, push->target.rank, push->done);
        if (task) {
            result = 0;
            if (goes_by_message(ofi, push))
                result = put_with_reply(ofi, view, push, task);
            else
                write_memory(ofi, view, push, task);
            result = ofi_transfer_started(ofi, task, result, waited);
        }
    }
    ofi_unlock(ofi);
    return result;
}

static struct notice notice_in(const struct ofi_view *view, const struct rh_notice *notice)
{
    return (struct notice){.is_there = true,
                           .place = {.sid = notice->word.sid,
                                     .generation = view->info.generation,
                                     .offset = notice->word.offset},
                           .value = notice->value};
}

/* The usual case: it is in the same segment, and nothing is wrong with it. */
static bool notice_is_beside(const struct ofi_view *view, const struct push *push,
                             const struct rh_notice *notice)
{
    return notice->word.sid == push->target.sid && notice->word.offset % 8 == 0 &&
           view->info.length >= 8 && notice->word.offset <= view->info.length - 8;
}

static int check_notice(struct ofi_nic *ofi, struct ofi_errand *errand,
                        const struct rh_notice *notice, struct push *push)
{
    struct ofi_view *view = ofi_view_check(ofi, errand, notice->word, 8, RH_WRITE);
    if (!view)
        return errand->result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return ofi_refuse_queue(ofi, view);
    push->notice = notice_in(view, notice);
    ofi_unlock(ofi);
    return notice->word.offset % 8 != 0 ? ofi_refuse_alignment(notice->word) : 0;
}

static int push_once(struct ofi_nic *ofi, struct ofi_errand *errand, struct push *push,
                     const struct rh_notice *notice, struct ofi_task **waited)
{
    struct ofi_view *view = ofi_view_check(ofi, errand, push->target, push->length, RH_WRITE);
    if (!view)
        return errand->result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return ofi_refuse_queue(ofi, view);
    if (notice && notice_is_beside(view, push, notice)) {
        push->notice = notice_in(view, notice);
    } else if (notice) {
        ofi_unlock(ofi); /* its segment may have to be looked up */
        int result = check_notice(ofi, errand, notice, push);
        if (result < 0)
            return result;
        view = ofi_view_check(ofi, errand, push->target, push->length, RH_WRITE);
        if (!view)
            return errand->result;
    }
    return push_start(ofi, view, push, waited);
}

int ofi_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
             const struct nic_extra *extra)
{
    nic_assert_push(nic, target, extra);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, target.rank))
        return ofi->inner->ops->push(ofi->inner, target, source, length, extra);
    struct push push = {.target = target,
                        .source = source,
                        .length = length,
                        .done = extra ? extra->done : NULL,
                        .is_inline = extra && extra->is_inline};
    const struct rh_notice *notice = extra ? extra->notice : NULL;
    struct ofi_task *task = NULL;
    struct ofi_errand errand = ofi_errand(ofi, target.rank, "push");
    int result;
    while ((result = push_once(ofi, &errand, &push, notice, &task)) == RH_EAGAIN) {
        if (push.done || (extra && extra->is_nonblocking))
            return error_set(RH_EAGAIN, target.rank, "too many transfers are under way");
        result = ofi_pause(ofi, &errand);
        if (result < 0)
            return result;
    }
    if (result == -ENOTCONN)
        return ofi_peer_lost(ofi, &errand);
    if (result == 0 && task)
        result = ofi_refused(ofi, target.rank, target.sid, ofi_task_wait(ofi, task, &errand, NULL),
                             "push");
    return result;
}

/* ---- Store ---------------------------------------------------------------------------------- */

/* The SID may have come back: that is another segment, and not the one that was checked. */
static int store_once(struct ofi_nic *ofi, const struct nic_view *view, const struct push *push)
{
    struct ofi_view *remote = view->handle;
    int rank = remote->rank;
    if (ofi_is_gone(ofi, rank))
        return nic_peer_gone(&ofi->nic, rank, "store");
    ofi_lock(ofi);
    if (remote->info.kind == NIC_SEGMENT_QUEUE)
        return ofi_refuse_queue(ofi, remote);
    bool is_stale = remote->is_stale;
    int result = is_stale ? RH_ESTALE : put_without_reply(ofi, remote, push);
    ofi_unlock(ofi);
    return is_stale ? shm_inside_refuse(ofi->inner, rank, view->remote.sid, true, RH_ESTALE)
                    : result;
}

int ofi_store(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
              unsigned width)
{
    nic_assert_store(nic, view, offset, width);
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, view->remote.rank))
        return ofi->inner->ops->store(ofi->inner, view, offset, value, width);
    struct push push = {
        .target = view->remote, .source = &value, .length = width, .is_inline = true};
    struct ofi_errand errand = ofi_errand(ofi, view->remote.rank, "store");
    int result;
    push.target.offset += offset;
    while ((result = store_once(ofi, view, &push)) == RH_EAGAIN) {
        result = ofi_pause(ofi, &errand);
        if (result < 0)
            return result;
    }
    return result == -ENOTCONN ? ofi_peer_lost(ofi, &errand) : result;
}
