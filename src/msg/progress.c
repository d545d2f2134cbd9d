/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes on by itself whenever somebody calls: arrivals are taken in, pending sends are tried
 * again in their order, streams move, and requests that hang on a rank that is gone are ended.
 */
#include "msg/mail.h"
#include "rma/inside.h"

#include <stdlib.h>
#include <string.h>

#define DEATHS_EVERY 16  /* looks between two looks at the number of deaths */
#define ENDS_EVERY   256 /* and at every rank's state, since leaving is not counted */

/* ---- Sends ---------------------------------------------------------------------------------- */

static int try_inline(struct mail *mail, struct rh_request *send)
{
    struct slot_head head = {
        .tag = send->tag, .kind = SLOT_INLINED, .length = (uint16_t)send->length};
    int result = wire_slot(mail, send->rank, &head, send->buffer);
    if (result == 0)
        counter_add(mail->counters, COUNTER_MSG_INLINE, 1);
    return result;
}

static int try_push(struct mail *mail, struct rh_request *send)
{
    if (send->length > BLOCK_LENGTH || (mail->way != WAY_AUTO && mail->way != WAY_PUSH))
        return RH_ETOOBIG;
    int result = wire_block(mail, send->rank, send->tag, send->buffer, send->length);
    if (result == 0)
        counter_add(mail->counters, COUNTER_MSG_PUSH, 1);
    return result;
}

static int try_announce(struct mail *mail, struct rh_request *send)
{
    struct slot_head head = {
        .tag = send->tag, .kind = SLOT_ANNOUNCE, .length = sizeof(send->announced)};
    int result = wire_meet(mail, send->rank);
    if (result == 0)
        result = stream_announce(mail, send);
    if (result < 0)
        return result;
    result = wire_slot(mail, send->rank, &head, &send->announced);
    if (result == RH_EAGAIN)
        return result;
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
    int result = send->length <= SLOT_INLINE ? try_inline(mail, send) : try_push(mail, send);
    if (result == RH_ETOOBIG) {
        result = try_announce(mail, send);
        if (result == 0)
            return 0;
    }
    if (result != RH_EAGAIN)
        request_complete(send, result);
    return result;
}

/* In order: behind what waits for the same receiver already. */
static void start(struct mail *mail, struct rh_request *send)
{
    struct peer *peer = &mail->peer[send->rank];
    int result = peer->pending.first ? RH_EAGAIN : try_send(mail, send);
    if (likely(result != RH_EAGAIN))
        return;
    counter_add(mail->counters, COUNTER_MSG_BLOCKED, 1);
    list_append(&peer->pending, send);
    mail->pending_count++;
}

void progress_send(struct mail *mail, struct rh_request *send)
{
    ASSERT(turn_is_taken(&mail->turn));
    ASSERT(send->kind_of == REQUEST_SEND);
    send->state = STATE_PENDING;
    counter_add(mail->counters, COUNTER_MSG_BYTES, send->length);
    if (send->rank == mail->rank)
        match_own(mail, send);
    else
        start(mail, send);
}

static void retry_pending(struct mail *mail, int rank)
{
    struct list *pending = &mail->peer[rank].pending;
    while (pending->first) {
        struct rh_request *send = pending->first;
        struct rh_request *next = send->next;
        if (try_send(mail, send) == RH_EAGAIN)
            return;
        ASSERT(mail->pending_count > 0);
        /* try_send() may have put it on another list, so it is taken off by its old neighbours. */
        pending->first = next;
        if (next)
            next->previous = NULL;
        else
            pending->last = NULL;
        mail->pending_count--;
    }
}

/* ---- Control slots -------------------------------------------------------------------------- */

/* Whether it is over: sent, or the peer is gone or has closed its mailbox and needs it no more. */
static bool try_control(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    int result = wire_control(mail, rank, head, data);
    return result == 0 || result == RH_EDEAD || result == RH_ESTALE || result == RH_ENOSEG;
}

bool progress_control(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    ASSERT(head->length <= sizeof(((struct slot *)0)->data));
    struct list *controls = &mail->peer[rank].controls;
    if (!controls->first && try_control(mail, rank, head, data))
        return true;
    struct rh_request *control = calloc(1, sizeof(*control));
    if (!control)
        return false;
    control->kind_of = REQUEST_CONTROL;
    control->rank = rank;
    control->control.head = *head;
    memcpy(control->control.data, data, head->length);
    list_append(controls, control);
    mail->pending_count++;
    return true;
}

static void drop_control(struct mail *mail, struct rh_request *control)
{
    list_remove(&mail->peer[control->rank].controls, control);
    ASSERT(mail->pending_count > 0);
    mail->pending_count--;
    free(control);
}

bool progress_controls(struct mail *mail, int rank)
{
    struct rh_request *control;
    while ((control = mail->peer[rank].controls.first) != NULL &&
           try_control(mail, rank, &control->control.head, control->control.data))
        drop_control(mail, control);
    return control == NULL && post_settle(mail, rank);
}

void progress_drop_controls(struct mail *mail, int rank)
{
    while (mail->peer[rank].controls.first)
        drop_control(mail, mail->peer[rank].controls.first);
}

/* ---- Ends ----------------------------------------------------------------------------------- */

void progress_abort(struct mail *mail, struct rh_request *request, int result)
{
    ASSERT(turn_is_taken(&mail->turn));
    ASSERT(request->kind_of != REQUEST_CONTROL);
    ASSERT(request->state != STATE_COMPLETE);
    bool is_send = request->kind_of == REQUEST_SEND;
    if (is_send && request->state == STATE_PENDING) {
        list_remove(&mail->peer[request->rank].pending, request);
        mail->pending_count--;
        stream_release(mail, request);
    } else if (is_send) {
        list_remove(&mail->sending, request);
        if (request->rank == mail->rank)
            match_forget_own(mail, request);
        else
            stream_withdraw(mail, request);
    } else if (request->state == STATE_PENDING) {
        list_remove(&mail->posted, request);
    } else if (request->state == STATE_MATCHED) {
        list_remove(&mail->matched, request);
        if (!mail->peer[request->status.source].is_gone)
            match_put_back(mail, request);
    } else {
        stream_abandon(mail, request);
    }
    request_complete(request, result);
}

static void end_list(struct mail *mail, struct list *list)
{
    for (struct rh_request *request = list->first, *next; request; request = next) {
        next = request->next;
        bool is_matched = request->kind_of == REQUEST_RECEIVE && request->state != STATE_PENDING;
        int peer = is_matched ? request->status.source : request->rank;
        if (peer == RH_ANY_RANK || !mail->peer[peer].is_gone)
            continue;
        request->status.source = peer;
        progress_abort(mail, request, RH_EDEAD);
    }
}

static bool find_gone(struct mail *mail)
{
    bool is_any = false;
    for (int rank = 0; rank < mail->size; rank++) {
        struct peer *peer = &mail->peer[rank];
        if (rank != mail->rank && rh_peer_state(mail->job, rank) >= RH_PEER_LEFT)
            peer->is_gone = true;
        is_any |= peer->is_gone;
    }
    return is_any;
}

/* Requests that hang on ranks that are gone. What those did before they went is taken in first. */
static void end_orphans(struct mail *mail)
{
    if (!find_gone(mail))
        return;
    wire_poll(mail);
    stream_progress(mail);
    match_drop_gone(mail);
    end_list(mail, &mail->posted);
    end_list(mail, &mail->matched);
    end_list(mail, &mail->sending);
    stream_end_gone(mail);
    for (int rank = 0; rank < mail->size; rank++) {
        struct peer *peer = &mail->peer[rank];
        if (!peer->is_gone)
            continue;
        end_list(mail, &peer->pending);
        while (peer->controls.first)
            drop_control(mail, peer->controls.first);
    }
}

static void look_for_ends(struct mail *mail)
{
    uint32_t deaths = atomic_load_explicit(mail->deaths, memory_order_acquire);
    if (deaths == mail->deaths_seen && mail->looks % ENDS_EVERY != 0)
        return;
    mail->deaths_seen = deaths;
    end_orphans(mail);
}

/* ---- Everything ----------------------------------------------------------------------------- */

static void retry_all(struct mail *mail)
{
    for (int rank = 0; rank < mail->size; rank++) {
        post_settle(mail, rank);
        post_tellings(mail, rank);
        progress_controls(mail, rank);
        retry_pending(mail, rank);
    }
}

void progress(struct mail *mail)
{
    ASSERT(turn_is_taken(&mail->turn));
    uint64_t events = mail->events;
    wire_poll(mail);
    if (unlikely(mail->pending_count > 0))
        retry_all(mail);
    if (unlikely(mail->sending.first || mail->active_in > 0 || mail->matched.first ||
                 mail->untold_count > 0))
        stream_progress(mail);
    if (unlikely(++mail->looks % DEATHS_EVERY == 0))
        look_for_ends(mail);
    /* What we have done may be what another thread of this process sleeps for. */
    if (unlikely(mail->waiters > 0) && mail->events != events)
        rh_wake(mail->job, mail->rank);
}

/* ---- Beside other waits --------------------------------------------------------------------- */

struct beside {
    struct mail *mail;
    const struct rh_wait *wait;
};

static bool has_work(struct mail *mail)
{
    mail_take(mail);
    bool has = mail->posted.first || mail->matched.first || mail->sending.first ||
               mail->active_in > 0 || mail->pending_count > 0 || mail->untold_count > 0;
    mail_give(mail);
    return has;
}

static bool word_is_met(void *context)
{
    const struct beside *beside = context;
    const struct rh_wait *wait = beside->wait;
    mail_take(beside->mail);
    progress(beside->mail);
    mail_give(beside->mail);
    return nic_word_is_met(wait->word, wait->when, wait->value);
}

int mail_wait_word(struct rh_msg *msg, const struct rh_wait *wait, struct stall_watch *stall)
{
    if (!msg->mail || !has_work(msg->mail))
        return rma_wait_word(msg->job, wait, stall);
    struct beside beside = {.mail = msg->mail, .wait = wait};
    struct rh_until until = {.is_met = word_is_met,
                             .context = &beside,
                             .from = wait->from,
                             .timeout_ns = wait->timeout_ns};
    return rh_wait_until(msg->job, &until);
}
