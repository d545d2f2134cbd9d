/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The member's side of the task manager: one request, one answer, under a lock so that threads do
 * not take each other's.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "job/exchange.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int manager_lost(int code)
{
    return error_set(RH_EREFUSED, ERROR_NO_RANK,
                     "the task manager does not answer (%s); was the launcher killed?",
                     strerror(-code));
}

static int wait_for_answer(int fd, int64_t timeout_ns)
{
    int64_t deadline = clock_deadline_ns(timeout_ns);
    for (;;) {
        int64_t left_ms = (deadline - clock_now_ns()) / NS_PER_MS;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int result = poll(&ready, 1, left_ms < 0 ? 0 : left_ms > 1000 ? 1000 : (int)left_ms);
        if (result > 0)
            return 0;
        if (result < 0 && errno != EINTR)
            return -errno;
        if (left_ms <= 0)
            return -ETIMEDOUT;
    }
}

static int exchange_locked(struct rh_job *job, struct exchange *exchange,
                           struct descriptor_message *answer)
{
    struct descriptor_message question = {.data = &exchange->request,
                                          .length = sizeof(exchange->request),
                                          .fd = {exchange->send_fd},
                                          .fd_count = exchange->send_fd >= 0};
    int result = descriptor_send(job->manager_fd, &question, 0);
    if (result == 0)
        result = wait_for_answer(job->manager_fd, job->timeout_ns);
    if (result == 0)
        result = descriptor_receive(job->manager_fd, answer, 0);
    return result;
}

int job_exchange(struct rh_job *job, struct exchange *exchange)
{
    struct descriptor_message answer = {.data = &exchange->reply,
                                        .length = sizeof(exchange->reply)};
    exchange->request.version = PROTOCOL_VERSION;
    pthread_mutex_lock(&job->manager_lock);
    int result = exchange_locked(job, exchange, &answer);
    pthread_mutex_unlock(&job->manager_lock);
    if (result < 0)
        return manager_lost(result);
    exchange->reply.text[sizeof(exchange->reply.text) - 1] = '\0';
    if (exchange->reply.code < 0)
        result = error_set(exchange->reply.code, ERROR_NO_RANK, "task manager: %s",
                           exchange->reply.text);
    else if (answer.fd_count != exchange->fd_count)
        result = error_set(RH_ECORRUPT, ERROR_NO_RANK,
                           "the task manager sent %d descriptors instead of %d", answer.fd_count,
                           exchange->fd_count);
    if (result < 0) {
        while (answer.fd_count > 0)
            close(answer.fd[--answer.fd_count]);
        return result;
    }
    memcpy(exchange->fd, answer.fd, sizeof(exchange->fd));
    return 0;
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

static int broker_agent_line(void *context, int *fd)
{
    struct request request = {.kind = REQUEST_AGENT_LINE};
    return ask_for_descriptor(context, request, fd);
}

static int broker_agent_connect(void *context, int rank, int *fd)
{
    struct request request = {.kind = REQUEST_AGENT_CONNECT, .rank = rank};
    return ask_for_descriptor(context, request, fd);
}

static int broker_card_put(void *context, const void *card, size_t length)
{
    struct exchange exchange = {.request = {.kind = REQUEST_CARD_PUT, .length = length},
                                .send_fd = -1};
    if (length > sizeof(exchange.request.card))
        return error_set(RH_EINVALID, ERROR_NO_RANK, "a card of %zu bytes is too long", length);
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

void job_broker_fill(struct rh_job *job)
{
    job->broker = (struct nic_broker){.context = job,
                                      .card_put = broker_card_put,
                                      .card_get = broker_card_get,
                                      .common = broker_common,
                                      .publish = broker_publish,
                                      .withdraw = broker_withdraw,
                                      .fetch = broker_fetch,
                                      .agent_line = broker_agent_line,
                                      .agent_connect = broker_agent_connect};
}
