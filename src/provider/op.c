/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that are not over, and how they end.
 */
#include "provider/op.h"

#include "base/array.h"
#include "base/log.h"

#include <stdlib.h>

#define OPS_AT_ONCE     64
#define AWAITED_AT_ONCE 64

struct op_chunk {
    struct op_chunk *next;
    struct op op[OPS_AT_ONCE];
};

/* ---- Making --------------------------------------------------------------------------------- */

static bool make_chunk(struct engine *engine)
{
    struct op_chunk *chunk = calloc(1, sizeof(*chunk));
    if (!chunk)
        return false;
    chunk->next = engine->chunks;
    engine->chunks = chunk;
    for (int i = 0; i < OPS_AT_ONCE; i++) {
        chunk->op[i].next = engine->free_ops;
        engine->free_ops = &chunk->op[i];
    }
    return true;
}

void ops_close(struct engine *engine)
{
    while (engine->chunks) {
        struct op_chunk *chunk = engine->chunks;
        engine->chunks = chunk->next;
        for (int i = 0; i < OPS_AT_ONCE; i++)
            free(chunk->op[i].bounce);
        free(chunk);
    }
    free(engine->awaiting);
}

struct op *op_make_ours(struct engine *engine, enum op_kind kind)
{
    if (unlikely(!engine->free_ops) && !make_chunk(engine))
        return NULL;
    struct op *op = engine->free_ops;
    engine->free_ops = op->next;
    /* A receive's part of the request is set when its message is fetched. */
    bool is_receive = kind == OP_RECEIVE;
    if (is_receive)
        small_clear(&op->request, offsetof(struct rh_request, out));
    else
        memset(&op->request, 0, sizeof(op->request));
    small_clear(&op->entry, offsetof(struct op, iov) - offsetof(struct op, entry));
    op->multiple = NULL;
    op->used = 0;
    op->sharers = 0;
    op->is_used_up = false;
    op->region = NULL;
    op->is_used = true;
    op->kind = kind;
    op->request.msg = engine->msg;
    op->request.is_parcel = true;
    return op;
}

struct op *op_make(struct endpoint *endpoint, enum op_kind kind)
{
    struct engine *engine = endpoint->engine;
    uint32_t *quota = kind == OP_RECEIVE ? &engine->receive_count : &engine->send_count;
    if (unlikely(*quota >= OPS_MAX))
        return NULL;
    struct op *op = op_make_ours(engine, kind);
    if (unlikely(!op))
        return NULL;
    op->endpoint = endpoint;
    op->quota = quota;
    ++*quota;
    return op;
}

void op_free(struct engine *engine, struct op *op)
{
    if (unlikely(op->number != 0))
        op_await_end(engine, op);
    if (unlikely(op->bounce)) {
        free(op->bounce);
        op->bounce = NULL;
    }
    op->is_used = false;
    op->next = engine->free_ops;
    engine->free_ops = op;
    if (op->quota)
        --*op->quota;
}

/* ---- Answers that are awaited --------------------------------------------------------------- */

static bool grow_awaiting(struct engine *engine)
{
    size_t before = engine->awaiting_room;
    if (!array_grow(&engine->awaiting, &engine->awaiting_room, before + AWAITED_AT_ONCE))
        return false;
    memset(engine->awaiting + before, 0, (engine->awaiting_room - before) * sizeof(struct op *));
    engine->awaiting_next = before;
    return true;
}

bool op_await(struct engine *engine, struct op *op)
{
    if (engine->awaiting_count == engine->awaiting_room && !grow_awaiting(engine))
        return false;
    while (engine->awaiting[engine->awaiting_next])
        engine->awaiting_next = (engine->awaiting_next + 1) % engine->awaiting_room;
    engine->awaiting[engine->awaiting_next] = op;
    engine->awaiting_count++;
    op->number = (uint32_t)engine->awaiting_next + 1;
    engine->awaiting_next = (engine->awaiting_next + 1) % engine->awaiting_room;
    return true;
}

bool op_is_answered_by(const struct op *op, const struct parcel *parcel)
{
    return op->endpoint && op->endpoint->port == label_to(parcel->label) &&
           op->place == place_of(parcel->source, label_from(parcel->label));
}

struct op *op_awaited(const struct engine *engine, uint32_t number)
{
    return number - 1 < engine->awaiting_room ? engine->awaiting[number - 1] : NULL;
}

void op_await_end(struct engine *engine, struct op *op)
{
    ASSERT(engine->awaiting[op->number - 1] == op);
    engine->awaiting[op->number - 1] = NULL;
    engine->awaiting_count--;
    op->number = 0;
}

void op_gone_end(struct engine *engine)
{
    for (uint32_t i = 0; i < engine->awaiting_room && engine->awaiting_count > 0; i++) {
        struct op *op = engine->awaiting[i];
        int rank = op ? place_rank(op->place) : engine->mail->rank;
        if (!op || rank == engine->mail->rank || !engine->mail->peer[rank].is_gone)
            continue;
        bool is_sent = op->is_sent;
        op_await_end(engine, op);
        op->error = FI_ECONNRESET;
        op->is_answered = true;
        if (is_sent)
            op_complete(op, 0, op->error);
    }
    for (uint32_t i = 0; i < PORT_COUNT; i++) {
        if (engine->port[i])
            receives_gone_end(engine->port[i]);
    }
}

/* ---- The end -------------------------------------------------------------------------------- */

static void put(const struct op *op, size_t length, int error)
{
    const struct endpoint *endpoint = op->endpoint;
    bool is_receive = op->kind == OP_RECEIVE;
    struct queue *queue = is_receive ? endpoint->receive_queue : endpoint->send_queue;
    if (!queue || (op->is_silent && likely(error == 0)))
        return;
    struct completion *completion = queue_slot(queue);
    if (unlikely(!completion))
        return;
    completion->entry.op_context = op->context;
    completion->entry.flags = op->flags;
    completion->entry.len = length;
    completion->entry.buf = is_receive ? op->request.buffer : NULL;
    completion->entry.data = op->data;
    completion->entry.tag = op->tag;
    completion->source = FI_ADDR_NOTAVAIL;
    completion->error = error;
    completion->result = op->request.result;
    completion->cut = unlikely(error == FI_ETRUNC) ? op->message_length - length : 0;
    if (unlikely(is_receive && endpoint->wants_source && op->place != PLACE_NONE))
        completion->source = vector_find(endpoint->vector, op->place);
    queue_put(queue);
}

/* One message of several in a buffer: the last one gives the buffer back. Returns the buffer if it
 * has been cancelled, which is told when its last message has been. */
static struct op *leave_multiple(struct op *op)
{
    struct op *multiple = op->multiple;
    ASSERT(multiple->sharers > 0);
    multiple->sharers--;
    if (!multiple->is_used_up || multiple->sharers > 0)
        return NULL;
    if (multiple->error)
        return multiple;
    op->flags |= FI_MULTI_RECV;
    op_free(op->endpoint->engine, multiple);
    return NULL;
}

void op_complete(struct op *op, size_t length, int error)
{
    struct endpoint *endpoint = op->endpoint;
    struct engine *engine = op->request.msg->mail->parcels->context;
    if (likely(endpoint)) {
        struct op *cancelled = unlikely(op->multiple) ? leave_multiple(op) : NULL;
        counter_step(endpoint->counter[op->count], error != 0);
        put(op, length, error);
        if (unlikely(cancelled))
            op_complete(cancelled, 0, cancelled->error);
    }
    op_free(engine, op);
}

void op_send_step(struct op *op)
{
    if (op->is_sent && (op->is_answered || op->error))
        op_complete(op, 0, op->error);
}

static void send_over(struct op *op)
{
    op->is_sent = true;
    if (op->request.result < 0) {
        op->error = fi_error(op->request.result);
        log_debug("a send to rank %d failed: %s", op->request.rank,
                  rh_error_name(op->request.result));
    }
    op_send_step(op);
}

void op_request_over(struct engine *engine, struct op *op)
{
    switch (op->kind) {
    case OP_SEND:
        send_over(op);
        return;
    case OP_RECEIVE:
        receive_over(op);
        return;
    case OP_READ:
        read_over(op);
        return;
    case OP_STORE:
        store_over(op);
        return;
    case OP_ATOMIC:
        atomic_over(op);
        return;
    case OP_DROP:
    case OP_ANSWER:
        op_free(engine, op);
        return;
    }
}

/* What was not fetched yet is, to no place: its sender waits until somebody has it. */
static void end_request(struct engine *engine, struct op *op)
{
    if (!parcel_abort(engine->mail, &op->request))
        return;
    struct op *drop = op_make_ours(engine, OP_DROP);
    if (drop)
        parcel_fetch(engine->mail, &drop->request, op->request.rank, &op->request.in.rts);
    else
        log_error("no memory to drop a message of rank %d, which will wait", op->request.rank);
}

void ops_abandon(struct engine *engine, const struct endpoint *endpoint)
{
    for (struct op_chunk *chunk = engine->chunks; chunk; chunk = chunk->next) {
        for (int i = 0; i < OPS_AT_ONCE; i++) {
            struct op *op = &chunk->op[i];
            if (!op->is_used || op->endpoint != endpoint)
                continue;
            op->endpoint = NULL;
            op->multiple = NULL;
            op->is_answered = true;
            if (op->is_begun && op->request.state != STATE_COMPLETE)
                end_request(engine, op);
            else if (!op->is_begun || op->is_sent)
                op_free(engine, op);
        }
    }
}

/* In place of the data that an answer was to bring. */
static void answer_refuse(struct engine *engine, const struct op *op)
{
    struct answer_envelope envelope;
    memcpy(&envelope, op->envelope, sizeof(envelope));
    envelope.error = FI_EACCES;
    parcel_out(engine, op->place, (uint32_t)op->request.tag, &envelope, sizeof(envelope), NULL, 0);
}

void ops_region_abandon(struct engine *engine, const struct region *region)
{
    for (struct op_chunk *chunk = engine->chunks; chunk; chunk = chunk->next) {
        for (int i = 0; i < OPS_AT_ONCE; i++) {
            struct op *op = &chunk->op[i];
            if (!op->is_used || op->region != region)
                continue;
            op->region = NULL;
            if (op->kind == OP_ANSWER && op->request.state == STATE_PENDING)
                answer_refuse(engine, op); /* the reader has heard nothing yet */
            if (op->request.state != STATE_COMPLETE)
                end_request(engine, op);
        }
    }
}

/* ---- Sending -------------------------------------------------------------------------------- */

void op_send(struct op *op, uint64_t place, uint32_t label)
{
    struct engine *engine = op->request.msg->mail->parcels->context;
    op->place = place;
    op->request.is_send = true;
    op->request.rank = place_rank(place);
    op->request.tag = (int)label;
    op->request.envelope = op->envelope;
    op->is_begun = true;
    parcel_send(engine->mail, &op->request);
}

void parcel_out(struct engine *engine, uint64_t place, uint32_t label, const void *envelope,
                size_t envelope_length, const void *data, size_t length)
{
    char whole[SLOT_INLINE];
    int rank = place_rank(place);
    if (length <= sizeof(whole) - envelope_length) {
        memcpy(whole, envelope, envelope_length);
        if (length > 0)
            memcpy(whole + envelope_length, data, length);
        if (parcel_send_short(engine->mail, rank, label, whole, envelope_length + length))
            return;
    }
    struct op *op = op_make_ours(engine, OP_ANSWER);
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
    if (!op || !op_bounce(op, &iov, length > 0)) {
        log_error("no memory for a word to rank %d, which will wait for it", rank);
        if (op)
            op_free(engine, op);
        return;
    }
    memcpy(op->envelope, envelope, envelope_length);
    op->request.envelope_length = (uint16_t)envelope_length;
    op->request.length = length;
    op_send(op, place, label);
}

bool op_bounce(struct op *op, const struct iovec *iov, size_t count)
{
    op->bounce = malloc(iov_length(iov, count) + 1);
    if (!op->bounce)
        return false;
    iov_gather(op->bounce, iov, count);
    op->request.buffer = op->bounce;
    return true;
}

/* Whether the mailbox may take so little by rendezvous, and with it the program's memory. */
static bool may_move_later(const struct mail *mail)
{
    return mail->way != WAY_AUTO && mail->way != WAY_PUSH;
}

ssize_t op_dispatch(struct op *op, uint64_t place, uint32_t label, const struct iovec *iov,
                    size_t count, bool is_injected)
{
    struct mail *mail = op->request.msg->mail;
    op->request.buffer = count > 0 ? iov[0].iov_base : NULL;
    op->request.length = iov_length(iov, count);
    if ((count > 1 || (is_injected && may_move_later(mail))) && !op_bounce(op, iov, count))
        return -FI_EAGAIN;
    op_send(op, place, label);
    /* The program has its buffer back when the call returns, also if it waits for room. */
    bool is_kept = !is_injected || op->request.state == STATE_COMPLETE || op->bounce ||
                   op_bounce(op, iov, count);
    if (!is_kept)
        parcel_abort(mail, &op->request); /* it fails, by its completion */
    return 0;
}
