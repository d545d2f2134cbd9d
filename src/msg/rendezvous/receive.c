/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver of a long message, from the RTS that has found its receive until the message is
 * there or one of them gives up.
 */
#include "msg/rendezvous/parts.h"

/* ---- Streams -------------------------------------------------------------------------------- */

/* The memory of all streams, when it is needed first. */
static int make_memory(struct mail *mail)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    if (rendezvous->memory)
        return 0;
    return rh_segment_alloc(mail->job, MSG_SID_BLOCKS, STREAM_COUNT * sizeof(struct stream_memory),
                            (void **)&rendezvous->memory);
}

/* A free stream for this receive, NULL if there is none. */
static struct stream *take_stream(struct mail *mail, struct rh_request *receive)
{
    uint64_t length = receive->in.rts.length;
    ASSERT(mail->rendezvous->memory);
    struct stream *stream = mail->rendezvous->stream;
    struct stream *end = stream + STREAM_COUNT;
    while (stream < end && stream->is_used)
        stream++;
    if (stream == end)
        return NULL;
    uint64_t chunk_count = receive->in.way == WAY_RING ? ring_chunk_count(length)
                                                       : both_ends_chunk_count(length);
    *stream = (struct stream){
        .is_used = true,
        .way = receive->in.way,
        .receive = receive,
        .source = receive->status.source,
        .rts = receive->in.rts,
        .first_chunk = stream->next_chunk,
        .next_chunk = stream->next_chunk + chunk_count,
        .told = {.is_of_message = true, .known = done_word(receive->in.rts.send_id, 0)}};
    mail->long_count++;
    return stream;
}

static void give_stream(struct mail *mail, struct stream *stream)
{
    ASSERT(stream->is_used && mail->long_count > 0);
    both_ends_detach(mail, stream);
    post_withdraw(mail, &stream->told);
    stream->is_used = false;
    stream->receive = NULL;
    mail->long_count--;
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static bool post_cts(struct mail *mail, const struct stream *stream)
{
    struct cts cts = {.send_id = stream->rts.send_id,
                      .stream = (uint32_t)(stream - mail->rendezvous->stream),
                      .first_chunk = stream->first_chunk,
                      .is_both_ends = stream->way == WAY_BOTH_ENDS};
    struct slot_head head = {.kind = SLOT_CTS, .length = sizeof(cts)};
    return control_post(mail, stream->source, &head, &cts);
}

/* By ring or both ends, as it was picked. False: not now. */
static bool open_stream(struct mail *mail, struct rh_request *receive)
{
    struct stream *stream = take_stream(mail, receive);
    if (!stream)
        return false;
    bool is_ring = stream->way == WAY_RING;
    if ((!is_ring && both_ends_attach(mail, stream) < 0) || !post_cts(mail, stream)) {
        give_stream(mail, stream); /* which closes the buffer, too */
        return false;
    }
    receive->in.stream = stream;
    return true;
}

static void end(struct mail *mail, struct rh_request *receive, int result)
{
    if (result == 0) {
        counter_add(mail->counters, COUNTER_MSG_RECEIVED, 1);
        result = receive->in.rts.length > receive->length ? RH_ETOOBIG : 0;
    }
    request_complete(receive, result);
}

/* The whole message is here. False: not now. The sender must hear that without our help: the
 * program may not call us again for long. */
static bool tell_all(struct mail *mail, int source, uint64_t send_id)
{
    return post_once(mail, done_at(source, send_id), done_word(send_id, 0),
                     done_word(send_id, DONE_ALL));
}

/* The sender gives the memory another message once it has heard that this one is here, and it may
 * have heard although we do not know it: what was pulled is not pulled again. */
static int pull_message(struct mail *mail, struct rh_request *receive)
{
    const struct rts *rts = &receive->in.rts;
    size_t part = rts->length < receive->length ? rts->length : receive->length;
    if (receive->in.is_pulled)
        return receive->in.pull_result;
    int result = rh_pull(mail->job, rh_at(receive->status.source, rts->pull_sid, 0),
                         receive->buffer, part);
    if (is_for_later(result))
        return RH_EAGAIN;
    receive->in.is_pulled = true;
    receive->in.pull_result = result;
    return result;
}

/* False: not now. */
static bool pull(struct mail *mail, struct rh_request *receive)
{
    uint64_t send_id = receive->in.rts.send_id;
    int source = receive->status.source;
    int result = pull_message(mail, receive);
    if (result == RH_EAGAIN)
        return false;
    bool has_given_up = is_closed(result);
    bool is_told = has_given_up ? name_post(mail, source, SLOT_WITHDRAW_ACK, send_id)
                                : tell_all(mail, source, send_id);
    if (is_told)
        end(mail, receive, has_given_up ? RH_ECANCELED : result);
    return is_told;
}

/* False: not now. */
static bool begin(struct mail *mail, struct rh_request *receive)
{
    return receive->in.way == WAY_PULL ? pull(mail, receive) : open_stream(mail, receive);
}

int rendezvous_receive(struct mail *mail, struct rh_request *receive)
{
    ASSERT(receive->state == STATE_PENDING && receive->in.record);
    const struct rts *rts = &receive->in.rts;
    int result = rts->pull_sid != 0 ? 0 : make_memory(mail);
    if (result < 0)
        return result;
    receive->state = STATE_UNDERWAY;
    receive->in.stream = NULL;
    receive->in.is_pulled = false;
    /* The way is picked here, for good. Whoever's buffer is too short gets the beginning, by
     * itself; and what both ends cannot do now, one can. */
    bool may_help = rts->pull_sid != 0 && rts->is_both_ends && rts->length <= receive->length;
    receive->in.way = WAY_BOTH_ENDS;
    if (may_help && make_memory(mail) == 0 && open_stream(mail, receive))
        return 0;
    receive->in.way = rts->pull_sid != 0 ? WAY_PULL : WAY_RING;
    if (begin(mail, receive))
        return 0;
    list_append(&mail->rendezvous->matched, receive);
    mail->long_count++;
    return 0;
}

/* ---- The end -------------------------------------------------------------------------------- */

/* The message is over: free its stream if neither end writes any more. A sender that has given up
 * uses the word for another message when it has heard, so what we tell there comes first. */
static void settle(struct mail *mail, struct stream *stream)
{
    ASSERT(stream->is_over && !stream->receive && !stream->is_attached);
    if (!ring_tell(mail, stream))
        return;
    if (stream->owes_ack &&
        !name_post(mail, stream->source, SLOT_WITHDRAW_ACK, stream->rts.send_id))
        return;
    stream->owes_ack = false;
    if (likely(!stream->is_held))
        give_stream(mail, stream);
}

static void close_stream(struct mail *mail, struct stream *stream, int result)
{
    struct rh_request *receive = stream->receive;
    both_ends_detach(mail, stream);
    stream->receive = NULL;
    stream->is_over = true;
    settle(mail, stream);
    if (receive)
        end(mail, receive, result);
}

/* Its sender is gone. */
static void end_stream(struct mail *mail, struct stream *stream)
{
    struct rh_request *receive = stream->receive;
    give_stream(mail, stream);
    if (receive)
        end(mail, receive, RH_EDEAD);
}

static void leave_matched(struct mail *mail, struct rh_request *receive)
{
    list_remove(&mail->rendezvous->matched, receive);
    mail->long_count--;
}

/* What still comes is dropped. */
static void abandon_stream(struct mail *mail, struct stream *stream)
{
    stream->receive = NULL;
    both_ends_detach(mail, stream);
    if (mail->peer[stream->source].is_gone)
        end_stream(mail, stream);
}

bool rendezvous_abandon(struct mail *mail, struct rh_request *receive)
{
    ASSERT(receive->state == STATE_UNDERWAY);
    ASSERT(!receive->in.stream || receive->in.stream->receive == receive);
    if (receive->in.stream) {
        abandon_stream(mail, receive->in.stream);
        return false;
    }
    leave_matched(mail, receive);
    return !mail->peer[receive->status.source].is_gone;
}

/* ---- News from the sender ------------------------------------------------------------------- */

static struct stream *find_stream(struct mail *mail, int source, uint64_t send_id)
{
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &mail->rendezvous->stream[i];
        if (stream->is_used && stream->source == source && stream->rts.send_id == send_id)
            return stream;
    }
    return NULL;
}

bool receive_withdraw_take(struct mail *mail, int source, uint64_t send_id)
{
    struct stream *stream = find_stream(mail, source, send_id);
    if (!stream)
        return name_post(mail, source, SLOT_WITHDRAW_ACK, send_id);
    stream->owes_ack = true;
    close_stream(mail, stream, RH_ECANCELED);
    return true;
}

/* Who asks when the stream is closed needs no answer: all has come, and is told. */
bool receive_hold_take(struct mail *mail, int source, uint64_t send_id)
{
    struct stream *stream = find_stream(mail, source, send_id);
    if (!stream)
        return true;
    stream->is_held = name_post(mail, source, SLOT_HELD, send_id);
    return stream->is_held;
}

void receive_let_go_take(struct mail *mail, int source, uint64_t send_id)
{
    struct stream *stream = find_stream(mail, source, send_id);
    if (!stream)
        return;
    stream->is_held = false;
    if (stream->is_over)
        settle(mail, stream);
}

/* ---- Progress ------------------------------------------------------------------------------- */

static void advance(struct mail *mail, struct stream *stream)
{
    bool is_ring = stream->way == WAY_RING;
    int result = is_ring ? ring_take(mail, stream) : both_ends_pull(mail, stream);
    if (result == RH_EAGAIN)
        return;
    if (result < 0) {
        struct rh_request *receive = stream->receive;
        abandon_stream(mail, stream);
        request_complete(receive, result);
        return;
    }
    both_ends_detach(mail, stream); /* before the sender hears that it is over */
    if (is_ring || tell_all(mail, stream->source, stream->rts.send_id))
        close_stream(mail, stream, 0);
}

void receive_progress(struct mail *mail)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &rendezvous->stream[i];
        if (stream->is_used && stream->is_over)
            settle(mail, stream);
        else if (stream->is_used)
            advance(mail, stream);
    }
    for (struct rh_request *receive = rendezvous->matched.first, *next; receive; receive = next) {
        next = receive->next;
        if (begin(mail, receive))
            leave_matched(mail, receive);
    }
}

void receive_gone_end(struct mail *mail)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    for (struct rh_request *receive = rendezvous->matched.first, *next; receive; receive = next) {
        next = receive->next;
        if (!mail->peer[receive->status.source].is_gone)
            continue;
        leave_matched(mail, receive);
        request_complete(receive, RH_EDEAD);
    }
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &rendezvous->stream[i];
        if (stream->is_used && mail->peer[stream->source].is_gone)
            end_stream(mail, stream);
    }
}

void receive_close(struct mail *mail)
{
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        if (mail->rendezvous->stream[i].is_used)
            give_stream(mail, &mail->rendezvous->stream[i]);
    }
}
