/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large messages, moved by both ends together. Both buffers are open to the other end; the message
 * is cut into a few big chunks, and each end takes the next one that nobody has taken, the receiver
 * to pull and the sender to push it. So two cores copy each byte once, where a ring has them copy
 * it twice, and a sender that computes meanwhile costs nothing: the receiver then takes every
 * chunk.
 *
 * Two words in the receiver's memory keep this straight. `claimed` is raised by compare-and-swap;
 * since the numbers of a stream only grow, one that comes too late finds a number that is not of
 * its message, and takes nothing. `pushed` is the notice of the sender's pushes. The stream is free
 * for the next message when every chunk has been taken and all that the sender took have come.
 */
#include "base/log.h"
#include "msg/mail.h"

#include <stddef.h>

/* Less is not worth opening two segments; more and bigger chunks let two copies in the kernel
 * disturb each other less. */
#define JOINT_LEAST (32 << 10)
#define CHUNK_LEAST (32 << 10)
#define CHUNK_MOST  (512 << 10)
#define PAGE        4096

#define DETACH_AGAIN 8 /* time-outs that a sender may be held up in a copy, but not stopped */

bool joint_is_wise(const struct mail *mail, const struct rh_request *send)
{
    if (mail->way == WAY_JOINT)
        return true;
    return mail->way == WAY_AUTO && send->length >= JOINT_LEAST &&
           mail->peer[send->rank].is_direct && !rma_attached_is_slow(mail->job);
}

/* The same at both ends: half a message, within limits. */
static uint64_t chunk_size(uint64_t length)
{
    uint64_t half = (length / 2 + PAGE) & ~(uint64_t)(PAGE - 1);
    return half < CHUNK_LEAST ? CHUNK_LEAST : half > CHUNK_MOST ? CHUNK_MOST : half;
}

static uint64_t chunk_count(uint64_t length)
{
    return (length + chunk_size(length) - 1) / chunk_size(length);
}

static size_t claimed_length(const struct joint *joint)
{
    uint64_t left = joint->length - joint->claim * chunk_size(joint->length);
    return left < chunk_size(joint->length) ? left : chunk_size(joint->length);
}

static struct rh_remote word_at(const struct joint *joint, size_t member)
{
    return rh_at(joint->owner, MSG_SID_BLOCKS,
                 joint->stream * sizeof(struct stream_memory) + member);
}

/* 1: chunk joint->claim is ours. 0: none is left. Else an error. */
static int claim(struct mail *mail, struct joint *joint)
{
    struct rh_remote word = word_at(joint, offsetof(struct stream_memory, claimed));
    while (!joint->has_claim && joint->next < chunk_count(joint->length)) {
        uint64_t expected = joint->first + joint->next, old = 0;
        struct nic_atomic_operands one_more = {.operation = NIC_COMPARE_SWAP,
                                               .operand = expected + 1,
                                               .expected = expected,
                                               .ticket = &joint->ticket};
        /* A claim that may have happened is gone on with: its chunk would be moved by nobody. */
        int result = rma_atomic(mail->job, word, &one_more, &old);
        if (result < 0)
            return result;
        joint->has_claim = old == expected;
        joint->claim = joint->next;
        joint->next = joint->has_claim ? joint->next + 1 : old - joint->first;
    }
    return joint->has_claim;
}

uint64_t joint_moved(const struct joint *joint)
{
    return joint->done * chunk_size(joint->length);
}

static bool is_gone_away(int result)
{
    return result == RH_ESTALE || result == RH_ENOSEG;
}

/* ---- The sender ----------------------------------------------------------------------------- */

void joint_proceed(struct rh_request *send, const struct go_ahead *go_ahead)
{
    ASSERT(send->state == STATE_STREAMING);
    ASSERT(!send->is_joint);
    send->is_joint = true;
    send->joint = (struct joint){.owner = send->rank,
                                 .stream = go_ahead->stream,
                                 .length = send->length,
                                 .first = go_ahead->first_chunk};
}

static int push_claimed(struct mail *mail, const struct rh_request *send)
{
    const struct joint *joint = &send->joint;
    uint64_t at = joint->claim * chunk_size(joint->length);
    struct rh_notice notice = {.word = word_at(joint, offsetof(struct stream_memory, pushed)),
                               .value = joint->first + joint->done + 1};
    struct rh_remote target = rh_at(send->rank, MSG_SID_JOINT + joint->stream, at);
    int result = rh_push_notify(mail->job, target, send->buffer + at, claimed_length(joint),
                                &notice);
    if (!is_gone_away(result))
        return result;
    /* The receiver has given up, and only waits to hear that we write no more. */
    return rh_push(mail->job, notice.word, &notice.value, sizeof(notice.value));
}

void joint_progress_out(struct mail *mail, struct rh_request *send)
{
    int result = claim(mail, &send->joint);
    if (result == 0)
        return; /* the receiver will say when it has its part, too */
    if (result == 1 && send->is_in_doubt && !stream_may_repeat(mail, send))
        return; /* the buffer may be another message's by now */
    if (result == 1)
        result = push_claimed(mail, send);
    if (result == RH_ETIMEOUT && send->joint.has_claim)
        send->is_in_doubt = true;
    if (result == RH_ETIMEOUT || result == RH_EAGAIN || result == RH_ENOSPACE)
        return; /* the network did not take it; again, while somebody waits */
    if (result < 0) {
        progress_abort(mail, send, result);
        return;
    }
    send->is_in_doubt = false;
    send->joint.has_claim = false;
    send->joint.done++;
}

/* ---- The receiver --------------------------------------------------------------------------- */

bool joint_open(struct mail *mail, struct rh_request *receive)
{
    struct stream_in *stream = stream_take(mail, receive, chunk_count(receive->announced.length));
    if (!stream)
        return false;
    struct rh_segment segment = {.struct_size = sizeof(segment),
                                 .sid = MSG_SID_JOINT + receive->stream,
                                 .base = receive->buffer,
                                 .length = receive->announced.length,
                                 .rights = RH_WRITE};
    if (rh_segment_create(mail->job, &segment) < 0) {
        stream_give_back(mail, stream);
        return false;
    }
    stream->is_joint = stream->is_attached = true;
    stream->joint = (struct joint){.owner = mail->rank,
                                   .stream = receive->stream,
                                   .length = receive->announced.length,
                                   .first = stream->first_chunk};
    struct stream_memory *memory = &mail->streams[receive->stream];
    __atomic_store_n(&memory->pushed, stream->first_chunk, __ATOMIC_RELAXED);
    /* seq_cst: a late swap of an earlier sender comes before this or finds this number. */
    __atomic_store_n(&memory->claimed, stream->first_chunk, __ATOMIC_SEQ_CST);
    if (!stream_tell_go_ahead(mail, stream)) {
        stream_give_back(mail, stream); /* which closes the buffer, too */
        return false;
    }
    receive->state = STATE_STREAMING;
    return true;
}

/* The buffer's program may use it again only when the sender cannot write it. A sender that is
 * stopped is shut out by the NIC; one that is held up otherwise, in the middle of a copy, is waited
 * for, up to a limit, longer than the call's time-out. */
void joint_detach(struct mail *mail, struct stream_in *stream)
{
    rh_sid sid = MSG_SID_JOINT + stream->joint.stream;
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
static int pull_claimed(struct mail *mail, const struct stream_in *stream)
{
    const struct joint *joint = &stream->joint;
    uint64_t at = joint->claim * chunk_size(joint->length);
    if (!stream->receive)
        return 0;
    return rh_pull(mail->job, rh_at(stream->source, stream->announced.pull_sid, at),
                   stream->receive->buffer + at, claimed_length(joint));
}

void joint_progress_in(struct mail *mail, struct stream_in *stream)
{
    ASSERT(stream->is_used);
    ASSERT(stream->is_joint);
    struct joint *joint = &stream->joint;
    if (!stream->is_withdrawn && claim(mail, joint) == 1) {
        int result = pull_claimed(mail, stream);
        stream->is_withdrawn = is_gone_away(result); /* it says so, too, and that ends it */
        if (result == RH_ETIMEOUT || result == RH_EAGAIN || result == RH_ENOSPACE ||
            result == RH_EDEAD || stream->is_withdrawn) /* a dead sender ends it elsewhere */
            return;
        if (result < 0)
            progress_abort(mail, stream->receive, result);
        joint->has_claim = false;
        joint->done++;
    }
    /* acquire: what the sender pushed is there; pairs with the notice of push_claimed() */
    uint64_t pushed = __atomic_load_n(&mail->streams[joint->stream].pushed, __ATOMIC_ACQUIRE);
    if (joint->done + (pushed - joint->first) == chunk_count(joint->length))
        stream_finish(mail, stream);
}
