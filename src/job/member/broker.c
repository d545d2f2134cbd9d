/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The member's side of the task manager: one request, one answer, one thread at a time so that they
 * do not take each other's.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "job/member/parts.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Requests that may be unanswered at once, given up ones included: fewer than the answers that fit
 * into the socket, because a manager that cannot answer cuts off. */
#define OWING_MAX 8

void line_open(struct manager_line *line, int fd)
{
    pthread_condattr_t attributes;
    *line = (struct manager_line){.fd = fd};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&line->is_free, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&line->lock, NULL);
}

void line_close(struct manager_line *line)
{
    descriptor_close(&line->fd);
    pthread_mutex_destroy(&line->lock);
    pthread_cond_destroy(&line->is_free);
}

void line_reset(struct manager_line *line)
{
    descriptor_close(&line->fd);
    line->asked = line->answered = 0;
}

static int line_take(struct manager_line *line, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / NS_PER_S, .tv_nsec = deadline_ns % NS_PER_S};
    int result = 0;
    pthread_mutex_lock(&line->lock);
    while (line->is_taken && result == 0)
        result = pthread_cond_timedwait(&line->is_free, &line->lock, &until);
    if (!line->is_taken)
        result = 0;
    line->is_taken = line->is_taken || result == 0;
    pthread_mutex_unlock(&line->lock);
    return -result;
}

static void line_give_back(struct manager_line *line)
{
    ASSERT(line->is_taken);
    pthread_mutex_lock(&line->lock);
    line->is_taken = false;
    pthread_cond_signal(&line->is_free);
    pthread_mutex_unlock(&line->lock);
}

static int manager_lost(const struct rh_job *job, int code)
{
    if (code == -ETIMEDOUT)
        return error_fail(RH_ETIMEOUT,
                          "the task manager has not answered for %.3g s; is the launcher stopped, "
                          "or RHINET_TIMEOUT too short?",
                          (double)job->timeout_ns / (double)NS_PER_S);
    return error_fail(RH_EREFUSED,
                      "the task manager does not answer (%s); was the launcher killed?",
                      strerror(-code));
}

static int wait_for_answer(int fd, int64_t deadline_ns)
{
    for (;;) {
        int left_ms = deadline_left_ms(deadline_ns, clock_now_ns());
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int result = poll(&ready, 1, left_ms);
        if (result > 0)
            return 0;
        if (result < 0 && errno != EINTR)
            return -errno;
        if (left_ms == 0)
            return -ETIMEDOUT;
    }
}

static void close_all(struct descriptor_message *answer)
{
    while (answer->fd_count > 0)
        close(answer->fd[--answer->fd_count]);
}

static int send_request(struct manager_line *line, struct exchange *exchange)
{
    struct descriptor_message question = {.data = &exchange->request,
                                          .length = sizeof(exchange->request),
                                          .fd = {exchange->send_fd},
                                          .fd_count = exchange->send_fd >= 0};
    exchange->request.number = ++line->asked;
    return descriptor_send(line->fd, &question, MSG_DONTWAIT); /* so few always fit */
}

static void note_answer(struct manager_line *line, const struct reply *reply)
{
    if (reply->number - line->answered <= line->asked - line->answered)
        line->answered = reply->number;
}

/* Whether this answers what we ask now. A manager of another version, which has its own idea of
 * numbers, can only refuse. */
static bool is_ours(const struct exchange *exchange)
{
    return exchange->reply.version != PROTOCOL_VERSION ||
           exchange->reply.number == exchange->request.number;
}

/* Answers to what was given up come first; they, and the descriptors in them, are nobody's. */
static int exchange_alone(struct manager_line *line, struct exchange *exchange,
                          struct descriptor_message *answer, int64_t deadline_ns)
{
    bool is_sent = false;
    for (;;) {
        int result = 0;
        ASSERT(line->is_taken);
        ASSERT(line->asked - line->answered <= OWING_MAX);
        if (!is_sent && line->asked - line->answered < OWING_MAX) {
            result = send_request(line, exchange);
            is_sent = true;
        }
        if (result == 0)
            result = wait_for_answer(line->fd, deadline_ns);
        if (result == 0)
            result = descriptor_receive(line->fd, answer, 0);
        if (result < 0)
            return result;
        note_answer(line, &exchange->reply);
        if (is_sent && is_ours(exchange))
            return 0;
        close_all(answer);
    }
}

static int exchange_in_turn(struct rh_job *job, struct exchange *exchange,
                            struct descriptor_message *answer)
{
    struct manager_line *line = &job->line;
    int64_t deadline_ns = clock_deadline_ns(job->timeout_ns);
    exchange->request.version = PROTOCOL_VERSION;
    int result = line_take(line, deadline_ns);
    if (result < 0)
        return result;
    result = exchange_alone(line, exchange, answer, deadline_ns);
    line_give_back(line);
    return result;
}

static int judge_answer(struct exchange *exchange, const struct descriptor_message *answer)
{
    exchange->reply.text[sizeof(exchange->reply.text) - 1] = '\0';
    if (exchange->reply.code < 0)
        return error_fail(exchange->reply.code, "task manager: %s", exchange->reply.text);
    if (exchange->reply.version != PROTOCOL_VERSION)
        return error_fail(RH_EUNSUP,
                          "the task manager is of another version (it speaks %u, this library %u); "
                          "use the same rhinet for both",
                          exchange->reply.version, PROTOCOL_VERSION);
    if (answer->fd_count != exchange->fd_count)
        return error_fail(RH_ECORRUPT, "the task manager sent %d descriptors instead of %d",
                          answer->fd_count, exchange->fd_count);
    return 0;
}

int job_exchange(struct rh_job *job, struct exchange *exchange)
{
    struct descriptor_message answer = {.data = &exchange->reply,
                                        .length = sizeof(exchange->reply)};
    int cancel_state;
    /* A thread that is cancelled here would keep the line, and descriptors, for ever. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    int result = exchange_in_turn(job, exchange, &answer);
    exchange->is_lost = result < 0 && result != -ETIMEDOUT;
    if (result < 0)
        result = manager_lost(job, result);
    else
        result = judge_answer(exchange, &answer);
    if (result < 0)
        close_all(&answer);
    else
        memcpy(exchange->fd, answer.fd, sizeof(exchange->fd));
    pthread_setcancelstate(cancel_state, &cancel_state);
    return result;
}

/* The usual form: nothing sent, one descriptor back. */
static int ask_for_descriptor(struct rh_job *job, struct request request, int *fd)
{
    struct exchange exchange = {.request = request, .send_fd = -1, .fd_count = 1};
    int result = job_exchange(job, &exchange);
    if (result == 0)
        *fd = exchange.fd[0];
    return result;
}

static int broker_common(void *context, uint64_t length, int *fd)
{
    struct request request = {.kind = REQUEST_COMMON, .length = length};
    return ask_for_descriptor(context, request, fd);
}

static int broker_publish(void *context, rh_sid sid, unsigned rights, int fd)
{
    struct exchange exchange = {.request = {.kind = REQUEST_PUBLISH, .sid = sid, .rights = rights},
                                .send_fd = fd};
    return job_exchange(context, &exchange);
}

static int broker_withdraw(void *context, rh_sid sid)
{
    struct exchange exchange = {.request = {.kind = REQUEST_WITHDRAW, .sid = sid}, .send_fd = -1};
    return job_exchange(context, &exchange);
}

static int broker_fetch(void *context, int rank, rh_sid sid, int *fd)
{
    struct request request = {.kind = REQUEST_FETCH, .rank = rank, .sid = sid};
    return ask_for_descriptor(context, request, fd);
}

static int broker_service_line(void *context, int *fd)
{
    struct request request = {.kind = REQUEST_SERVICE_LINE};
    return ask_for_descriptor(context, request, fd);
}

static int broker_service_connect(void *context, int rank, int *fd)
{
    struct request request = {.kind = REQUEST_SERVICE_CONNECT, .rank = rank};
    return ask_for_descriptor(context, request, fd);
}

static int broker_card_put(void *context, const void *card, size_t length)
{
    struct exchange exchange = {.request = {.kind = REQUEST_CARD_PUT, .length = length},
                                .send_fd = -1};
    if (length > sizeof(exchange.request.card))
        return error_fail(RH_EINVALID, "a card of %zu bytes is too long", length);
    memcpy(exchange.request.card, card, length);
    return job_exchange(context, &exchange);
}

static int broker_card_get(void *context, int rank, void *card, size_t *length)
{
    struct exchange exchange = {.request = {.kind = REQUEST_CARD_GET, .rank = rank}, .send_fd = -1};
    int result = job_exchange(context, &exchange);
    if (result < 0)
        return result;
    if (exchange.reply.card_length > sizeof(exchange.reply.card) ||
        exchange.reply.card_length > *length)
        return error_set(RH_ECORRUPT, rank, "the task manager sent a card of %u bytes",
                         exchange.reply.card_length);
    *length = exchange.reply.card_length;
    memcpy(card, exchange.reply.card, *length);
    return 0;
}

const struct nic_broker job_broker = {.card_put = broker_card_put,
                                      .card_get = broker_card_get,
                                      .common = broker_common,
                                      .publish = broker_publish,
                                      .withdraw = broker_withdraw,
                                      .fetch = broker_fetch,
                                      .service_line = broker_service_line,
                                      .service_connect = broker_service_connect};
