/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public calls of send and receive that have requests, and probe; and what all of them share:
 * waiting, and saying what went wrong.
 */
#include "msg/call.h"
#include "msg/match.h"
#include "msg/rendezvous/rendezvous.h"
#include "rma/inside.h"

#include <stdlib.h>

/* ---- Checks --------------------------------------------------------------------------------- */

int call_send_refuse(const struct mail *mail, int rank, int tag)
{
    return error_fail(RH_EINVALID, "send to rank %d with tag %d: ranks are 0 to %d, tags 0 or more",
                      rank, tag, mail->size - 1);
}

int call_receive_refuse(const struct mail *mail, int rank, int tag)
{
    return error_fail(
        RH_EINVALID,
        "receive from rank %d with tag %d: ranks are 0 to %d or RH_ANY_RANK, tags 0 or more or "
        "RH_ANY_TAG",
        rank, tag, mail->size - 1);
}

/* ---- Results -------------------------------------------------------------------------------- */

int call_explain(const struct rh_request *request)
{
    int result = request->result, peer = request->rank;
    if (!request->is_send && peer == RH_ANY_RANK)
        peer = request->status.source;
    const char *what = request->is_send ? "a send to" : "a receive from";
    if (result == RH_ETOOBIG)
        return error_set(result, peer,
                         "a message of %zu bytes from rank %d came for a buffer of %zu; it was cut",
                         request->status.length, peer, request->length);
    if (result == RH_EDEAD)
        return error_set(result, peer, "%s rank %d: it has %s", what, peer,
                         rh_peer_state(request->msg->job, peer) == RH_PEER_LEFT ? "left" : "died");
    if (result == RH_ECANCELED)
        return error_set(result, peer, "%s rank %d: the sender gave up", what, peer);
    return error_set(result, peer, "%s rank %d: %s", what, peer, rh_error_name(result));
}

/* ---- Waiting -------------------------------------------------------------------------------- */

#define LOOKS_BEFORE_SLEEP 256 /* from then on others must wake us */

/* One thread's wait. */
struct waiting {
    struct mail *mail;
    uint32_t looks;
    struct rh_request **requests;
    size_t count;
    size_t found;
};

static void waiting_look(struct waiting *waiting)
{
    if (unlikely(++waiting->looks == LOOKS_BEFORE_SLEEP))
        waiting->mail->waiters++;
    progress(waiting->mail);
}

static void waiting_end(const struct waiting *waiting)
{
    if (likely(waiting->looks < LOOKS_BEFORE_SLEEP))
        return;
    mail_take(waiting->mail);
    waiting->mail->waiters--;
    mail_give(waiting->mail);
}

static bool any_is_complete(void *context)
{
    struct waiting *waiting = context;
    bool found = false;
    mail_take(waiting->mail);
    waiting_look(waiting);
    for (size_t i = 0; i < waiting->count && !found; i++) {
        if (waiting->requests[i] && waiting->requests[i]->state == STATE_COMPLETE) {
            waiting->found = i;
            found = true;
        }
    }
    mail_give(waiting->mail);
    return found;
}

/* Whom a request waits for. A receive from any rank that has found its message waits for one. */
static int awaited(const struct rh_request *request)
{
    bool is_matched = !request->is_send && request->state != STATE_PENDING;
    return is_matched ? request->status.source : request->rank;
}

/* What a wait is about, for people. */
static void describe_request(const struct rh_request *request, struct wait_note *note)
{
    *note = (struct wait_note){.call = request->is_send ? WAIT_SEND : WAIT_RECEIVE,
                               .peer = awaited(request),
                               .number = (uint64_t)(int64_t)request->tag,
                               .length = request->length,
                               .moved = rendezvous_moved(request)};
}

static void describe(void *context, struct wait_note *note)
{
    struct waiting *waiting = context;
    const struct rh_request *last = NULL;
    uint64_t open = 0;
    mail_take(waiting->mail);
    for (size_t i = 0; i < waiting->count; i++) {
        if (waiting->requests[i]) {
            last = waiting->requests[i];
            open++;
        }
    }
    if (open == 1)
        describe_request(last, note);
    else
        *note = (struct wait_note){.call = WAIT_REQUESTS, .peer = RH_ANY_RANK, .number = open};
    mail_give(waiting->mail);
}

static int wait_from(struct waiting *waiting, int from, int64_t timeout_ns)
{
    struct rh_until until = {
        .is_met = any_is_complete, .context = waiting, .from = from, .timeout_ns = timeout_ns};
    int result = rma_wait_until(waiting->mail->job, &until, describe);
    waiting_end(waiting);
    waiting->looks = 0;
    return result;
}

/* Somebody died or left. Once more, now that this is known: what it did before counts. Returns the
 * rank that the request still waits for, or RH_ANY_RANK when it is over. */
static int end_if_dead(struct rh_request *request, int result)
{
    struct mail *mail = request->msg->mail;
    int from = RH_ANY_RANK, dead = rh_error_rank();
    mail_take(mail);
    progress(mail);
    if (request->state != STATE_COMPLETE && awaited(request) != dead)
        from = awaited(request);
    if (request->state != STATE_COMPLETE && from == RH_ANY_RANK) {
        if (request->state == STATE_PENDING)
            request->status.source = dead;
        progress_abort(mail, request, result);
    }
    mail_give(mail);
    return from;
}

static int wait_complete(struct rh_request *request, int64_t timeout_ns)
{
    struct waiting waiting = {.mail = request->msg->mail, .requests = &request, .count = 1};
    int result = wait_from(&waiting, request->rank, timeout_ns);
    if (likely(result != RH_EDEAD))
        return result;
    /* A wait for any rank ends with any death; the message may be on its way from another rank. */
    for (int from; (from = end_if_dead(request, result)) != RH_ANY_RANK;) {
        result = wait_from(&waiting, from, timeout_ns);
        if (result != RH_EDEAD)
            return result;
    }
    return 0;
}

int call_finish(struct rh_request *request)
{
    struct mail *mail = request->msg->mail;
    int result = wait_complete(request, RH_TIMEOUT_DEFAULT);
    if (result < 0) {
        mail_take(mail);
        progress(mail);
        if (request->state != STATE_COMPLETE)
            progress_abort(mail, request, result);
        mail_give(mail);
    }
    if (result < 0 && request->result == result)
        return result; /* explained already, by the wait */
    return call_result(request);
}

/* ---- Requests ------------------------------------------------------------------------------- */

static struct rh_request *make_request(const struct rh_request *like)
{
    struct rh_request *made = malloc(sizeof(*made));
    if (!made)
        error_no_memory("a request");
    else
        *made = *like;
    return made;
}

int rh_isend(struct rh_msg *msg, int rank, int tag, const void *data, size_t length,
             struct rh_request **request)
{
    int result = call_send_check(msg->mail, rank, tag);
    if (result < 0)
        return result;
    struct rh_request *send = make_request(&(struct rh_request){.msg = msg,
                                                                .is_send = true,
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
    int result = call_receive_check(msg->mail, rank, tag);
    if (result < 0)
        return result;
    struct rh_request *receive = make_request(&(struct rh_request){
        .msg = msg, .rank = rank, .tag = tag, .buffer = buffer, .length = room});
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
    int result = call_result(request);
    if (status && (result == 0 || result == RH_ETOOBIG))
        *status = request->status;
    free(request);
    return result;
}

int rh_test_request(struct rh_request *request, struct rh_status *status)
{
    struct waiting waiting = {.mail = request->msg->mail, .requests = &request, .count = 1};
    return any_is_complete(&waiting) ? collect(request, status) : RH_EAGAIN;
}

int rh_wait_request(struct rh_request *request, struct rh_status *status, int64_t timeout_ns)
{
    int result = wait_complete(request, timeout_ns);
    return result < 0 ? result : collect(request, status);
}

/* ---- Several requests ----------------------------------------------------------------------- */

/* Whose end ends a wait for several: everybody's if some message may come from anybody. Else
 * nobody's, which our own rank stands for: progress() ends the requests that hang on a rank that is
 * gone. */
static int awaited_of(const struct waiting *waiting)
{
    int from = waiting->mail->rank;
    mail_take(waiting->mail);
    for (size_t i = 0; i < waiting->count; i++) {
        const struct rh_request *request = waiting->requests[i];
        if (request && request->state != STATE_COMPLETE && awaited(request) == RH_ANY_RANK)
            from = RH_ANY_RANK;
    }
    mail_give(waiting->mail);
    return from;
}

int rh_wait_any(struct rh_request **requests, size_t count, size_t *index, struct rh_status *status,
                int64_t timeout_ns)
{
    struct waiting waiting = {.requests = requests, .count = count};
    for (size_t i = 0; i < count && !waiting.mail; i++)
        waiting.mail = requests[i] ? requests[i]->msg->mail : NULL;
    if (!waiting.mail)
        return error_fail(RH_EINVALID, "none of %zu requests is there to wait for", count);
    int result = wait_from(&waiting, awaited_of(&waiting), timeout_ns);
    if (result < 0)
        return result;
    *index = waiting.found;
    struct rh_request *request = requests[waiting.found];
    requests[waiting.found] = NULL;
    return collect(request, status);
}

int rh_wait_all(struct rh_request **requests, size_t count, int64_t timeout_ns)
{
    int first_error = 0;
    int64_t deadline = INT64_MIN; /* not known yet: any request knows the clock */
    for (size_t i = 0; i < count; i++) {
        if (!requests[i])
            continue;
        struct rh_job *job = requests[i]->msg->job;
        if (deadline == INT64_MIN)
            deadline = rma_deadline_ns(job, timeout_ns < 0 ? 0 : timeout_ns);
        int64_t left = timeout_ns < 0 ? timeout_ns : rma_left_ns(job, deadline);
        int result = rh_wait_request(requests[i], NULL, left);
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
    bool is_own = request->is_send && request->rank == mail->rank &&
                  request->state == STATE_UNDERWAY;
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
    struct waiting waiting;
    int rank, tag;
    struct rh_status status;
};

static bool message_is_there(void *context)
{
    struct probe *probe = context;
    struct mail *mail = probe->waiting.mail;
    mail_take(mail);
    waiting_look(&probe->waiting);
    const struct unexpected *message = match_find(mail, probe->rank, probe->tag);
    if (message)
        match_status_fill(message, &probe->status);
    mail_give(mail);
    return message != NULL;
}

static void describe_probe(void *context, struct wait_note *note)
{
    const struct probe *probe = context;
    *note = (struct wait_note){
        .call = WAIT_PROBE, .peer = probe->rank, .number = (uint64_t)(int64_t)probe->tag};
}

int rh_probe(struct rh_msg *msg, int rank, int tag, struct rh_status *status, int64_t timeout_ns)
{
    struct probe probe = {.waiting.mail = msg->mail, .rank = rank, .tag = tag};
    int result = call_receive_check(msg->mail, rank, tag);
    if (result < 0)
        return result;
    struct rh_until until = {
        .is_met = message_is_there, .context = &probe, .from = rank, .timeout_ns = timeout_ns};
    result = rma_wait_until(msg->job, &until, describe_probe);
    waiting_end(&probe.waiting);
    if (result == 0 && status)
        *status = probe.status;
    return result;
}
