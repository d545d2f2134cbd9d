/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that come, from peers and from ourselves: into their receives, or kept until there is
 * one.
 */
#include "provider/receive.h"

#include <stdlib.h>

static struct matching *matching_of(struct endpoint *endpoint, uint32_t label)
{
    return label_subject(label) == SUBJECT_TAGGED ? &endpoint->tagged : &endpoint->plain;
}

/* ---- Handing over --------------------------------------------------------------------------- */

void receive_describe(struct op *receive, const struct head *head, size_t length)
{
    receive->place = head->place;
    receive->tag = head->tag;
    receive->data = head->data;
    receive->message_length = length;
    if (head->label & LABEL_HAS_DATA)
        receive->flags |= FI_REMOTE_CQ_DATA;
}

/* Tell a sender who asks that its message is where it should be. */
static void answer(struct engine *engine, const struct head *head)
{
    if (likely(!(head->label & LABEL_ASKS)))
        return;
    struct answer_envelope envelope = {.number = head->number};
    uint32_t label = label_make(SUBJECT_TAKEN, label_to(head->label), label_from(head->label));
    parcel_out(engine, head->place, label, &envelope, sizeof(envelope), NULL, 0);
}

static size_t copy_in(const struct op *receive, const char *bytes, size_t length)
{
    if (unlikely(receive->iov_count > 1))
        return iov_scatter(receive->iov, receive->iov_count, bytes, length);
    size_t part = length < receive->request.length ? length : receive->request.length;
    if (part > 0)
        memcpy(receive->request.buffer, bytes, part);
    return part;
}

static void deliver(struct op *receive, const struct head *head, const char *bytes, size_t length)
{
    struct engine *engine = receive->endpoint->engine;
    receive_describe(receive, head, length);
    size_t part = copy_in(receive, bytes, length);
    answer(engine, head);
    op_complete(receive, part, unlikely(part < length) ? FI_ETRUNC : 0);
}

struct op *receive_part_take(struct op *multiple, size_t length)
{
    struct endpoint *endpoint = multiple->endpoint;
    struct op *part = op_make(endpoint, OP_RECEIVE);
    if (!part)
        return NULL;
    size_t left = multiple->request.length - multiple->used;
    part->count = COUNT_RECEIVE;
    part->context = multiple->context;
    part->flags = multiple->flags & ~FI_MULTI_RECV;
    part->is_silent = multiple->is_silent;
    part->iov_count = 1;
    part->request.buffer = multiple->request.buffer + multiple->used;
    part->request.length = left;
    part->multiple = multiple;
    multiple->used += length < left ? length : left;
    multiple->sharers++;
    if (multiple->request.length - multiple->used < endpoint->multi_receive_least ||
        multiple->used == multiple->request.length) {
        multiple->is_used_up = true;
        matching_remove(&endpoint->plain.posted, &multiple->entry);
    }
    return part;
}

/* The receive for a message of this length, taken off its list. NULL: no memory. */
static struct op *take_posted(struct matching *matching, struct op *receive, size_t length)
{
    if (unlikely(receive->flags & FI_MULTI_RECV))
        return receive_part_take(receive, length);
    matching_remove(&matching->posted, &receive->entry);
    return receive;
}

/* Without a place in one piece it goes through one of ours. */
static void fetch(struct op *receive, const struct head *head, const struct rts *rts)
{
    struct engine *engine = receive->endpoint->engine;
    receive_describe(receive, head, rts->length);
    if (receive->iov_count > 1) {
        receive->bounce = malloc(receive->request.length);
        receive->request.buffer = receive->bounce;
        if (!receive->bounce)
            receive->request.length = 0;
    }
    receive->is_begun = true;
    parcel_fetch(engine->mail, &receive->request, place_rank(head->place), rts);
}

void receive_over(struct op *op)
{
    int result = op->request.result;
    size_t length = op->message_length < op->request.length ? op->message_length
                                                            : op->request.length;
    if (op->bounce && result == 0) {
        iov_scatter(op->iov, op->iov_count, op->bounce, length);
        op->request.buffer = op->iov[0].iov_base;
    }
    bool is_there = result == 0 || result == RH_ETOOBIG;
    op_complete(op, is_there ? length : 0, result == 0 ? 0 : fi_error(result));
}

/* ---- Messages ------------------------------------------------------------------------------- */

static bool read_head(const struct parcel *parcel, struct head *head)
{
    struct message_envelope envelope;
    if (parcel->length < sizeof(envelope))
        return false;
    memcpy(&envelope, parcel->data, sizeof(envelope));
    *head = (struct head){.place = place_of(parcel->source, label_from(parcel->label)),
                          .label = parcel->label,
                          .number = envelope.number,
                          .tag = envelope.tag,
                          .data = envelope.data};
    if (parcel->is_long)
        head->label &= ~LABEL_ASKS;
    return true;
}

static struct message *make_message(const struct head *head, const char *bytes, size_t length)
{
    struct message *message = malloc(sizeof(*message) + length);
    if (!message)
        return NULL;
    *message = (struct message){
        .entry = {.source = head->place, .tag = head->tag}, .head = *head, .length = length};
    if (bytes && length > 0)
        memcpy(message->bytes, bytes, length);
    return message;
}

static bool keep_parcel(struct matching *matching, const struct head *head,
                        const struct parcel *parcel)
{
    size_t skip = sizeof(struct message_envelope);
    struct message *message = make_message(head, parcel->is_long ? NULL : parcel->data + skip,
                                           parcel->is_long ? 0 : parcel->length - skip);
    if (!message)
        return false;
    if (parcel->is_long) {
        message->is_long = true;
        message->rts = parcel->rts;
        message->length = parcel->rts.length;
    }
    matching_append(&matching->unexpected, &message->entry);
    return true;
}

bool message_arrive(struct endpoint *endpoint, const struct parcel *parcel)
{
    struct head head;
    if (unlikely(!read_head(parcel, &head)))
        return true; /* a broken peer's; there is nobody to tell */
    struct matching *matching = matching_of(endpoint, parcel->label);
    struct matching_entry message = {.source = head.place, .tag = head.tag};
    struct matching_entry *found = matching_posted_find(matching, &message);
    if (!found)
        return keep_parcel(matching, &head, parcel);
    size_t skip = sizeof(struct message_envelope);
    size_t length = parcel->is_long ? parcel->rts.length : parcel->length - skip;
    struct op *receive = take_posted(matching, op_of(found), length);
    if (!receive)
        return false;
    if (unlikely(parcel->is_long))
        fetch(receive, &head, &parcel->rts);
    else
        deliver(receive, &head, parcel->data + skip, length);
    return true;
}

/* ---- Messages to ourselves ------------------------------------------------------------------ */

static void own_over(struct op *send)
{
    send->is_sent = true;
    send->is_answered = true;
    op_send_step(send);
}

static void own_keep(struct matching *matching, const struct head *head, struct op *send)
{
    bool is_copied = !(head->label & LABEL_ASKS) && send->request.length <= BLOCK_LENGTH;
    struct head quiet = *head;
    quiet.label &= ~LABEL_ASKS; /* we see it ourselves */
    struct message *message = make_message(&quiet, is_copied ? send->request.buffer : NULL,
                                           is_copied ? send->request.length : 0);
    if (!message) {
        send->error = FI_ENOMEM;
        own_over(send);
        return;
    }
    message->length = send->request.length;
    matching_append(&matching->unexpected, &message->entry);
    if (is_copied)
        own_over(send);
    else
        message->own = send;
}

void message_own(struct op *send)
{
    struct engine *engine = send->endpoint->engine;
    struct endpoint *endpoint = engine->port[label_to(send->label)];
    struct head head = {.place = place_of(engine->mail->rank, send->endpoint->port),
                        .label = send->label,
                        .tag = send->tag,
                        .data = send->data};
    if (!endpoint) {
        own_over(send);
        return;
    }
    struct matching *matching = matching_of(endpoint, send->label);
    struct matching_entry message = {.source = head.place, .tag = head.tag};
    struct matching_entry *found = matching_posted_find(matching, &message);
    struct op *receive = found ? take_posted(matching, op_of(found), send->request.length) : NULL;
    if (!receive) {
        own_keep(matching, &head, send);
        return;
    }
    head.label &= ~LABEL_ASKS;
    deliver(receive, &head, send->request.buffer, send->request.length);
    own_over(send);
}

/* ---- Messages that were kept ---------------------------------------------------------------- */

/* A message that is there goes to this receive. */
void message_hand_over(struct op *receive, struct message *message)
{
    if (message->is_long) {
        fetch(receive, &message->head, &message->rts);
    } else if (message->own) {
        struct op *send = message->own;
        deliver(receive, &message->head, send->request.buffer, send->request.length);
        own_over(send);
    } else {
        deliver(receive, &message->head, message->bytes, message->length);
    }
    free(message);
}

/* Nobody wants it. False: no memory. */
bool message_discard(struct engine *engine, struct message *message)
{
    if (message->is_long) {
        struct op *op = op_make_ours(engine, OP_DROP);
        if (!op)
            return false;
        parcel_fetch(engine->mail, &op->request, place_rank(message->head.place), &message->rts);
    } else if (message->own) {
        own_over(message->own);
    } else {
        answer(engine, &message->head);
    }
    free(message);
    return true;
}

/* Messages of an endpoint that are still in its senders' buffers, at whatever port they wait. */
static void forget_own(struct matching_list *list, const struct endpoint *sender)
{
    for (struct matching_entry *entry = list->first, *next; entry; entry = next) {
        struct message *message = (struct message *)entry;
        next = entry->next;
        if (!message->own || message->own->endpoint != sender)
            continue;
        matching_remove(list, entry);
        free(message);
    }
}

void messages_own_forget(struct engine *engine, const struct endpoint *sender)
{
    for (uint32_t i = 0; i < PORT_COUNT; i++) {
        if (!engine->port[i])
            continue;
        forget_own(&engine->port[i]->tagged.unexpected, sender);
        forget_own(&engine->port[i]->plain.unexpected, sender);
    }
}

void messages_drop(struct endpoint *endpoint)
{
    struct matching *both[] = {&endpoint->tagged, &endpoint->plain};
    for (int i = 0; i < 2; i++) {
        struct matching_list *list = &both[i]->unexpected;
        while (list->first) {
            struct message *message = (struct message *)list->first;
            matching_remove(list, &message->entry);
            if (!message_discard(endpoint->engine, message))
                free(message);
        }
        both[i]->posted = (struct matching_list){NULL, NULL};
    }
}
