/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long message by both ends. Both buffers are open to the other end; the message is cut into a
 * few big chunks, and each end takes the next one that nobody has taken, the receiver to pull and
 * the sender to push it. So two cores copy each byte once, where a ring has them copy it twice, and
 * a sender that computes meanwhile costs nothing: the receiver then takes every chunk.
 *
 * Two words in the receiver's memory keep this straight. `claimed` is raised by compare-and-swap;
 * since the numbers of a stream only grow, one that comes too late finds a number that is not of
 * its message, and takes nothing. `pushed` is the notice of the sender's pushes. The stream is free
 * for the next message when every chunk has been taken and all that the sender took have come.
 */
#include "base/log.h"
#include "msg/rendezvous/parts.h"

#include <stddef.h>

/* Less is not worth opening two segments; more and bigger chunks let two copies in the kernel
 * disturb each other less. */
#define BOTH_ENDS_MIN (32 << 10)
#define CHUNK_MIN     (32 << 10)
#define CHUNK_MAX     (512 << 10)
#define PAGE          4096

#define DETACH_AGAIN 8 /* time-outs that a sender may be held up in a copy, but not stopped */

bool both_ends_pays(const struct mail *mail, const struct rh_request *send)
{
    return send->length >= BOTH_ENDS_MIN && !rma_attached_is_slow(mail->job);
}

/* The same at both ends: half a message, within limits. */
static uint64_t chunk_size(uint64_t length)
{
    uint64_t half = (length / 2 + PAGE) & ~(uint64_t)(PAGE - 1);
    return half < CHUNK_MIN ? CHUNK_MIN : half > CHUNK_MAX ? CHUNK_MAX : half;
}

uint64_t both_ends_chunk_count(uint64_t length)
{
    return (length + chunk_size(length) - 1) / chunk_size(length);
}

static size_t claimed_length(const struct both_ends *part)
{
    uint64_t left = part->length - part->claim * chunk_size(part->length);
    return left < chunk_size(part->length) ? left : chunk_size(part->length);
}

static struct rh_remote word_at(const struct both_ends *part, size_t member)
{
    return rh_at(part->owner, MSG_SID_BLOCKS, part->stream * sizeof(struct stream_memory) + member);
}

/* 1: chunk part->claim is ours. 0: none is left. Else an error. */
static int claim(struct mail *mail, struct both_ends *part)
{
    struct rh_remote word = word_at(part, offsetof(struct stream_memory, claimed));
    while (!part->has_claim && part->next < both_ends_chunk_count(part->length)) {
        uint64_t expected = part->first + part->next, old = 0;
        struct nic_atomic_operands one_more = {.operation = NIC_COMPARE_SWAP,
                                               .operand = expected + 1,
                                               .expected = expected,
                                               .ticket = &part->ticket};
        /* A claim that may have happened is gone on with: its chunk would be moved by nobody. */
        int result = rma_atomic(mail->job, word, &one_more, &old);
        if (result < 0)
            return result;
        part->has_claim = old == expected;
        part->claim = part->next;
        part->next = part->has_claim ? part->next + 1 : old - part->first;
    }
    return part->has_claim;
}

uint64_t both_ends_moved(const struct both_ends *part)
{
    return part->done * chunk_size(part->length);
}

/* ---- The sender ----------------------------------------------------------------------------- */

void both_ends_begin(struct rh_request *send, const struct cts *cts)
{
    ASSERT(send->out.has_cts && send->out.way == WAY_BOTH_ENDS);
    send->out.both_ends = (struct both_ends){.owner = send->rank,
                                             .stream = cts->stream,
                                             .length = send->length,
                                             .first = cts->first_chunk};
}

struct doubtful both_ends_place(const struct rh_request *send)
{
    const struct both_ends *part = &send->out.both_ends;
    uint64_t claimed = offsetof(struct stream_memory, claimed);
    uint64_t pushed = offsetof(struct stream_memory, pushed);
    return (struct doubtful){.at = word_at(part, claimed).offset,
                             .length = sizeof(uint64_t),
                             .notice_at = word_at(part, pushed).offset};
}

static int push_claimed(struct mail *mail, const struct rh_request *send)
{
    const struct both_ends *part = &send->out.both_ends;
    uint64_t at = part->claim * chunk_size(part->length);
    struct rh_notice notice = {.word = word_at(part, offsetof(struct stream_memory, pushed)),
                               .value = part->first + part->done + 1};
    struct rh_remote target = rh_at(send->rank, MSG_SID_BOTH_ENDS + part->stream, at);
    int result = rh_push_notify(mail->job, target, send->buffer + at, claimed_length(part),
                                &notice);
    if (!is_closed(result))
        return result;
    /* The receiver has given up, and only waits to hear that we write no more. */
    return rh_push(mail->job, notice.word, &notice.value, sizeof(notice.value));
}

/* At most one chunk. When none is left the receiver will say when it has its part, too. */
int both_ends_push(struct mail *mail, struct rh_request *send)
{
    struct both_ends *part = &send->out.both_ends;
    int result = claim(mail, part);
    if (result == 0)
        return 0;
    if (result == 1)
        result = push_claimed(mail, send);
    if (result == RH_ETIMEOUT && part->has_claim)
        send->out.is_in_doubt = true;
    if (result < 0)
        return is_for_later(result) ? RH_EAGAIN : result;
    send->out.is_in_doubt = false;
    part->has_claim = false;
    part->done++;
    return RH_EAGAIN;
}

/* ---- The receiver --------------------------------------------------------------------------- */

int both_ends_attach(struct mail *mail, struct stream *stream)
{
    uint32_t index = (uint32_t)(stream - mail->rendezvous->stream);
    struct rh_segment segment = {.struct_size = sizeof(segment),
                                 .sid = MSG_SID_BOTH_ENDS + index,
                                 .base = stream->receive->buffer,
                                 .length = stream->rts.length,
                                 .rights = RH_WRITE};
    int result = rh_segment_create(mail->job, &segment);
    if (result < 0)
        return result;
    stream->is_attached = true;
    stream->both_ends = (struct both_ends){.owner = mail->rank,
                                           .stream = index,
                                           .length = stream->rts.length,
                                           .first = stream->first_chunk};
    struct stream_memory *memory = &mail->rendezvous->memory[index];
    __atomic_store_n(&memory->pushed, stream->first_chunk, __ATOMIC_RELAXED);
    /* seq_cst: a late swap of an earlier sender comes before this or finds this number. */
    __atomic_store_n(&memory->claimed, stream->first_chunk, __ATOMIC_SEQ_CST);
    return 0;
}

/* The buffer's program may use it again only when the sender cannot write it. A sender that is
 * stopped is shut out by the NIC; one that is held up otherwise, in the middle of a copy, is waited
 * for, up to a limit, longer than the call's time-out. */
void both_ends_detach(struct mail *mail, struct stream *stream)
{
    rh_sid sid = MSG_SID_BOTH_ENDS + stream->both_ends.stream;
    int result = stream->is_attached ? rh_segment_detach(mail->job, sid) : 0;
    for (int i = 0; i < DETACH_AGAIN && result == RH_ETIMEOUT; i++)
        result = rh_segment_detach(mail->job, sid);
    if (result == RH_ETIMEOUT)
        log_error("rank %d may still write into a buffer of this rank that it was to fill: %s",
                  stream->source, rh_error_text());
    stream->is_attached = false;
}

/* Nobody wants an abandoned message: its chunks are taken, so that the sender does not, and
 * left. */
static int pull_claimed(struct mail *mail, const struct stream *stream)
{
    const struct both_ends *part = &stream->both_ends;
    uint64_t at = part->claim * chunk_size(part->length);
    if (!stream->receive)
        return 0;
    return rh_pull(mail->job, rh_at(stream->source, stream->rts.pull_sid, at),
                   stream->receive->buffer + at, claimed_length(part));
}

/* At most one chunk. A sender that has closed its memory says so, too, and that ends it; one that
 * is dead ends it elsewhere. */
static int take_one(struct mail *mail, struct stream *stream)
{
    if (stream->is_withdrawn || claim(mail, &stream->both_ends) != 1)
        return 0;
    int result = pull_claimed(mail, stream);
    stream->is_withdrawn = is_closed(result);
    if (is_for_later(result) || result == RH_EDEAD || stream->is_withdrawn)
        return RH_EAGAIN;
    stream->both_ends.has_claim = false;
    stream->both_ends.done++;
    return result;
}

int both_ends_pull(struct mail *mail, struct stream *stream)
{
    ASSERT(stream->is_used && stream->way == WAY_BOTH_ENDS);
    const struct both_ends *part = &stream->both_ends;
    int result = take_one(mail, stream);
    if (result < 0)
        return result;
    /* acquire: what the sender pushed is there; pairs with the notice of push_claimed() */
    uint64_t pushed = __atomic_load_n(&mail->rendezvous->memory[part->stream].pushed,
                                      __ATOMIC_ACQUIRE);
    uint64_t moved = part->done + (pushed - part->first);
    return moved == both_ends_chunk_count(part->length) ? 0 : RH_EAGAIN;
}
