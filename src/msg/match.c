/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bringing messages and receives together: the oldest message that fits, the oldest receive that
 * fits. A message that nobody waits for is kept until somebody asks; how many may pile up is limited
 * by the senders' lanes and credit, not here.
 */
#include "msg/mail.h"

#include <stdlib.h>
#include <string.h>

static bool fits(const struct rh_request *receive, int source, int tag)
{
    return (receive->rank == source || receive->rank == RH_ANY_RANK) &&
           (receive->tag == tag || receive->tag == RH_ANY_TAG);
}

static struct rh_request *find_posted(struct mail *mail, int source, int tag)
{
    struct rh_request *receive = mail->posted.first;
    while (receive && !fits(receive, source, tag))
        receive = receive->next;
    return receive;
}

/* ---- Handing over --------------------------------------------------------------------------- */

static void deliver(struct rh_request *receive, const char *data, size_t length)
{
    size_t part = length < receive->length ? length : receive->length;
    memcpy(receive->buffer, data, part);
    int result = 0;
    if (unlikely(length > receive->length))
        result = error_set(RH_ETOOBIG, receive->status.source,
                           "a message of %zu bytes came for a buffer of %zu; it was cut", length,
                           receive->length);
    request_complete(receive, result);
}

static void set_status(struct rh_request *receive, int source, int tag, size_t length)
{
    receive->status = (struct rh_status){.source = source, .tag = tag, .length = length};
}

static void hand_over(struct mail *mail, struct rh_request *receive, const struct arrived *arrived)
{
    set_status(receive, arrived->source, arrived->head->tag, arrived->length);
    if (arrived->head->kind == SLOT_ANNOUNCE) {
        memcpy(&receive->announced, arrived->data, sizeof(receive->announced));
        receive->status.length = receive->announced.length;
        stream_receive(mail, receive);
    } else {
        deliver(receive, arrived->data, arrived->length);
    }
    counter_add(mail->counters, COUNTER_MSG_RECEIVED, 1);
    wire_consumed(mail, arrived->source, arrived->by_inbox);
}

/* ---- Unexpected messages -------------------------------------------------------------------- */

static void keep(struct mail *mail, struct unexpected *message)
{
    message->next = NULL;
    *mail->unexpected_end = message;
    mail->unexpected_end = &message->next;
    counter_add(mail->counters, COUNTER_MSG_UNEXPECTED, 1);
}

static void hold(struct mail *mail, const struct arrived *arrived)
{
    struct unexpected *message = malloc(sizeof(*message) + arrived->length);
    if (!message) { /* the one loss there can be, so it is said out loud */
        error_set(RH_ENOSPACE, arrived->source, "no memory for a message of %zu bytes",
                  arrived->length);
        abort();
    }
    *message = (struct unexpected){.source = arrived->source,
                                   .by_inbox = arrived->by_inbox,
                                   .head = *arrived->head,
                                   .length = arrived->length};
    memcpy(message->data, arrived->data, arrived->length);
    mail->peer[arrived->source].held++;
    keep(mail, message);
}

static bool is_well_formed(const struct arrived *arrived)
{
    switch (arrived->head->kind) {
    case SLOT_INLINED:
    case SLOT_BLOCK:
        return true;
    case SLOT_ANNOUNCE:
        return arrived->length >= sizeof(struct announcement);
    case SLOT_PROCEED:
        return arrived->length >= sizeof(struct go_ahead);
    case SLOT_FINISHED:
        return arrived->length >= sizeof(uint32_t);
    }
    return false; /* a broken peer's; there is nobody to tell */
}

void match_arrival(struct mail *mail, const struct arrived *arrived)
{
    if (!is_well_formed(arrived))
        return;
    if (arrived->head->kind == SLOT_PROCEED) {
        struct go_ahead go_ahead;
        memcpy(&go_ahead, arrived->data, sizeof(go_ahead));
        stream_proceed(mail, arrived->source, &go_ahead);
        return;
    }
    if (arrived->head->kind == SLOT_FINISHED) {
        uint32_t send_id;
        memcpy(&send_id, arrived->data, sizeof(send_id));
        stream_finished(mail, arrived->source, send_id);
        return;
    }
    struct rh_request *receive = find_posted(mail, arrived->source, arrived->head->tag);
    if (!receive) {
        hold(mail, arrived);
        return;
    }
    list_remove(&mail->posted, receive);
    hand_over(mail, receive, arrived);
}

static struct unexpected **find_unexpected(const struct mail *mail, int rank, int tag)
{
    const struct rh_request wanted = {.rank = rank, .tag = tag};
    struct unexpected **link = (struct unexpected **)&mail->unexpected_first;
    while (*link && !fits(&wanted, (*link)->source, (*link)->head.tag))
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
    counter_add(mail->counters, COUNTER_MSG_RECEIVED, 1);
    list_remove(&mail->sending, send);
    request_complete(send, 0);
}

bool match_receive(struct mail *mail, struct rh_request *receive)
{
    struct unexpected **link = find_unexpected(mail, receive->rank, receive->tag);
    struct unexpected *message = *link;
    if (likely(!message)) {
        list_append(&mail->posted, receive);
        return false;
    }
    unlink_unexpected(mail, link);
    if (message->own_send) {
        take_own(mail, receive, message->own_send);
    } else {
        struct arrived arrived = {.source = message->source,
                                  .by_inbox = message->by_inbox,
                                  .head = &message->head,
                                  .data = message->data,
                                  .length = message->length};
        mail->peer[message->source].held--;
        hand_over(mail, receive, &arrived);
    }
    free(message);
    return true;
}

const struct unexpected *match_find(const struct mail *mail, int rank, int tag)
{
    return *find_unexpected(mail, rank, tag);
}

void match_fill_status(const struct unexpected *message, struct rh_status *status)
{
    status->source = message->source;
    status->tag = message->head.tag;
    status->length = message->length;
    if (message->own_send) {
        status->length = message->own_send->length;
    } else if (message->head.kind == SLOT_ANNOUNCE) {
        struct announcement announcement;
        memcpy(&announcement, message->data, sizeof(announcement));
        status->length = announcement.length;
    }
}

void match_own(struct mail *mail, struct rh_request *send)
{
    struct rh_request *receive = find_posted(mail, mail->rank, send->tag);
    list_append(&mail->sending, send);
    send->state = STATE_ANNOUNCED;
    if (receive) {
        list_remove(&mail->posted, receive);
        take_own(mail, receive, send);
        return;
    }
    struct unexpected *message = calloc(1, sizeof(*message));
    if (!message) {
        list_remove(&mail->sending, send);
        request_complete(send, error_set(RH_ENOSPACE, mail->rank, "no memory for a message"));
        return;
    }
    message->source = mail->rank;
    message->head.tag = send->tag;
    message->own_send = send;
    keep(mail, message);
}

void match_forget_own(struct mail *mail, const struct rh_request *send)
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

void match_close(struct mail *mail)
{
    while (mail->unexpected_first) {
        struct unexpected *message = mail->unexpected_first;
        mail->unexpected_first = message->next;
        free(message);
    }
}
