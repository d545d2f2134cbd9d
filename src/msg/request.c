/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public calls of send and receive.
 */
#include "base/clock.h"
#include "msg/mail.h"

#include <stdlib.h>

/* ---- Checks --------------------------------------------------------------------------------- */

static int check_send(const struct mail *mail, int rank, int tag)
{
    if (likely((unsigned)rank < (unsigned)mail->size && tag >= 0))
        return 0;
    return error_set(RH_EINVALID, ERROR_NO_RANK,
                     "send to rank %d with tag %d: ranks are 0 to %d, tags 0 or more", rank, tag,
                     mail->size - 1);
}

static int check_receive(const struct mail *mail, int rank, int tag)
{
    bool rank_is_valid = rank == RH_ANY_RANK || (unsigned)rank < (unsigned)mail->size;
    if (likely(rank_is_valid && (tag >= 0 || tag == RH_ANY_TAG)))
        return 0;
    return error_set(
        RH_EINVALID, ERROR_NO_RANK,
        "receive from rank %d with tag %d: ranks are 0 to %d or RH_ANY_RANK, tags 0 or "
        "more or RH_ANY_TAG",
        rank, tag, mail->size - 1);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static bool request_is_complete(void *context)
{
    struct rh_request *request = context;
    struct mail *mail = request->msg->mail;
    mail_take(mail);
    progress(mail);
    bool complete = request->state == STATE_COMPLETE;
    mail_give(mail);
    return complete;
}

/* Once more, now that the peer is known to be gone: what it did before counts. */
static int end_request(struct rh_request *request, int result)
{
    struct mail *mail = request->msg->mail;
    mail_take(mail);
    progress(mail);
    if (request->state != STATE_COMPLETE)
        progress_abort(mail, request, result);
    mail_give(mail);
    return 0;
}

static int wait_complete(struct rh_request *request, int64_t timeout_ns)
{
    if (request->state == STATE_COMPLETE)
        return 0;
    struct rh_until until = {.is_met = request_is_complete,
                             .context = request,
                             .from = request->rank,
                             .timeout_ns = timeout_ns};
    int result = rh_wait_until(request->msg->job, &until);
    return result == RH_EDEAD ? end_request(request, result) : result;
}

/* Waits for a request of ours on the stack; it is over in any case when this returns. */
static int finish(struct rh_request *request)
{
    int result = wait_complete(request, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        end_request(request, result);
    return request->result;
}

/* ---- Blocking calls ------------------------------------------------------------------------- */

static int send_slow(struct rh_msg *msg, int rank, int tag, const void *data, size_t length)
{
    struct mail *mail = msg->mail;
    struct rh_request send = {.msg = msg,
                              .kind_of = REQUEST_SEND,
                              .rank = rank,
                              .tag = tag,
                              .buffer = (char *)(uintptr_t)data,
                              .length = length};
    progress_send(mail, &send);
    if (send.state != STATE_COMPLETE && rank != mail->rank)
        progress(mail);
    mail_give(mail);
    return send.state == STATE_COMPLETE ? send.result : finish(&send);
}

int rh_send(struct rh_msg *msg, int rank, int tag, const void *data, size_t length)
{
    struct mail *mail = msg->mail;
    int result = check_send(mail, rank, tag);
    if (unlikely(result < 0))
        return result;
    mail_take(mail);
    struct peer *peer = &mail->peer[rank];
    if (unlikely(length > SLOT_INLINE || peer->lane < 0 || peer->pending.first ||
                 !lane_has_room(mail, rank, LANE_SLOTS)))
        return send_slow(msg, rank, tag, data, length);
    struct slot_head head = {.tag = tag, .kind = SLOT_INLINED, .length = (uint16_t)length};
    result = wire_lane(mail, rank, &head, data);
    counter_add(mail->counters, COUNTER_MSG_INLINE, 1);
    counter_add(mail->counters, COUNTER_MSG_BYTES, length);
    mail_give(mail);
    return result;
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

int rh_recv(struct rh_msg *msg, int rank, int tag, void *buffer, size_t room,
            struct rh_status *status)
{
    struct mail *mail = msg->mail;
    int result = check_receive(mail, rank, tag);
    if (unlikely(result < 0))
        return result;
    struct rh_request receive = {.msg = msg,
                                 .kind_of = REQUEST_RECEIVE,
                                 .rank = rank,
                                 .tag = tag,
                                 .buffer = buffer,
                                 .length = room};
    mail_take(mail);
    if (!match_receive(mail, &receive))
        progress(mail);
    mail_give(mail);
    result = receive.state == STATE_COMPLETE ? receive.result : finish(&receive);
    if (status && (result == 0 || result == RH_ETOOBIG))
        *status = receive.status;
    return result;
}

/* ---- Requests ------------------------------------------------------------------------------- */

static struct rh_request *make_request(const struct rh_request *like)
{
    struct rh_request *made = malloc(sizeof(*made));
    if (!made)
        error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for a request");
    else
        *made = *like;
    return made;
}

int rh_isend(struct rh_msg *msg, int rank, int tag, const void *data, size_t length,
             struct rh_request **request)
{
    int result = check_send(msg->mail, rank, tag);
    if (result < 0)
        return result;
    struct rh_request *send = make_request(&(struct rh_request){.msg = msg,
                                                                .kind_of = REQUEST_SEND,
                                                                .rank = rank,
                                                                .tag = tag,
                                                                .buffer = (char *)(uintptr_t)data,
                                                                .length = length});
    if (!send)
        return RH_ENOSPACE;
    mail_take(msg->mail);
    progress_send(msg->mail, send);
    mail_give(msg->mail);
    *request = send;
    return 0;
}

int rh_irecv(struct rh_msg *msg, int rank, int tag, void *buffer, size_t room,
             struct rh_request **request)
{
    int result = check_receive(msg->mail, rank, tag);
    if (result < 0)
        return result;
    struct rh_request *receive = make_request(&(struct rh_request){.msg = msg,
                                                                   .kind_of = REQUEST_RECEIVE,
                                                                   .rank = rank,
                                                                   .tag = tag,
                                                                   .buffer = buffer,
                                                                   .length = room});
    if (!receive)
        return RH_ENOSPACE;
    mail_take(msg->mail);
    wire_poll(msg->mail); /* what came earlier goes to receives that were posted earlier */
    match_receive(msg->mail, receive);
    mail_give(msg->mail);
    *request = receive;
    return 0;
}

/* The request is complete: its result, and it is gone. */
static int collect(struct rh_request *request, struct rh_status *status)
{
    int result = request->result;
    if (status && (result == 0 || result == RH_ETOOBIG))
        *status = request->status;
    free(request);
    return result;
}

int rh_test_request(struct rh_request *request, struct rh_status *status)
{
    return request_is_complete(request) ? collect(request, status) : RH_EAGAIN;
}

int rh_wait_request(struct rh_request *request, struct rh_status *status, int64_t timeout_ns)
{
    int result = wait_complete(request, timeout_ns);
    return result < 0 ? result : collect(request, status);
}

/* ---- Several requests ----------------------------------------------------------------------- */

struct several {
    struct rh_request **requests;
    size_t count;
    struct rh_msg *msg;
    size_t found;
};

static bool any_is_complete(void *context)
{
    struct several *several = context;
    struct mail *mail = several->msg->mail;
    bool found = false;
    mail_take(mail);
    progress(mail);
    for (size_t i = 0; i < several->count && !found; i++) {
        if (several->requests[i] && several->requests[i]->state == STATE_COMPLETE) {
            several->found = i;
            found = true;
        }
    }
    mail_give(mail);
    return found;
}

int rh_wait_any(struct rh_request **requests, size_t count, size_t *index, struct rh_status *status,
                int64_t timeout_ns)
{
    struct several several = {.requests = requests, .count = count};
    for (size_t i = 0; i < count && !several.msg; i++)
        several.msg = requests[i] ? requests[i]->msg : NULL;
    if (!several.msg)
        return error_set(RH_EINVALID, ERROR_NO_RANK, "none of %zu requests is there to wait for",
                         count);
    struct rh_until until = {.is_met = any_is_complete,
                             .context = &several,
                             .from = RH_ANY_RANK,
                             .timeout_ns = timeout_ns};
    int result = rh_wait_until(several.msg->job, &until);
    if (result < 0)
        return result;
    *index = several.found;
    struct rh_request *request = requests[several.found];
    requests[several.found] = NULL;
    return collect(request, status);
}

int rh_wait_all(struct rh_request **requests, size_t count, int64_t timeout_ns)
{
    int first_error = 0;
    int64_t deadline = clock_deadline_ns(timeout_ns < 0 ? 0 : timeout_ns);
    for (size_t i = 0; i < count; i++) {
        int64_t left = timeout_ns < 0 ? timeout_ns : deadline - clock_now_ns();
        if (!requests[i])
            continue;
        int result = rh_wait_request(requests[i], NULL, timeout_ns >= 0 && left < 0 ? 0 : left);
        if (result != RH_ETIMEOUT && result != RH_EAGAIN)
            requests[i] = NULL;
        if (result < 0 && first_error == 0)
            first_error = result;
    }
    return first_error;
}

int rh_cancel(struct rh_request *request)
{
    struct mail *mail = request->msg->mail;
    int result = RH_EAGAIN;
    mail_take(mail);
    bool is_own = request->kind_of == REQUEST_SEND && request->rank == mail->rank &&
                  request->state == STATE_ANNOUNCED;
    if (request->state == STATE_PENDING || is_own) {
        progress_abort(mail, request, RH_ECANCELED);
        result = 0;
    }
    mail_give(mail);
    if (result == 0)
        free(request);
    return result;
}

/* ---- Probe ---------------------------------------------------------------------------------- */

struct probe {
    struct mail *mail;
    int rank, tag;
    struct rh_status status;
};

static bool message_is_there(void *context)
{
    struct probe *probe = context;
    mail_take(probe->mail);
    progress(probe->mail);
    const struct unexpected *message = match_find(probe->mail, probe->rank, probe->tag);
    if (message)
        match_fill_status(message, &probe->status);
    mail_give(probe->mail);
    return message != NULL;
}

int rh_probe(struct rh_msg *msg, int rank, int tag, struct rh_status *status, int64_t timeout_ns)
{
    struct probe probe = {.mail = msg->mail, .rank = rank, .tag = tag};
    int result = check_receive(msg->mail, rank, tag);
    if (result < 0)
        return result;
    struct rh_until until = {
        .is_met = message_is_there, .context = &probe, .from = rank, .timeout_ns = timeout_ns};
    result = rh_wait_until(msg->job, &until);
    if (result == 0 && status)
        *status = probe.status;
    return result;
}
