/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bringing messages and receives together: the oldest message that fits, the oldest receive that
 * fits. A message that nobody waits for is kept until somebody asks; how many may pile up is
 * limited by the senders' lanes and credit, not here.
 */
#include "msg/match.h"
#include "msg/rendezvous/rendezvous.h"

#include <stdlib.h>
#include <string.h>

/* Whether a receive for (rank, wanted) takes a message of (source, tag). */
static bool fits(int rank, int wanted, int source, int tag)
{
    return (rank == source || rank == RH_ANY_RANK) && (wanted == tag || wanted == RH_ANY_TAG);
}

static struct rh_request *find_posted(struct mail *mail, int source, int tag)
{
    struct rh_request *receive = mail->posted.first;
    while (receive && !fits(receive->rank, receive->tag, source, tag))
        receive = receive->next;
    return receive;
}

/* ---- Handing over --------------------------------------------------------------------------- */

static void deliver(struct rh_request *receive, const char *data, size_t length)
{
    const struct mail *mail = receive->msg->mail;
    size_t part = length < receive->length ? length : receive->length;
    if (likely(part > 0)) /* the buffer may be NULL otherwise */
        memcpy(receive->buffer, data, part);
    if (unlikely(!mail->peer[receive->status.source].is_direct))
        rma_copied(mail->job, part);
    counter_add(receive->msg->mail->counters, COUNTER_MSG_RECEIVED, 1);
    request_complete(receive, unlikely(length > receive->length) ? RH_ETOOBIG : 0);
}

static void set_status(struct rh_request *receive, int source, int tag, size_t length)
{
    receive->status = (struct rh_status){.source = source, .tag = tag, .length = length};
}

static void hand_over_long(struct mail *mail, struct rh_request *receive,
                           const struct arrived *arrived, struct unexpected *record)
{
    memcpy(&receive->in.rts, arrived->data, sizeof(receive->in.rts));
    receive->in.record = record;
    receive->status.length = receive->in.rts.length;
    int result = rendezvous_receive(mail, receive);
    if (result == 0)
        return;
    match_put_back(mail, receive);
    request_complete(receive, result);
}

/* record: of an RTS, so that it can be put back without memory. Taken over. */
static void hand_over(struct mail *mail, struct rh_request *receive, const struct arrived *arrived,
                      struct unexpected *record)
{
    set_status(receive, arrived->source, arrived->head->tag, arrived->length);
    if (arrived->head->kind == SLOT_RTS) {
        hand_over_long(mail, receive, arrived, record);
    } else {
        free(record);
        deliver(receive, arrived->data, arrived->length);
    }
    wire_consumed(mail, arrived->source, arrived->by_inbox);
}

/* ---- Unexpected messages -------------------------------------------------------------------- */

static void keep(struct mail *mail, struct unexpected *message)
{
    message->next = NULL;
    *mail->unexpected_end = message;
    mail->unexpected_end = &message->next;
    mail->events++; /* somebody may be probing for it */
    counter_add(mail->counters, COUNTER_MSG_UNEXPECTED, 1);
}

static struct unexpected *make_record(const struct arrived *arrived)
{
    struct unexpected *message = malloc(sizeof(*message) + arrived->length);
    if (!message)
        return NULL;
    *message = (struct unexpected){.arrival = arrived->arrival,
                                   .source = arrived->source,
                                   .by_inbox = arrived->by_inbox,
                                   .head = *arrived->head,
                                   .length = arrived->length};
    if (arrived->length > 0)
        memcpy(message->data, arrived->data, arrived->length);
    return message;
}

/* False: there is no memory for it. */
static bool hold(struct mail *mail, const struct arrived *arrived)
{
    struct unexpected *message = make_record(arrived);
    if (!message)
        return false;
    if (!mail->peer[arrived->source].is_direct)
        rma_copied(mail->job, arrived->length);
    mail->peer[arrived->source].held++;
    keep(mail, message);
    return true;
}

static bool is_well_formed(const struct arrived *arrived)
{
    switch (arrived->head->kind) {
    case SLOT_INLINED:
    case SLOT_BLOCK:
        return true;
    case SLOT_RTS:
        return arrived->length >= sizeof(struct rts);
    case SLOT_CTS:
        return arrived->length >= sizeof(struct cts);
    case SLOT_WITHDRAW_ACK:
    case SLOT_WITHDRAW:
    case SLOT_HOLD:
    case SLOT_HELD:
    case SLOT_LET_GO:
        return arrived->length >= sizeof(uint64_t);
    }
    return false; /* a broken peer's; there is nobody to tell */
}

bool match_arrival(struct mail *mail, struct arrived *arrived)
{
    ASSERT((unsigned)arrived->source < (unsigned)mail->size);
    if (!is_well_formed(arrived))
        return true;
    if (arrived->head->kind >= SLOT_CTS)
        return rendezvous_control(mail, arrived->source, arrived->head->kind, arrived->data);
    if (mail->parcels) {
        if (!parcel_hand(mail, arrived))
            return false;
        wire_consumed(mail, arrived->source, arrived->by_inbox);
        return true;
    }
    arrived->arrival = mail->arrivals++;
    struct rh_request *receive = find_posted(mail, arrived->source, arrived->head->tag);
    if (!receive)
        return hold(mail, arrived);
    struct unexpected *record = NULL;
    if (arrived->head->kind == SLOT_RTS && !(record = make_record(arrived)))
        return false;
    list_remove(&mail->posted, receive);
    hand_over(mail, receive, arrived, record);
    return true;
}

static struct unexpected **find_unexpected(const struct mail *mail, int rank, int tag)
{
    struct unexpected **link = (struct unexpected **)&mail->unexpected_first;
    while (*link && !fits(rank, tag, (*link)->source, (*link)->head.tag))
        link = &(*link)->next;
    return link;
}

static void unlink_unexpected(struct mail *mail, struct unexpected **link)
{
    struct unexpected *message = *link;
    *link = message->next;
    if (mail->unexpected_end == &message->next)
        mail->unexpected_end = link;
}

/* A message that we sent to ourselves is still in the sender's buffer. */
static void take_own(struct mail *mail, struct rh_request *receive, struct rh_request *send)
{
    set_status(receive, mail->rank, send->tag, send->length);
    deliver(receive, send->buffer, send->length);
    counter_add(mail->counters, COUNTER_MSG_PUSH, 1);
    request_complete(send, 0);
}

bool match_receive(struct mail *mail, struct rh_request *receive)
{
    ASSERT(!receive->is_send);
    ASSERT(receive->state == STATE_PENDING);
    struct unexpected **link = find_unexpected(mail, receive->rank, receive->tag);
    struct unexpected *message = *link;
    if (likely(!message)) {
        list_append(&mail->posted, receive);
        return false;
    }
    unlink_unexpected(mail, link);
    if (message->own_send) {
        ASSERT(message->own_send->state == STATE_UNDERWAY);
        take_own(mail, receive, message->own_send);
        free(message);
    } else {
        struct slot_head head = message->head;
        struct arrived arrived = {.source = message->source,
                                  .by_inbox = message->by_inbox,
                                  .arrival = message->arrival,
                                  .head = &head,
                                  .data = message->data,
                                  .length = message->length};
        ASSERT(mail->peer[message->source].held > 0);
        mail->peer[message->source].held--;
        if (head.kind == SLOT_RTS) {
            hand_over(mail, receive, &arrived, message);
        } else {
            hand_over(mail, receive, &arrived, NULL);
            free(message);
        }
    }
    return true;
}

const struct unexpected *match_find(const struct mail *mail, int rank, int tag)
{
    return *find_unexpected(mail, rank, tag);
}

void match_status_fill(const struct unexpected *message, struct rh_status *status)
{
    status->source = message->source;
    status->tag = message->head.tag;
    status->length = message->length;
    if (message->own_send) {
        status->length = message->own_send->length;
    } else if (message->head.kind == SLOT_RTS) {
        struct rts rts;
        memcpy(&rts, message->data, sizeof(rts));
        status->length = rts.length;
    }
}

/* A copy, as with other receivers, so that a small message to ourselves need not wait. */
static void hold_own(struct mail *mail, struct rh_request *send)
{
    struct slot_head head = {.tag = send->tag, .kind = SLOT_BLOCK};
    struct arrived arrived = {.source = mail->rank,
                              .arrival = mail->arrivals++,
                              .head = &head,
                              .data = send->buffer,
                              .length = send->length};
    if (!hold(mail, &arrived)) {
        request_complete(send, RH_ENOSPACE);
        return;
    }
    counter_add(mail->counters, send->length <= SLOT_INLINE ? COUNTER_MSG_INLINE : COUNTER_MSG_PUSH,
                1);
    request_complete(send, 0);
}

void match_own(struct mail *mail, struct rh_request *send)
{
    ASSERT(send->rank == mail->rank);
    struct rh_request *receive = find_posted(mail, mail->rank, send->tag);
    if (!receive && send->length <= BLOCK_LENGTH && mail->peer[mail->rank].held < HELD_MAX) {
        hold_own(mail, send);
        return;
    }
    if (receive) {
        list_remove(&mail->posted, receive);
        take_own(mail, receive, send);
        return;
    }
    struct unexpected *message = calloc(1, sizeof(*message));
    if (!message) {
        request_complete(send, RH_ENOSPACE);
        return;
    }
    message->source = mail->rank;
    message->arrival = mail->arrivals++;
    message->head.tag = send->tag;
    message->own_send = send;
    send->state = STATE_UNDERWAY;
    keep(mail, message);
}

void match_put_back(struct mail *mail, struct rh_request *receive)
{
    struct unexpected *message = receive->in.record;
    struct arrived arrived = {.source = message->source,
                              .arrival = message->arrival,
                              .head = &message->head,
                              .data = message->data,
                              .length = message->length};
    struct unexpected **link = &mail->unexpected_first;
    receive->in.record = NULL;
    struct rh_request *other = find_posted(mail, message->source, message->head.tag);
    if (other) {
        list_remove(&mail->posted, other);
        hand_over(mail, other, &arrived, message);
        return;
    }
    message->by_inbox = false; /* its credit has been given back */
    mail->peer[message->source].held++;
    while (*link && (*link)->arrival < message->arrival)
        link = &(*link)->next;
    message->next = *link;
    if (!message->next)
        mail->unexpected_end = &message->next;
    *link = message;
    mail->events++;
}

void match_own_forget(struct mail *mail, const struct rh_request *send)
{
    struct unexpected **link = &mail->unexpected_first;
    while (*link && (*link)->own_send != send)
        link = &(*link)->next;
    struct unexpected *message = *link;
    if (!message)
        return;
    unlink_unexpected(mail, link);
    free(message);
}

/* A long message whose sender is gone cannot be had any more. */
void match_gone_drop(struct mail *mail)
{
    struct unexpected **link = &mail->unexpected_first;
    while (*link) {
        struct unexpected *message = *link;
        if (message->head.kind != SLOT_RTS || !mail->peer[message->source].is_gone) {
            link = &message->next;
            continue;
        }
        ASSERT(mail->peer[message->source].held > 0);
        unlink_unexpected(mail, link);
        mail->peer[message->source].held--;
        free(message);
    }
}

void match_close(struct mail *mail)
{
    while (mail->unexpected_first) {
        struct unexpected *message = mail->unexpected_first;
        mail->unexpected_first = message->next;
        free(message);
    }
}
