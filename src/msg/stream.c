/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large messages. The sender announces one; when the receiver has a buffer for it, it either pulls
 * it out of the sender's memory (or both do that together: joint.c), or opens a stream: a few
 * blocks of its own memory, into which the sender pushes chunk after chunk, each with a notice,
 * while the receiver copies them out and returns how many it has done. Chunk numbers of a stream
 * only grow, so a notice of an earlier message never looks like one of this.
 *
 * Either side may give up in the middle. A receiver that does goes on taking chunks and drops them:
 * the stream is free again only when its sender has no more to write. A sender that does says so
 * when the receiver counts on it, and keeps the message's number out of use until the receiver has
 * heard.
 *
 * A push that timed out may have landed, and whose memory it then is we do not know; it may be
 * lost, too, and must be made again. So the receiver is asked to keep the stream until the sender
 * lets go of it. Model: tests/model/hold.pml.
 */
#include "msg/mail.h"
#include "rma/inside.h"

#include <stddef.h>
#include <string.h>

#define PULLED UINT32_MAX /* in a done_word(): the receiver has the whole message */
_Static_assert((uint64_t)PULLED *STREAM_BLOCK > 1ULL << 46, "no message has that many chunks");

static uint64_t chunk_count(uint64_t length)
{
    return (length + STREAM_BLOCK - 1) / STREAM_BLOCK;
}

static size_t chunk_length(uint64_t length, uint64_t chunk)
{
    uint64_t left = length - chunk * STREAM_BLOCK;
    return left < STREAM_BLOCK ? (size_t)left : STREAM_BLOCK;
}

/* False: there is no memory to remember it until it can be told. */
static bool tell(struct mail *mail, int rank, enum slot_kind kind, uint64_t send_id)
{
    struct slot_head head = {.kind = (uint16_t)kind, .length = sizeof(send_id)};
    return progress_control(mail, rank, &head, &send_id);
}

/* ---- The sender ----------------------------------------------------------------------------- */

/* A number is a place, which is used again soon, and a count, so that news of an earlier message in
 * the same place are not taken for news of this. */
static uint32_t place_of(uint64_t send_id)
{
    return (uint32_t)(send_id % SENDS_MOST);
}

static void give_place(struct mail *mail, uint32_t place)
{
    ASSERT(mail->send_ids[place / 64] >> place % 64 & 1);
    mail->withdrawn[place].rank = 0;
    mail->untold_count -= mail->withdrawn[place].is_untold;
    mail->withdrawn[place].is_untold = false;
    mail->send_ids[place / 64] &= ~(1ULL << place % 64);
}

static uint64_t chunks_done(const struct mail *mail, uint64_t send_id)
{
    /* acquire: the receiver is done with that memory; pairs with its push of the word */
    uint64_t word = __atomic_load_n(&mail->returns->chunks_done[place_of(send_id)],
                                    __ATOMIC_ACQUIRE);
    return is_same_message(word, done_word(send_id, 0)) ? (uint32_t)word : 0;
}

/* Numbers of messages that were pulled just when their sender gave up. */
static void reclaim_send_ids(struct mail *mail)
{
    for (uint32_t place = 0; place < SENDS_MOST; place++) {
        if (mail->withdrawn[place].rank != 0 &&
            chunks_done(mail, mail->withdrawn[place].send_id) == PULLED)
            give_place(mail, place);
    }
}

static int take_send_id(struct mail *mail, uint64_t *send_id)
{
    for (uint32_t word = 0; word < SENDS_MOST / 64; word++) {
        if (~mail->send_ids[word] == 0)
            continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~mail->send_ids[word]);
        mail->send_ids[word] |= 1ULL << bit;
        *send_id = mail->send_count++ * SENDS_MOST + word * 64ULL + bit;
        return 0;
    }
    reclaim_send_ids(mail);
    return RH_EAGAIN;
}

/* Whether the receiver is to pull: where memory is not directly reachable, or the user says so. */
static bool offers_pull(const struct mail *mail, int rank)
{
    return mail->way == WAY_PULL || (mail->way != WAY_RING && !mail->peer[rank].is_direct);
}

/* Open the message to the receiver. Without room for one more segment it is streamed. */
static void offer(struct mail *mail, struct rh_request *send)
{
    struct rh_segment segment = {.struct_size = sizeof(segment),
                                 .sid = MSG_SID_PULL + place_of(send->send_id),
                                 .base = send->buffer,
                                 .length = send->length,
                                 .rights = RH_READ};
    if (rh_segment_create(mail->job, &segment) == 0)
        send->announced.pull_sid = segment.sid;
}

int stream_announce(struct mail *mail, struct rh_request *send)
{
    ASSERT(send->state == STATE_PENDING);
    ASSERT(send->rank != mail->rank);
    if (send->has_send_id) /* made before, but it could not be sent then */
        return 0;
    int result = take_send_id(mail, &send->send_id);
    if (result < 0)
        return result;
    send->has_send_id = true;
    send->announced = (struct announcement){.length = send->length, .send_id = send->send_id};
    send->announced.is_joint = joint_is_wise(mail, send);
    if (send->announced.is_joint || offers_pull(mail, send->rank))
        offer(mail, send);
    send->chunk = 0;
    send->is_joint = false;
    send->is_in_doubt = false;
    send->hold = HOLD_NONE;
    __atomic_store_n(&mail->returns->chunks_done[place_of(send->send_id)],
                     done_word(send->send_id, 0), __ATOMIC_RELAXED);
    return 0;
}

/* Nobody uses the message's memory any more. */
static void stop_moving(struct mail *mail, struct rh_request *send)
{
    if (send->is_pushing)
        rh_withdraw(mail->job, &send->push);
    send->is_pushing = false;
    if (send->announced.pull_sid)
        rh_segment_detach(mail->job, send->announced.pull_sid);
    send->announced.pull_sid = 0;
}

void stream_release(struct mail *mail, struct rh_request *send)
{
    if (!send->has_send_id)
        return;
    stop_moving(mail, send);
    give_place(mail, place_of(send->send_id));
    send->has_send_id = false;
}

void stream_withdraw(struct mail *mail, struct rh_request *send)
{
    ASSERT(send->has_send_id);
    if (mail->peer[send->rank].is_gone) {
        stream_release(mail, send);
        return;
    }
    stop_moving(mail, send);
    mail->withdrawn[place_of(send->send_id)].rank = send->rank + 1;
    mail->withdrawn[place_of(send->send_id)].send_id = send->send_id;
    send->has_send_id = false;
    if (send->state == STATE_STREAMING && !tell(mail, send->rank, SLOT_WITHDRAWN, send->send_id)) {
        mail->withdrawn[place_of(send->send_id)].is_untold = true;
        mail->untold_count++;
    }
}

static void tell_untold(struct mail *mail)
{
    for (uint32_t place = 0; place < SENDS_MOST && mail->untold_count > 0; place++) {
        if (!mail->withdrawn[place].is_untold ||
            !tell(mail, mail->withdrawn[place].rank - 1, SLOT_WITHDRAWN,
                  mail->withdrawn[place].send_id))
            continue;
        mail->withdrawn[place].is_untold = false;
        mail->untold_count--;
    }
}

static struct rh_request *find_send(struct mail *mail, int rank, uint64_t send_id)
{
    struct rh_request *send = mail->sending.first;
    while (send && (send->rank != rank || send->send_id != send_id || send->rank == mail->rank))
        send = send->next;
    return send;
}

static bool is_withdrawn(const struct mail *mail, int rank, uint64_t send_id)
{
    uint32_t place = place_of(send_id);
    return mail->withdrawn[place].rank == rank + 1 && mail->withdrawn[place].send_id == send_id;
}

bool stream_proceed(struct mail *mail, int source, const struct go_ahead *go_ahead)
{
    struct rh_request *send = find_send(mail, source, go_ahead->send_id);
    if (is_withdrawn(mail, source, go_ahead->send_id))
        return tell(mail, source, SLOT_WITHDRAWN, go_ahead->send_id);
    if (!send || send->state != STATE_ANNOUNCED || go_ahead->stream >= STREAM_COUNT)
        return true;
    send->stream = go_ahead->stream;
    send->first_chunk = go_ahead->first_chunk;
    send->state = STATE_STREAMING;
    if (go_ahead->is_joint)
        joint_proceed(send, go_ahead);
    return true;
}

void stream_end_send(struct mail *mail, struct rh_request *send, unsigned way)
{
    ASSERT(send->state == STATE_ANNOUNCED || send->state == STATE_STREAMING);
    counter_add(mail->counters, way, 1);
    list_remove(&mail->sending, send);
    stream_release(mail, send);
    request_complete(send, 0);
}

/* The receiver has heard that a message was withdrawn. */
void stream_finished(struct mail *mail, int source, uint64_t send_id)
{
    if (is_withdrawn(mail, source, send_id))
        give_place(mail, place_of(send_id));
}

bool stream_may_repeat(struct mail *mail, struct rh_request *send)
{
    if (send->hold == HOLD_NONE && tell(mail, send->rank, SLOT_HOLD, send->send_id))
        send->hold = HOLD_ASKED;
    return send->hold == HOLD_GIVEN;
}

/* The receiver keeps a stream. Our message may be over without that. */
bool stream_held(struct mail *mail, int source, uint64_t send_id)
{
    struct rh_request *send = find_send(mail, source, send_id);
    if (!send)
        return tell(mail, source, SLOT_LET_GO, send_id);
    send->hold = HOLD_GIVEN;
    return true;
}

/* All is there that was pushed of this message. False: that cannot be told now. */
static bool let_go(struct mail *mail, struct rh_request *send)
{
    if (send->hold == HOLD_GIVEN && !tell(mail, send->rank, SLOT_LET_GO, send->send_id))
        return false;
    send->hold = HOLD_NONE;
    return true;
}

/* Begin with the next chunk. However long it takes, it is gone on with. */
static int push_chunk(struct mail *mail, struct rh_request *send)
{
    ASSERT(!send->is_pushing);
    ASSERT(send->chunk < chunk_count(send->length));
    uint64_t number = send->first_chunk + send->chunk;
    uint64_t block = number % STREAM_BLOCKS;
    uint64_t base = (uint64_t)send->stream * sizeof(struct stream_memory);
    uint64_t data_at = base + offsetof(struct stream_memory, block) + block * STREAM_BLOCK;
    uint64_t notice_at = base + offsetof(struct stream_memory, arrived) + block * 8;
    struct rh_notice notice = {.word = rh_at(send->rank, MSG_SID_BLOCKS, notice_at),
                               .value = number + 1};
    int result = rma_push_notify_start(mail->job, rh_at(send->rank, MSG_SID_BLOCKS, data_at),
                                       send->buffer + send->chunk * STREAM_BLOCK,
                                       chunk_length(send->length, send->chunk), &notice,
                                       &send->push);
    send->is_pushing = result == 0;
    return result;
}

/* Whether the next chunk is not to be pushed now. One that was pushed once and is counted has
 * come; with a second on its way that says nothing about the block. */
static bool is_kept_back(struct mail *mail, struct rh_request *send)
{
    if (likely(!send->is_in_doubt))
        return false;
    if (send->hold != HOLD_GIVEN && chunks_done(mail, send->send_id) > send->chunk) {
        send->is_in_doubt = false;
        send->chunk++;
        return true;
    }
    return !stream_may_repeat(mail, send);
}

/* RH_EAGAIN: it is under way; RH_ETIMEOUT: the network did not take it, or that is not known. */
static int move_chunk(struct mail *mail, struct rh_request *send)
{
    if (!send->is_pushing && is_kept_back(mail, send))
        return RH_EAGAIN;
    int result = send->is_pushing ? 0 : push_chunk(mail, send);
    if (result == 0)
        result = rh_test_done(mail->job, &send->push);
    if (result == RH_EAGAIN)
        return result;
    if (send->is_pushing && result == RH_EDEAD)
        rh_withdraw(mail->job, &send->push);
    send->is_pushing = false;
    send->chunk += result == 0;
    send->is_in_doubt = result != 0 && (send->is_in_doubt || result == RH_ETIMEOUT);
    return result;
}

static void progress_out(struct mail *mail, struct rh_request *send)
{
    uint64_t total = chunk_count(send->length);
    uint64_t done = chunks_done(mail, send->send_id);
    /* The receiver may be done with a chunk before we hear that it is there. */
    while (send->chunk < total && send->chunk < done + STREAM_BLOCKS) {
        int result = move_chunk(mail, send);
        if (result == RH_EAGAIN || result == RH_ETIMEOUT || result == RH_ENOSPACE)
            return; /* again, while somebody waits */
        if (result < 0) {
            progress_abort(mail, send, result);
            return;
        }
        done = chunks_done(mail, send->send_id);
    }
    if (send->chunk < total || done < total || !let_go(mail, send))
        return;
    stream_end_send(mail, send, COUNTER_MSG_RING);
}

/* True if the receiver has it all, which it may have done alone. */
static bool check_pulled(struct mail *mail, struct rh_request *send)
{
    bool may_come = send->hold == HOLD_GIVEN && send->is_in_doubt;
    if (chunks_done(mail, send->send_id) != PULLED || may_come || !let_go(mail, send))
        return false;
    stream_end_send(mail, send, send->announced.is_joint ? COUNTER_MSG_JOINT : COUNTER_MSG_PULL);
    return true;
}

/* ---- The receiver --------------------------------------------------------------------------- */

static void end_receive(struct mail *mail, struct rh_request *receive, int result)
{
    if (result == 0) {
        counter_add(mail->counters, COUNTER_MSG_RECEIVED, 1);
        result = receive->announced.length > receive->length ? RH_ETOOBIG : 0;
    }
    request_complete(receive, result);
}

/* The sender's word for a message; other messages use it later. */
static struct rh_remote done_at(int source, uint64_t send_id)
{
    return rh_at(source, MSG_SID_RETURNS, (uint64_t)place_of(send_id) * sizeof(uint64_t));
}

/* The whole message is here. False: not now. The sender must hear that without our help: the
 * program may not call us again for long. */
static bool tell_pulled(struct mail *mail, int source, uint64_t send_id)
{
    return post_once(mail, done_at(source, send_id), done_word(send_id, 0),
                     done_word(send_id, PULLED));
}

/* The sender gives the memory another message once it has heard that this one is here, and it may
 * have heard although we do not know it: what was pulled is not pulled again. */
static bool pull_once(struct mail *mail, struct rh_request *receive)
{
    const struct announcement *announced = &receive->announced;
    size_t part = announced->length < receive->length ? announced->length : receive->length;
    if (receive->is_pulled)
        return true;
    int result = rh_pull(mail->job, rh_at(receive->status.source, announced->pull_sid, 0),
                         receive->buffer, part);
    if (result == RH_ETIMEOUT || result == RH_EAGAIN || result == RH_ENOSPACE)
        return false;
    receive->is_pulled = true;
    receive->pull_result = result;
    return true;
}

/* False: not now. */
static bool pull_whole(struct mail *mail, struct rh_request *receive)
{
    uint64_t send_id = receive->announced.send_id;
    int source = receive->status.source;
    if (!pull_once(mail, receive))
        return false;
    int result = receive->pull_result;
    if (result == RH_ESTALE || result == RH_ENOSEG) {
        result = RH_ECANCELED; /* the sender has given up */
        if (!tell(mail, source, SLOT_FINISHED, send_id))
            return false;
    } else if (!tell_pulled(mail, source, send_id)) {
        return false;
    }
    end_receive(mail, receive, result);
    return true;
}

struct stream_in *stream_take(struct mail *mail, struct rh_request *receive, uint64_t chunk_count)
{
    uint32_t index = 0;
    while (index < STREAM_COUNT && mail->stream_in[index].is_used)
        index++;
    if (index == STREAM_COUNT)
        return NULL;
    struct stream_in *stream = &mail->stream_in[index];
    *stream = (struct stream_in){
        .is_used = true,
        .receive = receive,
        .source = receive->status.source,
        .announced = receive->announced,
        .first_chunk = stream->next_chunk,
        .next_chunk = stream->next_chunk + chunk_count,
        .told = {.is_of_message = true, .known = done_word(receive->announced.send_id, 0)}};
    mail->active_in++;
    receive->stream = index;
    return stream;
}

void stream_give_back(struct mail *mail, struct stream_in *stream)
{
    ASSERT(stream->is_used);
    ASSERT(mail->active_in > 0);
    joint_detach(mail, stream);
    post_withdraw(mail, &stream->told);
    stream->is_used = false;
    stream->receive = NULL;
    mail->active_in--;
}

bool stream_tell_go_ahead(struct mail *mail, const struct stream_in *stream)
{
    struct go_ahead go_ahead = {.send_id = stream->announced.send_id,
                                .stream = (uint32_t)(stream - mail->stream_in),
                                .first_chunk = stream->first_chunk,
                                .is_joint = stream->is_joint};
    struct slot_head head = {.kind = SLOT_PROCEED, .length = sizeof(go_ahead)};
    return progress_control(mail, stream->source, &head, &go_ahead);
}

static bool open_stream(struct mail *mail, struct rh_request *receive)
{
    struct stream_in *stream = stream_take(mail, receive, chunk_count(receive->announced.length));
    if (!stream)
        return false;
    if (!stream_tell_go_ahead(mail, stream)) {
        stream_give_back(mail, stream);
        return false;
    }
    receive->state = STATE_STREAMING;
    return true;
}

static void close_stream(struct mail *mail, struct stream_in *stream, int result)
{
    struct rh_request *receive = stream->receive;
    stream->receive = NULL;
    stream->is_over = true;
    if (likely(!stream->is_held))
        stream_give_back(mail, stream);
    if (receive)
        end_receive(mail, receive, result);
}

/* The sender writes no more, or has nothing more to say. */
static void free_stream(struct mail *mail, struct stream_in *stream, int result)
{
    stream->is_held = false;
    close_stream(mail, stream, result);
}

static struct stream_in *find_stream(struct mail *mail, int source, uint64_t send_id)
{
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        struct stream_in *stream = &mail->stream_in[i];
        if (stream->is_used && stream->source == source && stream->announced.send_id == send_id)
            return stream;
    }
    return NULL;
}

/* Who asks when the stream is closed needs no answer: all has come, and is told. */
bool stream_hold(struct mail *mail, int source, uint64_t send_id)
{
    struct stream_in *stream = find_stream(mail, source, send_id);
    if (!stream)
        return true;
    stream->is_held = tell(mail, source, SLOT_HELD, send_id);
    return stream->is_held;
}

void stream_let_go(struct mail *mail, int source, uint64_t send_id)
{
    struct stream_in *stream = find_stream(mail, source, send_id);
    if (!stream)
        return;
    stream->is_held = false;
    if (stream->is_over)
        stream_give_back(mail, stream);
}

bool stream_finish(struct mail *mail, struct stream_in *stream)
{
    joint_detach(mail, stream);
    if (!tell_pulled(mail, stream->source, stream->announced.send_id))
        return false;
    close_stream(mail, stream, 0);
    return true;
}

static int make_streams(struct mail *mail)
{
    if (mail->streams)
        return 0;
    return rh_segment_alloc(mail->job, MSG_SID_BLOCKS, STREAM_COUNT * sizeof(struct stream_memory),
                            (void **)&mail->streams);
}

/* False: not now. */
static bool start_moving(struct mail *mail, struct rh_request *receive)
{
    const struct announcement *announced = &receive->announced;
    if (announced->pull_sid == 0)
        return open_stream(mail, receive);
    /* Whoever's buffer is too short gets the beginning, by itself. */
    bool is_joint = announced->is_joint && announced->length <= receive->length;
    if (is_joint && make_streams(mail) == 0 && joint_open(mail, receive))
        return true;
    return pull_whole(mail, receive);
}

void stream_receive(struct mail *mail, struct rh_request *receive)
{
    ASSERT(receive->state == STATE_PENDING);
    ASSERT(receive->record);
    int result = receive->announced.pull_sid != 0 ? 0 : make_streams(mail);
    if (result < 0) {
        match_put_back(mail, receive);
        request_complete(receive, result);
        return;
    }
    receive->state = STATE_MATCHED;
    receive->is_pulled = false;
    if (!start_moving(mail, receive))
        list_append(&mail->matched, receive);
}

void stream_abandon(struct mail *mail, struct rh_request *receive)
{
    ASSERT(mail->stream_in[receive->stream].is_used);
    ASSERT(mail->stream_in[receive->stream].receive == receive);
    struct stream_in *stream = &mail->stream_in[receive->stream];
    stream->receive = NULL;
    joint_detach(mail, stream);
    if (mail->peer[stream->source].is_gone)
        free_stream(mail, stream, 0);
}

bool stream_withdrawn(struct mail *mail, int source, uint64_t send_id)
{
    struct stream_in *stream = find_stream(mail, source, send_id);
    if (stream)
        free_stream(mail, stream, RH_ECANCELED);
    return tell(mail, source, SLOT_FINISHED, send_id);
}

static void take_chunk(struct stream_in *stream, const char *block)
{
    const struct rh_request *receive = stream->receive;
    uint64_t at = stream->chunk * STREAM_BLOCK;
    size_t length = chunk_length(stream->announced.length, stream->chunk);
    if (receive && at < receive->length)
        memcpy(receive->buffer + at, block,
               length < receive->length - at ? length : receive->length - at);
    stream->chunk++;
}

static bool tell_chunks(struct mail *mail, struct stream_in *stream)
{
    uint64_t send_id = stream->announced.send_id;
    return post_word(mail, &stream->told, done_at(stream->source, send_id),
                     done_word(send_id, (uint32_t)stream->chunk));
}

static void progress_in(struct mail *mail, uint32_t index)
{
    struct stream_memory *memory = &mail->streams[index];
    struct stream_in *stream = &mail->stream_in[index];
    uint64_t total = chunk_count(stream->announced.length);
    bool is_told = tell_chunks(mail, stream);
    while (stream->chunk < total) {
        uint64_t number = stream->first_chunk + stream->chunk;
        uint64_t block = number % STREAM_BLOCKS;
        /* acquire: the notice; pairs with push_chunk() */
        if (__atomic_load_n(&memory->arrived[block], __ATOMIC_ACQUIRE) != number + 1)
            return;
        take_chunk(stream, memory->block[block]);
        is_told = tell_chunks(mail, stream);
    }
    if (is_told)
        close_stream(mail, stream, 0);
}

static void start_matched(struct mail *mail)
{
    for (struct rh_request *receive = mail->matched.first, *next; receive; receive = next) {
        next = receive->next;
        if (start_moving(mail, receive))
            list_remove(&mail->matched, receive);
    }
}

/* ---- Both ----------------------------------------------------------------------------------- */

void stream_progress(struct mail *mail)
{
    for (struct rh_request *send = mail->sending.first, *next; send; send = next) {
        next = send->next;
        if (send->announced.pull_sid != 0 && check_pulled(mail, send))
            continue;
        if (send->is_joint)
            joint_progress_out(mail, send);
        else if (send->state == STATE_STREAMING)
            progress_out(mail, send);
    }
    for (uint32_t i = 0; mail->active_in > 0 && i < STREAM_COUNT; i++) {
        struct stream_in *stream = &mail->stream_in[i];
        if (!stream->is_used || stream->is_over)
            continue;
        if (stream->is_joint)
            joint_progress_in(mail, stream);
        else
            progress_in(mail, i);
    }
    if (unlikely(mail->matched.first != NULL))
        start_matched(mail);
    if (unlikely(mail->untold_count > 0))
        tell_untold(mail);
}

uint64_t stream_moved(const struct mail *mail, const struct rh_request *request)
{
    if (request->kind_of == REQUEST_SEND)
        return request->is_joint ? joint_moved(&request->joint) : request->chunk * STREAM_BLOCK;
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        const struct stream_in *stream = &mail->stream_in[i];
        if (stream->receive == request)
            return stream->is_joint ? joint_moved(&stream->joint) : stream->chunk * STREAM_BLOCK;
    }
    return 0;
}

void stream_end_gone(struct mail *mail)
{
    for (uint32_t i = 0; i < STREAM_COUNT; i++) {
        struct stream_in *stream = &mail->stream_in[i];
        if (stream->is_used && mail->peer[stream->source].is_gone)
            free_stream(mail, stream, RH_EDEAD);
    }
    for (uint32_t place = 0; place < SENDS_MOST; place++) {
        int rank = mail->withdrawn[place].rank - 1;
        if (rank >= 0 && mail->peer[rank].is_gone)
            give_place(mail, place);
    }
}
