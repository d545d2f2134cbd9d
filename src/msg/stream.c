/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large messages. The sender announces one; when the receiver has a buffer for it, it either pulls it
 * out of the sender's memory, or opens a stream: a few blocks of its own memory, into which the sender
 * pushes chunk after chunk, each with a notice, while the receiver copies them out and returns how
 * many it has done. Chunk numbers of a stream only grow, so a notice of an earlier message never
 * looks like one of this.
 */
#include "msg/mail.h"

#include <stddef.h>
#include <string.h>

static uint64_t chunk_count(uint64_t length)
{
    return (length + STREAM_BLOCK - 1) / STREAM_BLOCK;
}

static size_t chunk_length(uint64_t length, uint64_t chunk)
{
    uint64_t left = length - chunk * STREAM_BLOCK;
    return left < STREAM_BLOCK ? (size_t)left : STREAM_BLOCK;
}

/* ---- The sender ----------------------------------------------------------------------------- */

static int take_send_id(struct mail *mail, uint32_t *send_id)
{
    for (uint32_t word = 0; word < SENDS_MOST / 64; word++) {
        if (~mail->send_ids[word] == 0)
            continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~mail->send_ids[word]);
        mail->send_ids[word] |= 1ULL << bit;
        *send_id = word * 64 + bit;
        return 0;
    }
    return RH_EAGAIN;
}

static void give_send_id(struct mail *mail, uint32_t send_id)
{
    mail->send_ids[send_id / 64] &= ~(1ULL << send_id % 64);
}

/* Whether the receiver is to pull: where memory is not directly reachable, or the user says so. */
static bool offers_pull(const struct mail *mail)
{
    return mail->way == WAY_PULL || (mail->way != WAY_RING && !mail->has_direct_memory);
}

int stream_announce(struct mail *mail, struct rh_request *send, struct announcement *announcement)
{
    int result = take_send_id(mail, &send->send_id);
    if (result < 0)
        return result;
    *announcement = (struct announcement){.length = send->length, .send_id = send->send_id};
    if (offers_pull(mail)) {
        struct rh_segment segment = {.struct_size = sizeof(segment),
                                     .sid = MSG_SID_PULL + send->send_id,
                                     .base = send->buffer,
                                     .length = send->length,
                                     .rights = RH_READ};
        /* Without room for one more segment the message is streamed. */
        if (rh_segment_create(mail->job, &segment) == 0)
            announcement->pull_sid = segment.sid;
    }
    send->announced = *announcement;
    send->chunk = 0;
    __atomic_store_n(&mail->returns->chunks_done[send->send_id], 0, __ATOMIC_RELAXED);
    return 0;
}

static struct rh_request *find_send(struct mail *mail, int rank, uint32_t send_id)
{
    struct rh_request *send = mail->sending.first;
    while (send && (send->rank != rank || send->send_id != send_id ||
                    send->state != STATE_ANNOUNCED || send->rank == mail->rank))
        send = send->next;
    return send;
}

void stream_proceed(struct mail *mail, int source, const struct go_ahead *go_ahead)
{
    struct rh_request *send = find_send(mail, source, go_ahead->send_id);
    if (!send || go_ahead->stream >= STREAM_COUNT)
        return; /* given up meanwhile */
    send->stream = go_ahead->stream;
    send->first_chunk = go_ahead->first_chunk;
    send->state = STATE_STREAMING;
}

static void end_send(struct mail *mail, struct rh_request *send, int result)
{
    list_remove(&mail->sending, send);
    stream_release(mail, send);
    request_complete(send, result);
}

void stream_finished(struct mail *mail, int source, uint32_t send_id)
{
    struct rh_request *send = find_send(mail, source, send_id);
    if (!send)
        return;
    counter_add(mail->counters, COUNTER_MSG_PULL, 1);
    end_send(mail, send, 0);
}

static int push_chunk(struct mail *mail, const struct rh_request *send)
{
    uint64_t number = send->first_chunk + send->chunk;
    uint64_t block = number % STREAM_BLOCKS;
    uint64_t base = (uint64_t)send->stream * sizeof(struct stream_memory);
    uint64_t data_at = base + offsetof(struct stream_memory, block) + block * STREAM_BLOCK;
    struct rh_notice notice = {.word = rh_at(send->rank, MSG_SID_BLOCKS, base + block * 8),
                               .value = number + 1};
    return rh_push_notify(mail->job, rh_at(send->rank, MSG_SID_BLOCKS, data_at),
                          send->buffer + send->chunk * STREAM_BLOCK,
                          chunk_length(send->length, send->chunk), &notice);
}

static void progress_out(struct mail *mail, struct rh_request *send)
{
    uint64_t total = chunk_count(send->length);
    /* acquire: the receiver has copied those blocks out; pairs with its push in progress_in() */
    uint64_t done = __atomic_load_n(&mail->returns->chunks_done[send->send_id], __ATOMIC_ACQUIRE);
    while (send->chunk < total && send->chunk - done < STREAM_BLOCKS) {
        int result = push_chunk(mail, send);
        if (result < 0) {
            end_send(mail, send, result);
            return;
        }
        send->chunk++;
        done = __atomic_load_n(&mail->returns->chunks_done[send->send_id], __ATOMIC_ACQUIRE);
    }
    if (send->chunk < total || done < total)
        return;
    counter_add(mail->counters, COUNTER_MSG_RING, 1);
    end_send(mail, send, 0);
}

/* ---- The receiver --------------------------------------------------------------------------- */

static int make_streams(struct mail *mail)
{
    if (mail->streams)
        return 0;
    return rh_segment_alloc(mail->job, MSG_SID_BLOCKS, STREAM_COUNT * sizeof(struct stream_memory),
                            (void **)&mail->streams);
}

static int result_for(const struct rh_request *receive)
{
    if (receive->announced.length <= receive->length)
        return 0;
    return error_set(RH_ETOOBIG, receive->status.source,
                     "a message of %llu bytes came for a buffer of %zu; it was cut",
                     (unsigned long long)receive->announced.length, receive->length);
}

static void pull_whole(struct mail *mail, struct rh_request *receive)
{
    const struct announcement *announced = &receive->announced;
    int source = receive->status.source;
    struct slot_head head = {.kind = SLOT_FINISHED, .length = sizeof(announced->send_id)};
    size_t part = announced->length < receive->length ? announced->length : receive->length;
    int result = rh_pull(mail->job, rh_at(source, announced->pull_sid, 0), receive->buffer, part);
    progress_control(mail, source, &head, &announced->send_id);
    request_complete(receive, result < 0 ? result : result_for(receive));
}

static bool open_stream(struct mail *mail, struct rh_request *receive)
{
    uint32_t index = 0;
    while (index < STREAM_COUNT && mail->stream_in[index].receive)
        index++;
    if (index == STREAM_COUNT)
        return false;
    struct stream_in *stream = &mail->stream_in[index];
    stream->receive = receive;
    mail->active_in++;
    receive->stream = index;
    receive->chunk = 0;
    receive->first_chunk = stream->next_chunk;
    receive->state = STATE_STREAMING;
    stream->next_chunk += chunk_count(receive->announced.length);
    struct go_ahead go_ahead = {.send_id = receive->announced.send_id,
                                .stream = index,
                                .first_chunk = receive->first_chunk};
    struct slot_head head = {.kind = SLOT_PROCEED, .length = sizeof(go_ahead)};
    progress_control(mail, receive->status.source, &head, &go_ahead);
    return true;
}

void stream_receive(struct mail *mail, struct rh_request *receive)
{
    if (receive->announced.pull_sid) {
        pull_whole(mail, receive);
        return;
    }
    int result = make_streams(mail);
    if (result < 0) {
        request_complete(receive, result);
        return;
    }
    receive->state = STATE_MATCHED;
    if (!open_stream(mail, receive))
        list_append(&mail->matched, receive);
}

static void copy_chunk(struct mail *mail, const struct rh_request *receive, const char *block)
{
    uint64_t at = receive->chunk * STREAM_BLOCK;
    size_t length = chunk_length(receive->announced.length, receive->chunk);
    (void)mail;
    if (at < receive->length)
        memcpy(receive->buffer + at, block,
               length < receive->length - at ? length : receive->length - at);
}

static void progress_in(struct mail *mail, uint32_t index)
{
    struct stream_memory *memory = &mail->streams[index];
    struct rh_request *receive = mail->stream_in[index].receive;
    uint64_t total = chunk_count(receive->announced.length);
    struct rh_remote done_at = rh_at(receive->status.source, MSG_SID_RETURNS,
                                     receive->announced.send_id * 8);
    while (receive->chunk < total) {
        uint64_t number = receive->first_chunk + receive->chunk;
        uint64_t block = number % STREAM_BLOCKS;
        /* acquire: the notice; pairs with push_chunk() */
        if (__atomic_load_n(&memory->arrived[block], __ATOMIC_ACQUIRE) != number + 1)
            return;
        copy_chunk(mail, receive, memory->block[block]);
        receive->chunk++;
        rh_push(mail->job, done_at, &receive->chunk, sizeof(receive->chunk));
    }
    stream_release(mail, receive);
    request_complete(receive, result_for(receive));
}

/* ---- Both ----------------------------------------------------------------------------------- */

void stream_progress(struct mail *mail)
{
    for (struct rh_request *send = mail->sending.first, *next; send; send = next) {
        next = send->next;
        if (send->state == STATE_STREAMING)
            progress_out(mail, send);
    }
    for (uint32_t i = 0; mail->active_in > 0 && i < STREAM_COUNT; i++) {
        if (mail->stream_in[i].receive)
            progress_in(mail, i);
    }
    while (mail->matched.first && mail->active_in < STREAM_COUNT) {
        struct rh_request *receive = mail->matched.first;
        list_remove(&mail->matched, receive);
        open_stream(mail, receive);
    }
}

void stream_release(struct mail *mail, struct rh_request *request)
{
    if (request->kind_of == REQUEST_SEND && request->rank != mail->rank) {
        if (request->announced.pull_sid)
            rh_segment_detach(mail->job, request->announced.pull_sid);
        give_send_id(mail, request->send_id);
    } else if (request->kind_of == REQUEST_RECEIVE && request->state == STATE_STREAMING) {
        mail->stream_in[request->stream].receive = NULL;
        mail->active_in--;
    }
}
