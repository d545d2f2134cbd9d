/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The four calls that alternate, and waiting. What is the same for every implementation lives here:
 * the rules, the deadlines, and what becomes of the buffer after an error.
 */
#include "pm/context.h"

#define PAUSE_FIRST_NS 1000
#define PAUSE_LAST_NS  64000

/* ---- Sending -------------------------------------------------------------------------------- */

static int refuse_buffer(const struct pm_context *pm, int rank, size_t length)
{
    if (pm->is_send_out)
        return pm_fail(RH_EINVALID,
                       "the buffer for rank %d is not sent yet: pmSend() or pmCancelSend() first",
                       pm->send_rank);
    if (length > pm->ops->message_max)
        return pm_fail(RH_ETOOBIG, "message of %zu bytes; %s carries up to %zu", length,
                       pm->ops->name, pm->ops->message_max);
    return pm_fail(RH_EINVALID, "rank %d is outside the job, which has ranks 0 to %d", rank,
                   rh_size(pm->job) - 1);
}

int pmGetSendBuffer(struct pm_context *pm, int rank, size_t length, void **buffer)
{
    if (unlikely(pm->is_send_out || length > pm->ops->message_max || rank < 0 ||
                 rank >= rh_size(pm->job)))
        return refuse_buffer(pm, rank, length);
    pm->is_send_out = true;
    pm->send_rank = rank;
    pm->send_length = length;
    *buffer = pm_send_data(pm);
    return 0;
}

static int refuse_send(void)
{
    return pm_fail(RH_EINVALID, "there is nothing to send: pmGetSendBuffer() first");
}

/* Whether the message is sent, or never will be: then the buffer is free again. */
static inline bool is_settled(int result)
{
    return likely(result == 0) || result == RH_EDEAD || result == RH_ESTALE;
}

int pmSend(struct pm_context *pm)
{
    if (unlikely(!pm->is_send_out))
        return refuse_send();
    int result = pm->ops->send(pm);
    if (is_settled(result))
        pm->is_send_out = false;
    return result;
}

int pmCancelSend(struct pm_context *pm)
{
    if (!pm->is_send_out)
        return refuse_send();
    pm->is_send_out = false;
    return 0;
}

/* ---- Waiting for room ----------------------------------------------------------------------- */

/* Room cannot be waited for as a word can: whoever wants to know has to ask. So the wait asks, ever
 * more rarely, since asking slows the receiver down. */
struct retry {
    struct pm_context *pm;
    int64_t next_ns;
    int64_t pause_ns;
    int result;
};

/* A wait may ask again after it was told yes: a message must not be sent twice. */
static bool try_again(void *context)
{
    struct retry *retry = context;
    if (retry->result != RH_EAGAIN)
        return true;
    int64_t now = rh_clock_ns(retry->pm->job);
    if (now < retry->next_ns)
        return false;
    retry->result = retry->pm->ops->send(retry->pm);
    if (retry->result != RH_EAGAIN)
        return true;
    retry->next_ns = now + retry->pause_ns;
    if (retry->pause_ns < PAUSE_LAST_NS)
        retry->pause_ns *= 2;
    return false;
}

int pm_send_wait(struct pm_context *pm, int64_t timeout_ns)
{
    struct retry retry = {.pm = pm, .pause_ns = PAUSE_FIRST_NS, .result = RH_EAGAIN};
    struct rh_until until = {
        .is_met = try_again, .context = &retry, .from = pm->send_rank, .timeout_ns = timeout_ns};
    int result = rh_wait_until(pm->job, &until);
    if (result == 0)
        return retry.result;
    if (result == RH_ETIMEOUT)
        return pm_fail(result, "rank %d had no room in time: does it receive, with %s?",
                       pm->send_rank, pm->ops->name);
    return pm_pass(result);
}

int pmSendWait(struct pm_context *pm, int64_t timeout_ns)
{
    int result = pmSend(pm);
    if (likely(result != RH_EAGAIN) || timeout_ns == 0)
        return result;
    result = pm->ops->send_wait(pm, timeout_ns);
    if (is_settled(result))
        pm->is_send_out = false;
    return result;
}

/* ---- Receiving ------------------------------------------------------------------------------ */

static int refuse_receive(void)
{
    return pm_fail(RH_EINVALID, "the last message is still out: pmReleaseReceiveBuffer() first");
}

struct look {
    struct pm_context *pm;
    struct pm_message *message;
    int result;
};

/* As above: found once is found. */
static bool has_message(void *context)
{
    struct look *look = context;
    if (look->result != RH_EAGAIN)
        return true;
    look->result = look->pm->ops->look(look->pm, look->message);
    return look->result != RH_EAGAIN;
}

int pm_look_wait(struct pm_context *pm, struct pm_message *message, int64_t timeout_ns)
{
    struct look look = {.pm = pm, .message = message, .result = RH_EAGAIN};
    struct rh_until until = {
        .is_met = has_message, .context = &look, .from = RH_ANY_RANK, .timeout_ns = timeout_ns};
    if (pm->ops->places)
        pm->ops->places(pm, &until);
    int result = rh_wait_until(pm->job, &until);
    return result == 0 ? look.result : pm_pass(result);
}

int pmReceiveWait(struct pm_context *pm, struct pm_message *message, int64_t timeout_ns)
{
    struct pm_message found;
    if (unlikely(pm->is_message_out))
        return refuse_receive();
    int result = pm->ops->look(pm, &found);
    if (unlikely(result == RH_EAGAIN))
        result = pm->ops->look_wait(pm, &found, timeout_ns);
    if (unlikely(result < 0))
        return result;
    *message = found;
    pm->is_message_out = true;
    return 0;
}

int pmReceive(struct pm_context *pm, struct pm_message *message)
{
    return pmReceiveWait(pm, message, RH_TIMEOUT_NONE);
}

int pmReleaseReceiveBuffer(struct pm_context *pm)
{
    if (unlikely(!pm->is_message_out))
        return pm_fail(RH_EINVALID, "there is nothing to release: pmReceive() first");
    pm->is_message_out = false;
    pm->ops->release(pm);
    return 0;
}
