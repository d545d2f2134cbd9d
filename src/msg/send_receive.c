/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public calls of send and receive that return when it is over. What is short and finds its
 * lane goes straight; everything else becomes a request that lives on the stack.
 */
#include "msg/call.h"
#include "msg/match.h"

static rare_path int send_slow(struct rh_msg *msg, int rank, int tag, const void *data,
                               size_t length)
{
    struct mail *mail = msg->mail;
    struct rh_request send = {.msg = msg,
                              .is_send = true,
                              .rank = rank,
                              .tag = tag,
                              .buffer = (char *)(uintptr_t)data,
                              .length = length};
    progress_send(mail, &send);
    if (send.state != STATE_COMPLETE)
        progress(mail);
    bool is_complete = send.state == STATE_COMPLETE;
    mail_give(mail);
    return is_complete ? call_result(&send) : call_finish(&send);
}

int rh_send(struct rh_msg *msg, int rank, int tag, const void *data, size_t length)
{
    struct mail *mail = msg->mail;
    int result = call_send_check(mail, rank, tag);
    if (unlikely(result < 0))
        return result;
    mail_take(mail);
    if (unlikely(length > SLOT_INLINE || !wire_short(mail, rank, tag, data, length)))
        return send_slow(msg, rank, tag, data, length);
    mail_give(mail);
    return 0;
}

int rh_multicast(struct rh_msg *msg, const struct rh_recipients *to, int tag, const void *data,
                 size_t length)
{
    int first_error = 0;
    for (size_t i = 0; i < to->rank_count; i++) {
        int result = rh_send(msg, to->ranks[i], tag, data, length);
        if (result < 0 && first_error == 0)
            first_error = result;
    }
    return first_error;
}

static rare_path int receive_slow(struct rh_msg *msg, const struct wanted *wanted,
                                  struct rh_status *status)
{
    struct mail *mail = msg->mail;
    struct rh_request receive = {.msg = msg,
                                 .rank = wanted->rank,
                                 .tag = wanted->tag,
                                 .buffer = wanted->buffer,
                                 .length = wanted->room};
    if (!match_receive(mail, &receive))
        progress(mail);
    bool is_complete = receive.state == STATE_COMPLETE;
    mail_give(mail);
    int result = is_complete ? call_result(&receive) : call_finish(&receive);
    if (status && (result == 0 || result == RH_ETOOBIG))
        *status = receive.status;
    return result;
}

int rh_recv(struct rh_msg *msg, int rank, int tag, void *buffer, size_t room,
            struct rh_status *status)
{
    struct mail *mail = msg->mail;
    int result = call_receive_check(mail, rank, tag);
    if (unlikely(result < 0))
        return result;
    struct wanted wanted = {.rank = rank, .tag = tag, .buffer = buffer, .room = room};
    mail_take(mail);
    if (unlikely(!wire_next_take(mail, &wanted, status)))
        return receive_slow(msg, &wanted, status);
    mail_give(mail);
    return 0;
}
