/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes on by itself whenever somebody calls: arrivals are taken in, pending sends are tried
 * again in their order, streams move, and requests that hang on a rank that is gone are ended.
 */
#include "msg/mail.h"

#include <stdlib.h>
#include <string.h>

#define DEATHS_EVERY 256 /* looks between two looks at the roster */

/* ---- Sends ---------------------------------------------------------------------------------- */

static int try_inline(struct mail *mail, struct rh_request *send)
{
    struct slot_head head = {
        .tag = send->tag, .kind = SLOT_INLINED, .length = (uint16_t)send->length};
    int result = wire_slot(mail, send->rank, &head, send->buffer, false);
    if (result == 0)
        counter_add(mail->counters, COUNTER_MSG_INLINE, 1);
    return result;
}

static int try_push(struct mail *mail, struct rh_request *send)
{
    if (send->length > BLOCK_LENGTH || mail->way == WAY_RING || mail->way == WAY_PULL)
        return RH_ETOOBIG;
    int result = wire_block(mail, send->rank, send->tag, send->buffer, send->length);
    if (result == 0)
        counter_add(mail->counters, COUNTER_MSG_PUSH, 1);
    return result;
}

static int try_announce(struct mail *mail, struct rh_request *send)
{
    struct announcement announcement;
    struct slot_head head = {
        .tag = send->tag, .kind = SLOT_ANNOUNCE, .length = sizeof(announcement)};
    int result = stream_announce(mail, send, &announcement);
    if (result < 0)
        return result;
    result = wire_slot(mail, send->rank, &head, &announcement, false);
    if (result < 0) {
        stream_release(mail, send);
        return result;
    }
    send->state = STATE_ANNOUNCED;
    list_append(&mail->sending, send);
    return 0;
}

/* RH_EAGAIN: not now. 0: announced or complete. Else it failed. */
static int try_send(struct mail *mail, struct rh_request *send)
{
    int result;
    if (send->kind_of == REQUEST_CONTROL)
        return wire_slot(mail, send->rank, &send->control.head, send->control.data, true);
    result = send->length <= SLOT_INLINE ? try_inline(mail, send) : try_push(mail, send);
    if (result == RH_ETOOBIG)
        return try_announce(mail, send);
    if (result == 0)
        request_complete(send, 0);
    return result;
}

static void send_over(struct rh_request *send, int result)
{
    if (send->kind_of == REQUEST_CONTROL)
        free(send);
    else if (result < 0)
        request_complete(send, result);
}

/* In order: behind what waits for the same receiver already. */
static void start(struct mail *mail, struct rh_request *send)
{
    struct peer *peer = &mail->peer[send->rank];
    int result = peer->pending.first ? RH_EAGAIN : try_send(mail, send);
    if (likely(result != RH_EAGAIN)) {
        send_over(send, result);
        return;
    }
    counter_add(mail->counters, COUNTER_MSG_BLOCKED, 1);
    list_append(&peer->pending, send);
    mail->pending_count++;
}

void progress_send(struct mail *mail, struct rh_request *send)
{
    send->state = STATE_PENDING;
    counter_add(mail->counters, COUNTER_MSG_BYTES, send->length);
    if (send->rank == mail->rank)
        match_own(mail, send);
    else
        start(mail, send);
}

void progress_control(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    if (wire_slot(mail, rank, head, data, true) != RH_EAGAIN)
        return; /* sent, or the peer is gone and needs it no more */
    struct rh_request *control = calloc(1, sizeof(*control));
    if (!control)
        abort(); /* the peer would wait for ever for what we cannot tell it */
    control->kind_of = REQUEST_CONTROL;
    control->rank = rank;
    control->control.head = *head;
    memcpy(control->control.data, data, head->length);
    list_append(&mail->peer[rank].pending, control);
    mail->pending_count++;
}

static void retry_pending(struct mail *mail, int rank)
{
    struct list *pending = &mail->peer[rank].pending;
    while (pending->first) {
        struct rh_request *send = pending->first;
        struct rh_request *next = send->next;
        int result = try_send(mail, send);
        if (result == RH_EAGAIN)
            return;
        /* try_send() may have put it on another list, so it is taken off by its old neighbours. */
        pending->first = next;
        if (next)
            next->previous = NULL;
        else
            pending->last = NULL;
        mail->pending_count--;
        send_over(send, result);
    }
}

/* ---- Ends ----------------------------------------------------------------------------------- */

void progress_abort(struct mail *mail, struct rh_request *request, int result)
{
    if (request->kind_of == REQUEST_SEND && request->state == STATE_PENDING) {
        list_remove(&mail->peer[request->rank].pending, request);
        mail->pending_count--;
    } else if (request->kind_of == REQUEST_SEND) {
        if (request->rank == mail->rank)
            match_forget_own(mail, request);
        list_remove(&mail->sending, request);
        stream_release(mail, request);
    } else if (request->state == STATE_PENDING) {
        list_remove(&mail->posted, request);
    } else if (request->state == STATE_MATCHED) {
        list_remove(&mail->matched, request);
    } else {
        stream_release(mail, request);
    }
    request_complete(request, result);
}

static bool is_gone(struct mail *mail, int rank)
{
    return rank != RH_ANY_RANK && rank != mail->rank &&
           rh_peer_state(mail->job, rank) >= RH_PEER_LEFT;
}

static void end_list(struct mail *mail, struct list *list)
{
    for (struct rh_request *request = list->first, *next; request; request = next) {
        next = request->next;
        int peer = request->state == STATE_PENDING ? request->rank : request->status.source;
        if (request->kind_of == REQUEST_SEND)
            peer = request->rank;
        if (request->kind_of != REQUEST_CONTROL && is_gone(mail, peer))
            progress_abort(mail, request,
                           error_set(RH_EDEAD, peer, "rank %d has died or left", peer));
    }
}

static void end_orphans(struct mail *mail)
{
    end_list(mail, &mail->posted);
    end_list(mail, &mail->matched);
    end_list(mail, &mail->sending);
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        struct rh_request *receive = mail->stream_in[i].receive;
        if (receive && is_gone(mail, receive->status.source))
            progress_abort(mail, receive,
                           error_set(RH_EDEAD, receive->status.source,
                                     "rank %d has died or left in the middle of a message",
                                     receive->status.source));
    }
}

void progress(struct mail *mail)
{
    wire_poll(mail);
    if (unlikely(mail->pending_count > 0)) {
        for (int rank = 0; rank < mail->size; rank++) {
            if (mail->peer[rank].pending.first)
                retry_pending(mail, rank);
        }
    }
    if (unlikely(mail->sending.first || mail->active_in > 0 || mail->matched.first))
        stream_progress(mail);
    if (unlikely(++mail->looks % DEATHS_EVERY == 0))
        end_orphans(mail);
}
