/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long message through a ring: a few blocks of the receiver's memory, into which the sender
 * pushes chunk after chunk, each with a notice, while the receiver copies them out and returns how
 * many it has done.
 */
#include "msg/rendezvous/parts.h"
#include "rma/inside.h"

#include <stddef.h>
#include <string.h>

_Static_assert((uint64_t)DONE_ALL *STREAM_BLOCK > 1ULL << 46, "no message has that many chunks");

uint64_t ring_chunk_count(uint64_t length)
{
    return (length + STREAM_BLOCK - 1) / STREAM_BLOCK;
}

static size_t chunk_length(uint64_t length, uint64_t chunk)
{
    uint64_t left = length - chunk * STREAM_BLOCK;
    return left < STREAM_BLOCK ? (size_t)left : STREAM_BLOCK;
}

/* ---- The sender ----------------------------------------------------------------------------- */

struct doubtful ring_place(const struct rh_request *send)
{
    const struct ring_out *ring = &send->out.ring;
    uint64_t block = (ring->first_chunk + ring->chunk) % STREAM_BLOCKS;
    uint64_t base = (uint64_t)ring->stream * sizeof(struct stream_memory);
    return (struct doubtful){
        .at = base + offsetof(struct stream_memory, block) + block * STREAM_BLOCK,
        .length = chunk_length(send->length, ring->chunk),
        .notice_at = base + offsetof(struct stream_memory, arrived) + block * 8};
}

/* Begin with the next chunk. However long it takes, it is gone on with. */
static int push_chunk(struct mail *mail, struct rh_request *send)
{
    struct ring_out *ring = &send->out.ring;
    ASSERT(!ring->is_pushing);
    ASSERT(ring->chunk < ring_chunk_count(send->length));
    struct doubtful place = ring_place(send);
    struct rh_notice notice = {.word = rh_at(send->rank, MSG_SID_BLOCKS, place.notice_at),
                               .value = ring->first_chunk + ring->chunk + 1};
    int result = rma_push_notify_start(mail->job, rh_at(send->rank, MSG_SID_BLOCKS, place.at),
                                       send->buffer + ring->chunk * STREAM_BLOCK, place.length,
                                       &notice, &ring->push);
    ring->is_pushing = result == 0;
    return result;
}

/* With a second push on its way this would say nothing about the block. */
bool ring_has_come(const struct mail *mail, struct rh_request *send)
{
    if (name_done(mail, send->out.rts.send_id) <= send->out.ring.chunk)
        return false;
    send->out.is_in_doubt = false;
    send->out.ring.chunk++;
    return true;
}

/* RH_EAGAIN: it is under way; RH_ETIMEOUT: the network did not take it, or that is not known. */
static int move_chunk(struct mail *mail, struct rh_request *send)
{
    struct ring_out *ring = &send->out.ring;
    int result = ring->is_pushing ? 0 : push_chunk(mail, send);
    if (result == 0)
        result = rh_test_done(mail->job, &ring->push);
    if (result == RH_EAGAIN)
        return result;
    if (ring->is_pushing && result == RH_EDEAD)
        rh_withdraw(mail->job, &ring->push);
    ring->is_pushing = false;
    ring->chunk += result == 0;
    send->out.is_in_doubt = result != 0 && (send->out.is_in_doubt || result == RH_ETIMEOUT);
    return result;
}

int ring_push(struct mail *mail, struct rh_request *send)
{
    const struct ring_out *ring = &send->out.ring;
    uint64_t total = ring_chunk_count(send->length);
    /* The receiver may be done with a chunk before we hear that it is there. */
    while (ring->chunk < total &&
           ring->chunk < (uint64_t)name_done(mail, send->out.rts.send_id) + STREAM_BLOCKS) {
        int result = move_chunk(mail, send);
        if (result < 0)
            return is_for_later(result) ? RH_EAGAIN : result;
    }
    return ring->chunk < total ? RH_EAGAIN : 0;
}

/* ---- The receiver --------------------------------------------------------------------------- */

static void take_chunk(struct stream *stream, const char *block)
{
    const struct rh_request *receive = stream->receive;
    uint64_t at = stream->chunk * STREAM_BLOCK;
    size_t length = chunk_length(stream->rts.length, stream->chunk);
    if (receive && at < receive->length) {
        size_t part = length < receive->length - at ? length : receive->length - at;
        memcpy(receive->buffer + at, block, part);
        rma_copied(receive->msg->job, part);
    }
    stream->chunk++;
}

bool ring_tell(struct mail *mail, struct stream *stream)
{
    uint64_t send_id = stream->rts.send_id;
    return post_word(mail, &stream->told, done_at(stream->source, send_id),
                     done_word(send_id, (uint32_t)stream->chunk));
}

int ring_take(struct mail *mail, struct stream *stream)
{
    struct rendezvous *rendezvous = mail->rendezvous;
    struct stream_memory *memory = &rendezvous->memory[stream - rendezvous->stream];
    uint64_t total = ring_chunk_count(stream->rts.length);
    bool is_told = ring_tell(mail, stream);
    while (stream->chunk < total) {
        uint64_t number = stream->first_chunk + stream->chunk;
        uint64_t block = number % STREAM_BLOCKS;
        /* acquire: the notice; pairs with push_chunk() */
        if (__atomic_load_n(&memory->arrived[block], __ATOMIC_ACQUIRE) != number + 1)
            return RH_EAGAIN;
        take_chunk(stream, memory->block[block]);
        is_told = ring_tell(mail, stream);
    }
    return is_told ? 0 : RH_EAGAIN;
}
