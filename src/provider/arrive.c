/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that come, from peers and from ourselves: into their receives, or kept until there is
 * one.
 */
#include "provider/receive.h"

#include <stddef.h>
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

void answer_out(struct engine *engine, uint64_t place, uint32_t label, uint32_t number, int error)
{
    struct answer_envelope envelope = {.number = number, .error = error};
    enum subject subject = label & LABEL_FETCHES ? SUBJECT_ANSWER : SUBJECT_TAKEN;
    if (number != 0)
        parcel_out(engine, place, label_make(subject, label_to(label), place_port(place)),
                   &envelope, sizeof(envelope), NULL, 0);
}

/* Tell a sender who asks that its message is where it should be, or why it is not. */
static void answer(struct engine *engine, const struct head *head, int error)
{
    if (unlikely(head->label & LABEL_ASKS))
        answer_out(engine, head->place, head->label, head->number, error);
}

static size_t copy_in(const struct op *receive, const char *bytes, size_t length)
{
    if (unlikely(receive->iov_count > 1))
        return iov_scatter(receive->iov, receive->iov_count, bytes, length);
    size_t part = length < receive->request.length ? length : receive->request.length;
    if (likely(part <= SMALL_COPY_MAX))
        small_copy(receive->request.buffer, bytes, part);
    else
        memcpy(receive->request.buffer, bytes, part);
    return part;
}

static void deliver(struct op *receive, const struct head *head, const char *bytes, size_t length)
{
    struct engine *engine = receive->endpoint->engine;
    receive_describe(receive, head, length);
    size_t part = copy_in(receive, bytes, length);
    if (unlikely(engine->is_polled))
        rma_copied(engine->job, part);
    answer(engine, head, 0);
    op_complete(receive, part, unlikely(part < length) ? FI_ETRUNC : 0);
}

struct op *receive_part_take(struct op *multiple, size_t length)
{
    struct endpoint *endpoint = multiple->endpoint;
    struct op *part = op_make_ours(endpoint->engine, OP_RECEIVE);
    if (!part)
        return NULL;
    part->endpoint = endpoint;
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
    receive->label = head->label;
    receive->asker = head->label & LABEL_ASKS ? head->number : 0;
    if (receive->iov_count > 1) {
        size_t room = receive->request.length < rts->length ? receive->request.length : rts->length;
        receive->bounce = malloc(room + 1);
        receive->request.buffer = receive->bounce;
        receive->request.length = receive->bounce ? room : 0;
        receive->error = receive->bounce ? 0 : FI_ENOMEM;
    }
    receive->is_begun = true;
    parcel_fetch(engine->mail, &receive->request, place_rank(head->place), rts);
}

void receive_over(struct op *op)
{
    struct engine *engine = op->request.msg->mail->parcels->context;
    int result = op->request.result;
    bool is_there = (result == 0 || result == RH_ETOOBIG) && !op->error;
    int error = op->error ? op->error : fi_error(result);
    size_t length = op->message_length < op->request.length ? op->message_length
                                                            : op->request.length;
    if (op->bounce && is_there)
        iov_scatter(op->iov, op->iov_count, op->bounce, length);
    if (op->iov_count > 1)
        op->request.buffer = op->iov[0].iov_base;
    if (op->asker)
        answer_out(engine, op->place, op->label, op->asker,
                   is_there       ? 0
                   : op->endpoint ? error
                                  : ERROR_CLOSED);
    op_complete(op, is_there ? length : 0, error);
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
    return true;
}

static struct message *make_message(const struct head *head, const char *bytes, size_t length)
{
    struct message *message = malloc(sizeof(*message) + length);
    if (!message)
        return NULL;
    small_clear(message, offsetof(struct message, bytes));
    message->entry.source = head->place;
    message->entry.tag = head->tag;
    message->head = *head;
    message->length = length;
    message->cost = sizeof(*message) + length;
    if (bytes && length > 0)
        memcpy(message->bytes, bytes, length);
    return message;
}

static void keep(struct engine *engine, struct matching *matching, struct message *message)
{
    matching_append(&matching->unexpected, &message->entry);
    hold_kept(engine, message);
}

static void free_message(struct engine *engine, struct message *message)
{
    hold_freed(engine, message);
    free(message);
}

static bool keep_parcel(struct engine *engine, struct matching *matching, const struct head *head,
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
    keep(engine, matching, message);
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
        return keep_parcel(endpoint->engine, matching, &head, parcel);
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
    keep(send->endpoint->engine, matching, message);
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
        send->error = ERROR_CLOSED;
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
    struct engine *engine = receive->endpoint->engine;
    if (message->is_long) {
        fetch(receive, &message->head, &message->rts);
    } else if (message->own) {
        struct op *send = message->own;
        deliver(receive, &message->head, send->request.buffer, send->request.length);
        own_over(send);
    } else {
        deliver(receive, &message->head, message->bytes, message->length);
    }
    free_message(engine, message);
}

bool message_discard(struct engine *engine, struct message *message, int error)
{
    if (message->is_long) {
        struct op *op = op_make_ours(engine, OP_DROP);
        if (!op)
            return false;
        parcel_fetch(engine->mail, &op->request, place_rank(message->head.place), &message->rts);
    } else if (message->own) {
        message->own->error = error;
        own_over(message->own);
    }
    answer(engine, &message->head, error);
    free_message(engine, message);
    return true;
}

/* Messages of an endpoint that are still in its senders' buffers, at whatever port they wait. */
static void forget_own(struct engine *engine, struct matching_list *list,
                       const struct endpoint *sender)
{
    for (struct matching_entry *entry = list->first, *next; entry; entry = next) {
        struct message *message = (struct message *)entry;
        next = entry->next;
        if (!message->own || message->own->endpoint != sender)
            continue;
        matching_remove(list, entry);
        free_message(engine, message);
    }
}

void messages_own_forget(struct engine *engine, const struct endpoint *sender)
{
    for (uint32_t i = 0; i < PORT_COUNT; i++) {
        if (!engine->port[i])
            continue;
        forget_own(engine, &engine->port[i]->tagged.unexpected, sender);
        forget_own(engine, &engine->port[i]->plain.unexpected, sender);
        forget_own(engine, &engine->port[i]->claimed, sender);
    }
}

void messages_drop(struct endpoint *endpoint)
{
    struct matching_list *lists[] = {&endpoint->tagged.unexpected, &endpoint->plain.unexpected,
                                     &endpoint->claimed};
    for (int i = 0; i < 3; i++) {
        while (lists[i]->first) {
            struct message *message = (struct message *)lists[i]->first;
            matching_remove(lists[i], &message->entry);
            if (!message_discard(endpoint->engine, message, ERROR_CLOSED))
                free_message(endpoint->engine, message);
        }
    }
    endpoint->tagged.posted = (struct matching_list){NULL, NULL};
    endpoint->plain.posted = (struct matching_list){NULL, NULL};
}
