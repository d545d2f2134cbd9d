/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Push, pull, store, atomics and flush towards ranks that are not near. Words, and what comes with
 * a notice and is short, go by message; the rest by RMA.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/ofi/ofi_nic.h"

#include <stdlib.h>
#include <string.h>

static int refuse_queue(struct ofi_nic *ofi, const struct ofi_view *view)
{
    int rank = view->rank;
    rh_sid sid = view->sid;
    ofi_unlock(ofi);
    return error_set(RH_EINVALID, rank, "segment %u of rank %d is a queue; use rh_append()", sid,
                     rank);
}

static int refuse_alignment(struct rh_remote remote)
{
    return error_set(RH_EINVALID, remote.rank, "offset %llu is not aligned to 8 bytes",
                     (unsigned long long)remote.offset);
}

/* ---- RMA ------------------------------------------------------------------------------------ */

static struct ofi_piece *piece_take(struct ofi_nic *ofi)
{
    struct ofi_piece *piece = ofi->free_pieces;
    if (piece)
        ofi->free_pieces = piece->next;
    else
        piece = calloc(1, sizeof(*piece));
    if (piece) {
        piece->context.use = OFI_USE_PIECE;
        piece->mr = NULL;
    }
    return piece;
}

static void piece_give_back(struct ofi_nic *ofi, struct ofi_piece *piece)
{
    if (piece->mr)
        fi_close(&piece->mr->fid);
    piece->next = ofi->free_pieces;
    ofi->free_pieces = piece;
}

void ofi_piece_over(struct ofi_nic *ofi, struct ofi_piece *piece, int result)
{
    atomic_fetch_sub_explicit(&ofi->piece_count, 1, memory_order_relaxed);
    ofi_view_let_go(ofi, piece->view);
    ofi_task_part_over(ofi, piece->task, result);
    piece_give_back(ofi, piece);
}

static ssize_t post_piece(struct ofi_nic *ofi, struct ofi_piece *piece, const struct ofi_move *move,
                          size_t length)
{
    const struct ofi_segment_info *info = &move->view->info;
    void *description = piece->mr ? fi_mr_desc(piece->mr) : NULL;
    struct iovec local = {.iov_base = move->local, .iov_len = length};
    struct fi_rma_iov remote = {
        .addr = info->address + move->offset, .len = length, .key = info->key};
    struct fi_msg_rma request = {.msg_iov = &local,
                                 .desc = &description,
                                 .iov_count = 1,
                                 .addr = ofi->peers[move->view->rank].address,
                                 .rma_iov = &remote,
                                 .rma_iov_count = 1,
                                 .context = piece};
    uint64_t flags = FI_COMPLETION;
    if (!move->is_push)
        return fi_readmsg(ofi->ep, &request, flags);
    if (move->needs_delivery)
        flags |= FI_DELIVERY_COMPLETE;
    if (length <= ofi->inject_most)
        flags |= FI_INJECT;
    return fi_writemsg(ofi->ep, &request, flags);
}

static int start_piece(struct ofi_nic *ofi, struct ofi_task *task, const struct ofi_move *move,
                       size_t length)
{
    struct ofi_piece *piece = piece_take(ofi);
    if (!piece)
        return RH_EAGAIN;
    if (ofi->has_local_mr) {
        int result = ofi_register(ofi, move->local, length, move->is_push ? FI_WRITE : FI_READ,
                                  &piece->mr);
        if (result < 0) {
            piece_give_back(ofi, piece);
            return result;
        }
    }
    piece->task = task;
    piece->view = move->view;
    ssize_t result = post_piece(ofi, piece, move, length);
    if (result < 0) {
        piece_give_back(ofi, piece);
        return result == -FI_EAGAIN ? RH_EAGAIN : -ENOTCONN;
    }
    atomic_fetch_add_explicit(&task->pending, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ofi->piece_count, 1, memory_order_relaxed);
    move->view->underway++;
    task->sid = move->view->sid;
    task->length += length;
    return 0;
}

int ofi_move_start(struct ofi_nic *ofi, struct ofi_task *task, struct ofi_move *move)
{
    uint64_t most = ofi->info->ep_attr->max_msg_size;
    if (most > OFI_PIECE_LENGTH)
        most = OFI_PIECE_LENGTH;
    while (move->length > 0) {
        size_t length = move->length < most ? move->length : (size_t)most;
        int result = start_piece(ofi, task, move, length);
        if (result < 0)
            return result;
        move->offset += length;
        move->local += length;
        move->length -= length;
    }
    return 0;
}

/* Start all of a move, waiting for the network between its pieces. Under the lock, which is given
 * up meanwhile. RH_EAGAIN only if nothing was started. */
static int start_all(struct ofi_nic *ofi, struct ofi_task *task, struct ofi_move *move)
{
    size_t whole = move->length;
    int64_t deadline_ns = clock_deadline_ns(ofi->timeout_ns);
    for (;;) {
        int result = ofi_move_start(ofi, task, move);
        if (result != RH_EAGAIN || move->length == whole)
            return result;
        ofi_unlock(ofi);
        result = ofi_pause(ofi, move->view->rank, deadline_ns);
        ofi_lock(ofi);
        if (result < 0)
            return result;
    }
}

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

void ofi_send_late_notice(struct ofi_nic *ofi, struct ofi_task *task)
{
    struct ofi_message message;
    size_t length = notice_build(&message, &task->late_place, &task->late_value);
    task->has_late_notice = false;
    if (ofi_call_add(ofi, task, task->rank, &message))
        ofi_send_soon(ofi, task->rank, &message, length);
    else
        task->result = RH_EAGAIN;
}

/* The notice follows its data at once where the network keeps the two in order, else when the data
 * has arrived. */
static void start_notice(struct ofi_nic *ofi, struct ofi_task *task, const struct notice *notice)
{
    struct ofi_message message;
    task->late_place = notice->place;
    task->late_value = notice->value;
    task->has_late_notice = true;
    if (!ofi->keeps_write_before_send)
        return;
    size_t length = notice_build(&message, &notice->place, &notice->value);
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
    if (!ofi_call_add(ofi, task, view->rank, &message))
        return RH_EAGAIN;
    int result = ofi_send(ofi, view->rank, &message, length);
    if (result < 0)
        ofi_call_cancel(ofi, message.head.request);
    return result;
}

/* Under the lock. */
static int write_memory(struct ofi_nic *ofi, struct ofi_view *view, const struct push *push,
                        struct ofi_task *task)
{
    bool follows = push->notice.is_there && ofi->keeps_write_before_send;
    struct ofi_move move = {.view = view,
                            .offset = push->target.offset,
                            .local = (char *)(uintptr_t)push->source,
                            .length = push->length,
                            .is_push = true,
                            .needs_delivery = !follows};
    view->underway++; /* so that it is not taken back between pieces */
    int result = start_all(ofi, task, &move);
    if (result == 0 && push->notice.is_there)
        start_notice(ofi, task, &push->notice);
    ofi_view_let_go(ofi, view);
    return result;
}

/* A word must arrive whole. RMA over a stream may be cut anywhere, unless it is all that is under
 * way to the peer: then it is one packet. A message is put into memory by the peer's processor. */
static bool is_word_at_risk(const struct ofi_nic *ofi, const struct push *push)
{
    const struct ofi_peer *peer = &ofi->peers[push->target.rank];
    bool is_word = push->length == 8 && push->target.offset % 8 == 0;
    return is_word && ofi->is_stream && (peer->busy > 1 || peer->has_unflushed);
}

static bool goes_by_message(const struct ofi_nic *ofi, const struct push *push)
{
    if (push->is_inline || push->length == 0)
        return true;
    if (push->notice.is_there)
        return push->length <= OFI_PUT_MOST;
    return is_word_at_risk(ofi, push);
}

/* Start it; *task is what to wait for, or NULL. The lock is held, and given up. */
static int push_start(struct ofi_nic *ofi, struct ofi_view *view, const struct push *push,
                      struct ofi_task **waited)
{
    struct ofi_task *task = NULL;
    int result = RH_EAGAIN;
    *waited = NULL;
    if (push->is_inline) {
        result = put_without_reply(ofi, view, push);
    } else if (!push->done || ofi->task_count < OFI_TASKS_MOST) {
        task = ofi_task_start(ofi, push->target.rank, push->done);
        if (task) {
            atomic_store(&task->pending, 1); /* ours, while it is being started */
            result = goes_by_message(ofi, push) ? put_with_reply(ofi, view, push, task)
                                                : write_memory(ofi, view, push, task);
            bool is_nothing = result < 0 && atomic_load(&task->pending) == 1;
            if (is_nothing)
                ofi_task_free(ofi, task);
            else
                ofi_task_part_over(ofi, task, result);
            if (!is_nothing && !push->done)
                *waited = task;
            result = is_nothing ? result : 0;
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

static int check_notice(struct ofi_nic *ofi, const struct rh_notice *notice, struct push *push)
{
    int result = 0;
    struct ofi_view *view = ofi_view_check(ofi, notice->word, 8, RH_WRITE, &result);
    if (!view)
        return result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return refuse_queue(ofi, view);
    push->notice = notice_in(view, notice);
    ofi_unlock(ofi);
    return notice->word.offset % 8 != 0 ? refuse_alignment(notice->word) : 0;
}

static int push_once(struct ofi_nic *ofi, struct push *push, const struct rh_notice *notice,
                     struct ofi_task **waited)
{
    int result = 0;
    struct ofi_view *view = ofi_view_check(ofi, push->target, push->length, RH_WRITE, &result);
    if (!view)
        return result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return refuse_queue(ofi, view);
    if (notice && notice_is_beside(view, push, notice)) {
        push->notice = notice_in(view, notice);
    } else if (notice) {
        ofi_unlock(ofi); /* its segment may have to be looked up */
        result = check_notice(ofi, notice, push);
        if (result < 0)
            return result;
        view = ofi_view_check(ofi, push->target, push->length, RH_WRITE, &result);
        if (!view)
            return result;
    }
    return push_start(ofi, view, push, waited);
}

int ofi_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
             const struct nic_extra *extra)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, target.rank))
        return ofi->inner->ops->push(ofi->inner, target, source, length, extra);
    struct push push = {.target = target,
                        .source = source,
                        .length = length,
                        .done = extra ? extra->done : NULL,
                        .is_inline = extra && extra->is_inline};
    struct ofi_task *task = NULL;
    int64_t deadline_ns = 0;
    int result;
    while ((result = push_once(ofi, &push, extra ? extra->notice : NULL, &task)) == RH_EAGAIN) {
        if (push.done)
            return error_set(RH_EAGAIN, target.rank, "too many transfers are under way");
        if (deadline_ns == 0)
            deadline_ns = clock_deadline_ns(ofi->timeout_ns);
        result = ofi_pause(ofi, target.rank, deadline_ns);
        if (result < 0)
            return result;
    }
    if (result == -ENOTCONN)
        return ofi_peer_lost(ofi, target.rank, "push");
    if (result == 0 && task)
        result = ofi_refused(ofi, target.rank, target.sid, ofi_task_wait(ofi, task, NULL, "push"),
                             "push");
    return result;
}

/* ---- Pull ----------------------------------------------------------------------------------- */

static int pull_once(struct ofi_nic *ofi, struct rh_remote source, void *target, size_t length,
                     struct rh_done *done, struct ofi_task **waited)
{
    int result = 0;
    struct ofi_view *view = ofi_view_check(ofi, source, length, RH_READ, &result);
    if (!view)
        return result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return refuse_queue(ofi, view);
    struct ofi_move move = {
        .view = view, .offset = source.offset, .local = target, .length = length};
    struct ofi_task *task = !done || ofi->task_count < OFI_TASKS_MOST
                                ? ofi_task_start(ofi, source.rank, done)
                                : NULL;
    result = RH_EAGAIN;
    if (task) {
        atomic_store(&task->pending, 1);
        view->underway++;
        result = start_all(ofi, task, &move);
        ofi_view_let_go(ofi, view);
        bool is_nothing = result < 0 && atomic_load(&task->pending) == 1;
        if (is_nothing)
            ofi_task_free(ofi, task);
        else
            ofi_task_part_over(ofi, task, result);
        *waited = is_nothing || done ? NULL : task;
        result = is_nothing ? result : 0;
    }
    ofi_unlock(ofi);
    return result;
}

int ofi_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
             const struct nic_extra *extra)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, source.rank))
        return ofi->inner->ops->pull(ofi->inner, source, target, length, extra);
    struct rh_done *done = extra ? extra->done : NULL;
    struct ofi_task *task = NULL;
    int64_t deadline_ns = 0;
    int result;
    while ((result = pull_once(ofi, source, target, length, done, &task)) == RH_EAGAIN) {
        if (done)
            return error_set(RH_EAGAIN, source.rank, "too many transfers are under way");
        if (deadline_ns == 0)
            deadline_ns = clock_deadline_ns(ofi->timeout_ns);
        result = ofi_pause(ofi, source.rank, deadline_ns);
        if (result < 0)
            return result;
    }
    if (result == -ENOTCONN)
        return ofi_peer_lost(ofi, source.rank, "pull");
    return result == 0 && task ? ofi_task_wait(ofi, task, NULL, "pull") : result;
}

/* ---- Store and atomics ---------------------------------------------------------------------- */

/* The SID may have come back: that is another segment, and not the one that was checked. */
static int store_once(struct ofi_nic *ofi, const struct nic_view *view, const struct push *push)
{
    struct ofi_view *remote = view->handle;
    int rank = remote->rank;
    if (ofi_is_gone(ofi, rank))
        return nic_peer_gone(&ofi->nic, rank, "store");
    ofi_lock(ofi);
    if (remote->info.kind == NIC_SEGMENT_QUEUE)
        return refuse_queue(ofi, remote);
    bool is_stale = remote->is_stale;
    int result = is_stale ? RH_ESTALE : put_without_reply(ofi, remote, push);
    ofi_unlock(ofi);
    return is_stale ? shm_inside_refuse(ofi->inner, rank, view->remote.sid, true, RH_ESTALE)
                    : result;
}

int ofi_store(struct nic *nic, const struct nic_view *view, uint64_t offset, uint64_t value,
              unsigned width)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, view->remote.rank))
        return ofi->inner->ops->store(ofi->inner, view, offset, value, width);
    struct push push = {
        .target = view->remote, .source = &value, .length = width, .is_inline = true};
    int64_t deadline_ns = 0;
    int result;
    push.target.offset += offset;
    while ((result = store_once(ofi, view, &push)) == RH_EAGAIN) {
        if (deadline_ns == 0)
            deadline_ns = clock_deadline_ns(ofi->timeout_ns);
        result = ofi_pause(ofi, view->remote.rank, deadline_ns);
        if (result < 0)
            return result;
    }
    return result == -ENOTCONN ? ofi_peer_lost(ofi, view->remote.rank, "store") : result;
}

int ofi_atomic(struct nic *nic, struct rh_remote target, const struct nic_atomic_operands *operands,
               uint64_t *old)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    if (ofi_is_near(ofi, target.rank))
        return ofi->inner->ops->atomic(ofi->inner, target, operands, old);
    int result = 0;
    struct ofi_view *view = ofi_view_check(ofi, target, 8, RH_ATOMIC, &result);
    if (!view)
        return result;
    if (view->info.kind == NIC_SEGMENT_QUEUE)
        return refuse_queue(ofi, view);
    struct ofi_message message;
    struct ofi_atomic_body body = {.operation = operands->operation,
                                   .operand = operands->operand,
                                   .expected = operands->expected};
    message.head = ofi_head(OFI_ATOMIC, target.sid, target.offset);
    message.head.generation = view->info.generation;
    ofi_unlock(ofi);
    if (target.offset % 8 != 0)
        return refuse_alignment(target);
    memcpy(message.body, &body, sizeof(body));
    struct ofi_answer answer;
    result = ofi_ask(ofi, target.rank, &message, sizeof(message.head) + sizeof(body), &answer,
                     "atomic operation");
    if (result == 0)
        *old = answer.old;
    return ofi_refused(ofi, target.rank, target.sid, result, "atomic operation");
}

/* ---- Flush ---------------------------------------------------------------------------------- */

static bool nothing_underway(void *context)
{
    struct ofi_peer *peer = context;
    return atomic_load_explicit(&peer->underway, memory_order_acquire) == 0;
}

static int flush_one(struct ofi_nic *ofi, int rank)
{
    struct ofi_peer *peer = &ofi->peers[rank];
    struct ofi_message message;
    message.head = ofi_head(OFI_FLUSH, 0, 0);
    int result = ofi_wait_until(ofi, rank, nothing_underway, peer, ofi->timeout_ns);
    if (result < 0)
        return result;
    ofi_lock(ofi);
    bool has_unflushed = peer->has_unflushed;
    peer->has_unflushed = false;
    ofi_unlock(ofi);
    if (!has_unflushed)
        return 0;
    return ofi_ask(ofi, rank, &message, sizeof(message.head), NULL, "flush");
}

int ofi_flush(struct nic *nic, int rank)
{
    struct ofi_nic *ofi = ofi_nic_of(nic);
    int first = rank == RH_ANY_RANK ? 0 : rank;
    int last = rank == RH_ANY_RANK ? nic->world->size - 1 : rank;
    int result = 0;
    if (rank != RH_ANY_RANK && ofi_is_gone(ofi, rank))
        return nic_peer_gone(nic, rank, "flush");
    for (int at = first; at <= last && result == 0; at++) {
        if (!ofi_is_near(ofi, at) && !ofi_is_gone(ofi, at))
            result = flush_one(ofi, at);
        if (result == RH_EDEAD && rank == RH_ANY_RANK)
            result = 0; /* the dead have nothing to flush */
    }
    if (result < 0)
        return result;
    return ofi->inner->ops->flush(ofi->inner, ofi_is_near(ofi, first) ? rank : RH_ANY_RANK);
}
