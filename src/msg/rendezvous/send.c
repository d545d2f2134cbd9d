/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender of a long message, from its RTS until the receiver has it or one of them gives up.
 */
#include "msg/rendezvous/parts.h"

#include <string.h>

/* ---- RTS ------------------------------------------------------------------------------------ */

/* What the receiver may pick: alone it pulls where memory is not directly in reach. */
static enum way offered_way(const struct mail *mail, const struct rh_request *send)
{
    if (mail->way != WAY_AUTO && mail->way != WAY_PUSH)
        return mail->way;
    if (!mail->peer[send->rank].is_direct)
        return WAY_PULL;
    return mail->way == WAY_AUTO && both_ends_pays(mail, send) ? WAY_BOTH_ENDS : WAY_RING;
}

/* Without room for one more segment it goes through the ring. */
static void open_memory(struct mail *mail, struct rh_request *send)
{
    struct rts *rts = &send->out.rts;
    struct rh_segment segment = {.struct_size = sizeof(segment),
                                 .sid = MSG_SID_PULL + name_place(rts->send_id),
                                 .base = send->buffer,
                                 .length = send->length,
                                 .rights = RH_READ};
    enum way way = offered_way(mail, send);
    if (way == WAY_RING || rh_segment_create(mail->job, &segment) < 0)
        return;
    rts->pull_sid = segment.sid;
    rts->is_both_ends = way == WAY_BOTH_ENDS;
}

static int make_rts(struct mail *mail, struct rh_request *send)
{
    if (send->out.has_rts) /* made before, but it could not be sent then */
        return 0;
    send->out.rts = (struct rts){.length = send->length};
    int result = name_take(mail, &send->out.rts.send_id);
    if (result < 0)
        return result;
    send->out.has_rts = true;
    open_memory(mail, send);
    return 0;
}

/* Nobody uses the message's memory any more. */
static void stop_moving(struct mail *mail, struct rh_request *send)
{
    struct send_part *out = &send->out;
    if (out->has_cts && out->way == WAY_RING && out->ring.is_pushing) {
        out->is_in_doubt |= rh_withdraw(mail->job, &out->ring.push) == RH_ECANCELED;
        out->ring.is_pushing = false;
    }
    if (out->rts.pull_sid)
        rh_segment_detach(mail->job, out->rts.pull_sid);
    out->rts.pull_sid = 0;
}

static void release(struct mail *mail, struct rh_request *send)
{
    if (!send->out.has_rts)
        return;
    stop_moving(mail, send);
    name_give(mail, send->out.rts.send_id);
    send->out.has_rts = false;
}

int rendezvous_send(struct mail *mail, struct rh_request *send)
{
    struct {
        struct rts rts;
        char envelope[ENVELOPE_MAX];
    } said;
    struct slot_head head = {.tag = send->tag,
                             .kind = SLOT_RTS,
                             .length = (uint16_t)(sizeof(said.rts) + send->envelope_length)};
    ASSERT(send->state == STATE_PENDING);
    ASSERT(send->rank != mail->rank);
    int result = make_rts(mail, send);
    said.rts = send->out.rts;
    if (send->envelope_length > 0)
        memcpy(said.envelope, send->envelope, send->envelope_length);
    if (result == 0)
        result = wire_slot(mail, send->rank, &head, &said);
    if (result == RH_EAGAIN)
        return result;
    if (result < 0) {
        release(mail, send);
        return result;
    }
    send->state = STATE_UNDERWAY;
    list_append(&mail->rendezvous->sending, send);
    mail->long_count++;
    return 0;
}

/* ---- CTS ------------------------------------------------------------------------------------ */

static struct rh_request *find_send(struct mail *mail, int rank, uint64_t send_id)
{
    struct rh_request *send = mail->rendezvous->sending.first;
    while (send && (send->rank != rank || send->out.rts.send_id != send_id))
        send = send->next;
    return send;
}

bool send_cts_take(struct mail *mail, int source, const struct cts *cts)
{
    struct rh_request *send = find_send(mail, source, cts->send_id);
    if (name_withdrawn(mail, source, cts->send_id))
        return name_post(mail, source, SLOT_WITHDRAW, cts->send_id);
    if (!send || send->out.has_cts || cts->stream >= STREAM_COUNT)
        return true;
    send->out.has_cts = true;
    send->out.way = cts->is_both_ends ? WAY_BOTH_ENDS : WAY_RING;
    if (cts->is_both_ends)
        both_ends_begin(send, cts);
    else
        send->out.ring = (struct ring_out){.stream = cts->stream, .first_chunk = cts->first_chunk};
    return true;
}

/* ---- The end -------------------------------------------------------------------------------- */

static void leave_list(struct mail *mail, struct rh_request *send)
{
    ASSERT(send->state == STATE_UNDERWAY && mail->long_count > 0);
    list_remove(&mail->rendezvous->sending, send);
    mail->long_count--;
}

void rendezvous_withdraw(struct mail *mail, struct rh_request *send)
{
    if (send->state == STATE_UNDERWAY)
        leave_list(mail, send);
    if (send->state == STATE_PENDING || mail->peer[send->rank].is_gone) {
        release(mail, send);
        return;
    }
    ASSERT(send->out.has_rts);
    stop_moving(mail, send);
    send->out.has_rts = false;
    name_withdraw(mail, send);
}

static unsigned way_counter(const struct send_part *out)
{
    if (out->rts.pull_sid == 0)
        return COUNTER_MSG_RING;
    return out->rts.is_both_ends ? COUNTER_MSG_BOTH_ENDS : COUNTER_MSG_PULL;
}

static void end(struct mail *mail, struct rh_request *send)
{
    counter_add(mail->counters, way_counter(&send->out), 1);
    leave_list(mail, send);
    release(mail, send);
    request_complete(send, 0);
}

static void fail(struct mail *mail, struct rh_request *send, int result)
{
    rendezvous_withdraw(mail, send);
    request_complete(send, result);
}

/* ---- Pushes in doubt ------------------------------------------------------------------------ */

/* Whether a push that timed out must not be made again yet: its memory may be another message's by
 * now. The receiver is asked to keep the stream. */
static bool is_kept_back(struct mail *mail, struct rh_request *send)
{
    struct send_part *out = &send->out;
    if (likely(!out->is_in_doubt) || out->hold == HOLD_GIVEN)
        return false;
    if (out->way == WAY_RING && ring_has_come(mail, send))
        return false;
    if (out->hold == HOLD_NONE && name_post(mail, send->rank, SLOT_HOLD, out->rts.send_id))
        out->hold = HOLD_ASKED;
    return true;
}

/* The receiver keeps a stream. Our message may be over without that. */
bool send_held_take(struct mail *mail, int source, uint64_t send_id)
{
    struct rh_request *send = find_send(mail, source, send_id);
    struct withdrawal *withdrawal = name_withdrawn(mail, source, send_id);
    if (!send && !withdrawal)
        return name_post(mail, source, SLOT_LET_GO, send_id);
    *(send ? &send->out.hold : &withdrawal->hold) = HOLD_GIVEN;
    return true;
}

/* All is there that was pushed of this message. False: that cannot be told now. */
static bool let_go(struct mail *mail, struct rh_request *send)
{
    struct send_part *out = &send->out;
    if (out->hold == HOLD_GIVEN && !name_post(mail, send->rank, SLOT_LET_GO, out->rts.send_id))
        return false;
    out->hold = HOLD_NONE;
    return true;
}

/* ---- Progress ------------------------------------------------------------------------------- */

/* Whether the receiver has it all, which it may have done alone, and nothing of ours is still to
 * come there. */
static bool is_received(const struct mail *mail, const struct rh_request *send)
{
    const struct send_part *out = &send->out;
    uint32_t done = name_done(mail, out->rts.send_id);
    uint64_t total = ring_chunk_count(send->length);
    if (out->has_cts && out->way == WAY_RING)
        return out->ring.chunk >= total && done >= total;
    return done == DONE_ALL && !(out->is_in_doubt && out->hold == HOLD_GIVEN);
}

static int move(struct mail *mail, struct rh_request *send)
{
    if (!send->out.has_cts || is_kept_back(mail, send))
        return RH_EAGAIN;
    return send->out.way == WAY_RING ? ring_push(mail, send) : both_ends_push(mail, send);
}

void send_progress(struct mail *mail)
{
    for (struct rh_request *send = mail->rendezvous->sending.first, *next; send; send = next) {
        next = send->next;
        int result = is_received(mail, send) ? 0 : move(mail, send);
        bool is_over = is_received(mail, send);
        if (is_over && let_go(mail, send))
            end(mail, send);
        else if (!is_over && result < 0 && result != RH_EAGAIN)
            fail(mail, send, result);
    }
}

void send_gone_end(struct mail *mail)
{
    for (struct rh_request *send = mail->rendezvous->sending.first, *next; send; send = next) {
        next = send->next;
        if (mail->peer[send->rank].is_gone)
            fail(mail, send, RH_EDEAD);
    }
}
