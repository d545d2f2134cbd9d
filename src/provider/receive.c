/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives, plain and tagged: posting, peeking, cancelling.
 */
#include "provider/receive.h"

static struct op *make_receive(struct endpoint *endpoint, const struct receiving *receiving)
{
    struct op *op = op_make(endpoint, OP_RECEIVE);
    if (!op)
        return NULL;
    op->count = COUNT_RECEIVE;
    op->context = receiving->context;
    op->flags = FI_RECV | (receiving->is_tagged ? FI_TAGGED : FI_MSG) |
                (receiving->flags & FI_MULTI_RECV);
    op->is_silent = endpoint->is_receive_selective && !(receiving->flags & FI_COMPLETION);
    op->place = PLACE_NONE;
    op->iov_count = (unsigned)receiving->count;
    for (size_t i = 0; i < receiving->count; i++)
        op->iov[i] = receiving->iov[i];
    op->request.buffer = receiving->count > 0 ? receiving->iov[0].iov_base : NULL;
    op->request.length = iov_length(receiving->iov, receiving->count);
    return op;
}

static void fail_receive(struct op *op, int error)
{
    op->request.buffer = NULL;
    op_complete(op, 0, error);
}

/* FI_PEEK: say what is there, and with FI_CLAIM keep it for who asks, or with FI_DISCARD drop
 * it. */
static ssize_t peek(struct endpoint *endpoint, struct matching *matching, struct op *op,
                    const struct receiving *receiving)
{
    engine_progress(endpoint->engine);
    struct message *message = (struct message *)matching_unexpected_find(matching, &op->entry);
    if (!message) {
        fail_receive(op, FI_ENOMSG);
        return 0;
    }
    receive_describe(op, &message->head, message->length);
    size_t length = message->length;
    if (receiving->flags & (FI_CLAIM | FI_DISCARD))
        matching_remove(&matching->unexpected, &message->entry);
    if (receiving->flags & FI_CLAIM) {
        matching_append(&endpoint->claimed, &message->entry);
        ((struct fi_context *)receiving->context)->internal[0] = message;
    } else if ((receiving->flags & FI_DISCARD) && !message_discard(endpoint->engine, message, 0)) {
        matching_append(&matching->unexpected, &message->entry);
    }
    op->request.buffer = NULL;
    op_complete(op, length, 0);
    return 0;
}

/* The message that a peek has kept under this context, taken off; or NULL: it may be gone with its
 * sender. */
static struct message *take_claimed(struct endpoint *endpoint, struct fi_context *context)
{
    struct matching_entry *entry = endpoint->claimed.first;
    while (entry && entry != context->internal[0])
        entry = entry->next;
    context->internal[0] = NULL;
    if (entry)
        matching_remove(&endpoint->claimed, entry);
    return (struct message *)entry;
}

/* FI_CLAIM: the message that a peek has kept. */
static ssize_t claim(struct op *op, const struct receiving *receiving)
{
    struct endpoint *endpoint = op->endpoint;
    struct message *message = take_claimed(endpoint, receiving->context);
    if (!message) {
        fail_receive(op, FI_ENOMSG);
        return 0;
    }
    if (!(receiving->flags & FI_DISCARD)) {
        message_hand_over(op, message);
        return 0;
    }
    receive_describe(op, &message->head, message->length);
    if (!message_discard(endpoint->engine, message, 0))
        matching_append(&endpoint->claimed, &message->entry); /* dropped with the endpoint */
    op->request.buffer = NULL;
    op_complete(op, 0, 0);
    return 0;
}

/* What is there already goes into a buffer for several, as long as there is room. */
static void fill_multiple(struct matching *matching, struct op *multiple)
{
    struct message *message;
    matching_append(&matching->posted, &multiple->entry);
    for (bool is_used_up = false; !is_used_up;) {
        message = (struct message *)matching_unexpected_find(matching, &multiple->entry);
        struct op *part = message ? receive_part_take(multiple, message->length) : NULL;
        if (!part)
            return;
        is_used_up = multiple->is_used_up;
        matching_remove(&matching->unexpected, &message->entry);
        message_hand_over(part, message);
    }
}

static ssize_t post(struct endpoint *endpoint, const struct receiving *receiving)
{
    struct matching *matching = receiving->is_tagged ? &endpoint->tagged : &endpoint->plain;
    struct op *op = make_receive(endpoint, receiving);
    if (!op)
        return -FI_EAGAIN;
    op->entry.tag = receiving->tag;
    op->entry.ignore = receiving->ignore;
    op->entry.source = MATCHING_ANY_SOURCE;
    if (receiving->from != FI_ADDR_UNSPEC && (endpoint->caps & FI_DIRECTED_RECV)) {
        ssize_t result = vector_reach(endpoint->vector, receiving->from, &op->entry.source);
        if (result < 0) {
            op_free(endpoint->engine, op);
            return result;
        }
    }
    if (unlikely(receiving->flags & FI_PEEK))
        return peek(endpoint, matching, op, receiving);
    if (unlikely(receiving->flags & FI_CLAIM))
        return claim(op, receiving);
    if (unlikely(receiving->flags & FI_MULTI_RECV)) {
        fill_multiple(matching, op);
        return 0;
    }
    struct matching_entry *message = matching_post(matching, &op->entry);
    if (message)
        message_hand_over(op, (struct message *)message);
    return 0;
}

ssize_t receive_post(struct endpoint *endpoint, const struct receiving *receiving)
{
    bool is_wrong = ((receiving->flags & FI_CLAIM) && !receiving->context) ||
                    ((receiving->flags & FI_MULTI_RECV) && receiving->count != 1);
    if (unlikely(receiving->count > IOV_MAX_COUNT || is_wrong || !endpoint->is_enabled))
        return !endpoint->is_enabled ? -FI_EOPBADSTATE : -FI_EINVAL;
    engine_take(endpoint->engine);
    ssize_t result = post(endpoint, receiving);
    engine_give(endpoint->engine);
    return result;
}

void receive_end(struct matching *matching, struct op *op, int error)
{
    matching_remove(&matching->posted, &op->entry);
    op->request.result = error == FI_ECANCELED ? RH_ECANCELED : RH_EDEAD;
    if (op->sharers == 0) {
        op_complete(op, 0, error);
        return;
    }
    op->error = error; /* messages are on their way into it: the last one tells */
    op->is_used_up = true;
}

void receives_gone_end(struct endpoint *endpoint)
{
    const struct mail *mail = endpoint->engine->mail;
    struct matching *both[] = {&endpoint->tagged, &endpoint->plain};
    for (int i = 0; i < 2; i++) {
        for (struct matching_entry *entry = both[i]->posted.first, *next; entry; entry = next) {
            int rank = place_rank(entry->source);
            next = entry->next;
            if (entry->source != MATCHING_ANY_SOURCE && rank != mail->rank &&
                mail->peer[rank].is_gone)
                receive_end(both[i], op_of(entry), FI_ECONNRESET);
        }
    }
}

ssize_t receive_cancel(struct endpoint *endpoint, void *context)
{
    struct matching *both[] = {&endpoint->tagged, &endpoint->plain};
    for (int i = 0; i < 2; i++) {
        struct matching_entry *entry = both[i]->posted.first;
        while (entry && op_of(entry)->context != context)
            entry = entry->next;
        if (!entry)
            continue;
        receive_end(both[i], op_of(entry), FI_ECANCELED);
        return 0;
    }
    return -FI_ENOENT;
}
