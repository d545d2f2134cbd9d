/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends, plain and tagged. What fits into a slot goes at once, without an operation.
 */
#include "provider/op.h"

/* By a lane that the NIC must write. */
static rare_path bool send_short_far(const struct endpoint *endpoint, uint64_t place,
                                     uint32_t label, const struct message_envelope *envelope,
                                     const void *buffer, size_t length)
{
    char whole[SLOT_INLINE];
    memcpy(whole, envelope, sizeof(*envelope));
    slot_copy(whole + sizeof(*envelope), buffer, length);
    return parcel_send_short(endpoint->engine->mail, place_rank(place), label, whole,
                             sizeof(*envelope) + length);
}

/* Without an operation. Whether it has gone. */
static inline bool send_short(const struct endpoint *endpoint, uint64_t place, uint32_t label,
                              const struct message_envelope *envelope, const void *buffer,
                              size_t length)
{
    struct mail *mail = endpoint->engine->mail;
    struct slot *slot = wire_slot_take(mail, place_rank(place));
    if (unlikely(!slot))
        return send_short_far(endpoint, place, label, envelope, buffer, length);
    memcpy(slot->data, envelope, sizeof(*envelope));
    slot_copy(slot->data + sizeof(*envelope), buffer, length);
    wire_slot_send(mail, place_rank(place), slot, (int32_t)label, sizeof(*envelope) + length);
    return true;
}

static bool is_short(const struct endpoint *endpoint, uint64_t place, size_t length)
{
    return length <= SLOT_INLINE - sizeof(struct message_envelope) &&
           place_rank(place) != endpoint->engine->mail->rank;
}

/* ---- Operations ----------------------------------------------------------------------------- */

static ssize_t start(struct endpoint *endpoint, const struct sending *sending, struct op *op,
                     uint64_t place)
{
    struct engine *engine = endpoint->engine;
    bool is_own = place_rank(place) == engine->mail->rank;
    bool is_injected = sending->flags & FI_INJECT;
    bool asks = op->label & LABEL_ASKS;
    if (asks && !is_own && !op_await(engine, op))
        return -FI_EAGAIN;
    op->is_answered = !asks;
    struct message_envelope envelope = {
        .tag = sending->tag, .data = (uint32_t)op->data, .number = op->number};
    memcpy(op->envelope, &envelope, sizeof(envelope));
    op->request.envelope_length = sizeof(envelope);
    if (!is_own)
        return op_dispatch(op, place, op->label, sending->iov, sending->count, is_injected);
    if ((sending->count > 1 || is_injected) && !op_bounce(op, sending->iov, sending->count))
        return -FI_EAGAIN;
    message_own(op);
    return 0;
}

static ssize_t post(struct endpoint *endpoint, const struct sending *sending, uint64_t place,
                    uint32_t label)
{
    struct op *op = op_make(endpoint, OP_SEND);
    if (!op)
        return -FI_EAGAIN;
    op->count = COUNT_SEND;
    op->context = sending->context;
    op->flags = FI_SEND | (sending->is_tagged ? FI_TAGGED : FI_MSG);
    op->is_silent = (endpoint->is_send_selective && !(sending->flags & FI_COMPLETION)) ||
                    (sending->flags & SEND_IS_QUIET);
    op->label = label;
    op->tag = sending->tag;
    op->data = sending->flags & FI_REMOTE_CQ_DATA ? sending->data : 0;
    op->request.buffer = sending->count > 0 ? sending->iov[0].iov_base : NULL;
    op->request.length = iov_length(sending->iov, sending->count);
    ssize_t result = start(endpoint, sending, op, place);
    if (result < 0)
        op_free(endpoint->engine, op);
    return result;
}

static void complete_short(struct endpoint *endpoint, const struct sending *sending)
{
    counter_step(endpoint->counter[COUNT_SEND], false);
    bool is_silent = (endpoint->is_send_selective && !(sending->flags & FI_COMPLETION)) ||
                     (sending->flags & SEND_IS_QUIET);
    if (is_silent || !endpoint->send_queue)
        return;
    struct completion *completion = queue_slot(endpoint->send_queue);
    if (unlikely(!completion))
        return;
    *completion = (struct completion){
        .entry = {.op_context = sending->context,
                  .flags = FI_SEND | (sending->is_tagged ? FI_TAGGED : FI_MSG),
                  .tag = sending->tag},
        .source = FI_ADDR_NOTAVAIL};
    queue_put(endpoint->send_queue);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static uint32_t make_label(const struct endpoint *endpoint, const struct sending *sending,
                           uint64_t place)
{
    uint32_t label = label_make(sending->is_tagged ? SUBJECT_TAGGED : SUBJECT_PLAIN, endpoint->port,
                                place_port(place));
    if (sending->flags & FI_REMOTE_CQ_DATA)
        label |= LABEL_HAS_DATA;
    if (sending->flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE))
        label |= LABEL_ASKS;
    return label;
}

static ssize_t check(const struct endpoint *endpoint, const struct sending *sending)
{
    if (!endpoint->is_enabled)
        return -FI_EOPBADSTATE;
    if (sending->count > IOV_MAX_COUNT)
        return -FI_EINVAL;
    if ((sending->flags & FI_INJECT) && iov_length(sending->iov, sending->count) > INJECT_MAX)
        return -FI_EMSGSIZE;
    return 0;
}

ssize_t send_post(struct endpoint *endpoint, const struct sending *sending)
{
    bool has_gone = false;
    engine_take(endpoint->engine); /* also for the vector, which may grow meanwhile */
    uint64_t place;
    ssize_t result = vector_reach(endpoint->vector, sending->to, &place);
    if (likely(result == 0))
        result = check(endpoint, sending);
    if (unlikely(endpoint->engine->held_count > 0) && result == 0 &&
        hold_is_on(endpoint->engine, place_rank(place))) {
        engine_progress(endpoint->engine); /* for a program that only tries again */
        result = -FI_EAGAIN;
    }
    if (unlikely(result < 0)) {
        engine_give(endpoint->engine);
        return result;
    }
    uint32_t label = make_label(endpoint, sending, place);
    if (likely(sending->count <= 1 && !(label & LABEL_ASKS))) {
        struct message_envelope envelope = {.tag = sending->tag, .data = (uint32_t)sending->data};
        size_t length = sending->count ? sending->iov[0].iov_len : 0;
        has_gone = is_short(endpoint, place, length) &&
                   send_short(endpoint, place, label, &envelope,
                              sending->count ? sending->iov[0].iov_base : NULL, length);
    }
    if (likely(has_gone))
        complete_short(endpoint, sending);
    else
        result = post(endpoint, sending, place, label);
    engine_give(endpoint->engine);
    return result;
}
