/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes on by itself whenever somebody calls: arrivals are taken in, pending sends are tried
 * again in their order, long ones move, and requests that hang on a rank that is gone are ended.
 */
#include "msg/match.h"
#include "msg/rendezvous/rendezvous.h"
#include "rma/inside.h"

#define DEATHS_EVERY 16  /* looks between two looks at the number of deaths */
#define ENDS_EVERY   256 /* and at every rank's state, since leaving is not counted */

/* ---- Sends ---------------------------------------------------------------------------------- */

/* How a message goes is decided once, when its receiver is known and nothing stands before it. */
static enum protocol choose(const struct mail *mail, const struct rh_request *send)
{
    size_t length = send->length + send->envelope_length;
    if (length <= SLOT_INLINE)
        return PROTOCOL_INLINE;
    bool may_block = mail->way == WAY_AUTO || mail->way == WAY_PUSH;
    size_t most = mail->peer[send->rank].lane < 0 ? INBOX_LENGTH : BLOCK_LENGTH;
    return may_block && length <= most ? PROTOCOL_BLOCK : PROTOCOL_RENDEZVOUS;
}

bool wire_short_far(struct mail *mail, int rank, int32_t tag, const void *data, size_t length)
{
    struct peer *peer = &mail->peer[rank];
    struct slot_head head = {.tag = tag, .kind = SLOT_INLINED, .length = (uint16_t)length};
    if (peer->lane < 0 || peer->lane_slots || peer->pending.first || !lane_has_room(mail, rank) ||
        wire_lane(mail, rank, &head, data) < 0)
        return false;
    counter_add(mail->counters, COUNTER_MSG_INLINE, 1);
    counter_add(mail->counters, COUNTER_MSG_BYTES, length);
    return true;
}

static int try_inline(struct mail *mail, struct rh_request *send)
{
    char room[SLOT_INLINE];
    struct slot_head head = {.tag = send->tag,
                             .kind = SLOT_INLINED,
                             .length = (uint16_t)(send->envelope_length + send->length)};
    int result = wire_slot(mail, send->rank, &head, parcel_whole(send, room));
    if (result == 0)
        counter_add(mail->counters, COUNTER_MSG_INLINE, 1);
    return result;
}

static int try_block(struct mail *mail, struct rh_request *send)
{
    const void *data = send->is_parcel ? parcel_whole(send, mail->parcels->whole) : send->buffer;
    int result = wire_block(mail, send->rank, send->tag, data,
                            send->envelope_length + send->length);
    if (result == 0)
        counter_add(mail->counters, COUNTER_MSG_PUSH, 1);
    return result;
}

/* RH_EAGAIN: not now. 0: complete, or goes on by itself. Else it failed, and is complete. */
static int try_send(struct mail *mail, struct rh_request *send)
{
    int result = likely(mail->peer[send->rank].lane >= 0) ? 0 : wire_prepare(mail, send->rank);
    if (result == 0 && send->out.protocol == PROTOCOL_UNDECIDED)
        send->out.protocol = choose(mail, send);
    bool is_long = send->out.protocol == PROTOCOL_RENDEZVOUS;
    if (result == 0 && is_long)
        result = rendezvous_send(mail, send);
    else if (result == 0)
        result = send->out.protocol == PROTOCOL_INLINE ? try_inline(mail, send)
                                                       : try_block(mail, send);
    if (result != RH_EAGAIN && !(result == 0 && is_long))
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
    ASSERT(send->is_send);
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

/* ---- Ends ----------------------------------------------------------------------------------- */

static void abort_send(struct mail *mail, struct rh_request *send)
{
    if (send->state == STATE_PENDING) {
        list_remove(&mail->peer[send->rank].pending, send);
        mail->pending_count--;
    }
    if (send->rank == mail->rank)
        match_own_forget(mail, send);
    else
        rendezvous_withdraw(mail, send);
}

static void abort_receive(struct mail *mail, struct rh_request *receive)
{
    if (receive->state == STATE_PENDING)
        list_remove(&mail->posted, receive);
    else if (rendezvous_abandon(mail, receive))
        match_put_back(mail, receive);
}

void progress_abort(struct mail *mail, struct rh_request *request, int result)
{
    ASSERT(turn_is_taken(&mail->turn));
    ASSERT(request->state != STATE_COMPLETE);
    if (request->is_send)
        abort_send(mail, request);
    else
        abort_receive(mail, request);
    request_complete(request, result);
}

static void end_list(struct mail *mail, struct list *list)
{
    for (struct rh_request *request = list->first, *next; request; request = next) {
        next = request->next;
        if (request->rank == RH_ANY_RANK || !mail->peer[request->rank].is_gone)
            continue;
        request->status.source = request->rank;
        progress_abort(mail, request, RH_EDEAD);
    }
}

/* In an open job a rank that we have nothing of may become somebody else's. */
static void greet(struct mail *mail, uint32_t joins)
{
    mail->joins_seen = joins;
    for (int rank = 0; rank < rma_used(mail->job); rank++) {
        if (mail->peer[rank].is_gone && rh_peer_state(mail->job, rank) < RH_PEER_LEFT)
            mail->peer[rank].is_gone = false;
    }
}

static bool find_gone(struct mail *mail)
{
    bool is_any = false;
    for (int rank = 0; rank < rma_used(mail->job); rank++) {
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
    rendezvous_progress(mail);
    match_gone_drop(mail);
    end_list(mail, &mail->posted);
    rendezvous_gone_end(mail);
    for (int rank = 0; rank < rma_used(mail->job); rank++) {
        if (!mail->peer[rank].is_gone)
            continue;
        end_list(mail, &mail->peer[rank].pending);
        control_drop(mail, rank);
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
    for (int rank = 0; rank < rma_used(mail->job); rank++) {
        post_settle(mail, rank);
        post_tellings(mail, rank);
        control_settle(mail, rank);
        retry_pending(mail, rank);
    }
}

void progress(struct mail *mail)
{
    ASSERT(turn_is_taken(&mail->turn));
    uint64_t events = mail->events;
    uint32_t joins = atomic_load_explicit(mail->joins, memory_order_acquire);
    if (unlikely(joins != mail->joins_seen)) /* before what they send */
        greet(mail, joins);
    wire_poll(mail);
    if (unlikely(mail->pending_count > 0))
        retry_all(mail);
    if (unlikely(mail->long_count > 0))
        rendezvous_progress(mail);
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
    bool has = mail->posted.first || mail->long_count > 0 || mail->pending_count > 0;
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
