/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Control slots: what mailboxes say to each other about long messages. They go by the inbox, before
 * the messages that wait for the same peer; those that do not get in now wait here, in order.
 */
#include "msg/mail.h"

#include <string.h>

struct control {
    struct control *next;
    struct slot_head head;
    char data[SLOT_INLINE];
};

/* Whether it is over: sent, or the peer is gone or has closed its mailbox and needs it no more. */
static bool try_control(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    int result = post_append(mail, rank, head, data);
    return result == 0 || result == RH_EDEAD || result == RH_ESTALE || result == RH_ENOSEG;
}

bool control_post(struct mail *mail, int rank, const struct slot_head *head, const void *data)
{
    struct control **end = &mail->peer[rank].controls;
    if (!*end && try_control(mail, rank, head, data))
        return true;
    struct control *control = calloc(1, sizeof(*control));
    if (!control)
        return false;
    control->head = *head;
    memcpy(control->data, data, head->length);
    while (*end)
        end = &(*end)->next;
    *end = control;
    mail->pending_count++;
    return true;
}

static void drop_first(struct mail *mail, int rank)
{
    struct control *control = mail->peer[rank].controls;
    mail->peer[rank].controls = control->next;
    ASSERT(mail->pending_count > 0);
    mail->pending_count--;
    free(control);
}

bool control_settle(struct mail *mail, int rank)
{
    struct control *control;
    while ((control = mail->peer[rank].controls) != NULL &&
           try_control(mail, rank, &control->head, control->data))
        drop_first(mail, rank);
    return control == NULL && post_settle(mail, rank);
}

void control_drop(struct mail *mail, int rank)
{
    while (mail->peer[rank].controls)
        drop_first(mail, rank);
}
