/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RMA and atomics at their target, and their answers at who asked. A write or an atomic that brings
 * no result is answered by SUBJECT_TAKEN if it asks; a read, or an atomic that does, by
 * SUBJECT_ANSWER with the data.
 */
#include "provider/memory.h"
#include "base/log.h"
#include "provider/atomic_apply.h"

#include <stdlib.h>

/* What a request says, and who asks. */
struct asked {
    struct memory_envelope envelope;
    uint64_t place;
    uint32_t label;
};

/* ---- Answers -------------------------------------------------------------------------------- */

static void refuse(struct engine *engine, const struct asked *asked, int error)
{
    log_debug("rank %d may not do that to memory with key %#llx at %#llx", place_rank(asked->place),
              (unsigned long long)asked->envelope.key, (unsigned long long)asked->envelope.address);
    answer_out(engine, asked->place, asked->label, asked->envelope.number, error);
}

static void taken(struct endpoint *endpoint, const struct asked *asked)
{
    if (asked->label & LABEL_ASKS)
        answer_out(endpoint->engine, asked->place, asked->label, asked->envelope.number, 0);
}

/* Count what a peer has done here, and tell the program if the peer wants that. */
void memory_notice(struct endpoint *endpoint, const struct region *region, uint32_t label,
                   const struct memory_notice *notice)
{
    counter_step(endpoint->counter[notice->count], false);
    counter_step(region->counter[notice->count], false);
    if (!(label & LABEL_HAS_DATA) || !endpoint->receive_queue)
        return;
    struct completion *completion = queue_slot(endpoint->receive_queue);
    if (!completion)
        return;
    *completion = (struct completion){.entry = {.flags = notice->flags | FI_REMOTE_CQ_DATA,
                                                .len = notice->length,
                                                .data = notice->data},
                                      .source = endpoint->wants_source
                                                    ? vector_find(endpoint->vector, notice->place)
                                                    : FI_ADDR_NOTAVAIL};
    queue_put(endpoint->receive_queue);
}

/* ---- Writes --------------------------------------------------------------------------------- */

static void write_notice(struct endpoint *endpoint, const struct region *region,
                         const struct asked *asked, size_t length)
{
    struct memory_notice notice = {.count = COUNT_REMOTE_WRITE,
                                   .flags = FI_RMA | FI_REMOTE_WRITE,
                                   .length = length,
                                   .data = asked->envelope.data,
                                   .place = asked->place};
    memory_notice(endpoint, region, asked->label, &notice);
}

/* Without a place for it, it is taken all the same, since its sender waits. */
static bool write_long(struct endpoint *endpoint, const struct asked *asked,
                       const struct parcel *parcel, char *target, struct region *region)
{
    struct op *op = op_make_ours(endpoint->engine, target ? OP_STORE : OP_DROP);
    if (!op)
        return false;
    if (target) {
        op->endpoint = endpoint;
        op->region = region;
        op->place = asked->place;
        op->label = asked->label;
        memcpy(op->envelope, &asked->envelope, sizeof(asked->envelope));
        op->request.buffer = target;
        op->request.length = parcel->rts.length;
    } else {
        refuse(endpoint->engine, asked, FI_EACCES);
    }
    op->is_begun = true;
    parcel_fetch(endpoint->engine->mail, &op->request, parcel->source, &parcel->rts);
    return true;
}

void store_over(struct op *op)
{
    struct endpoint *endpoint = op->endpoint;
    struct engine *engine = op->request.msg->mail->parcels->context;
    struct asked asked = {.place = op->place, .label = op->label};
    memcpy(&asked.envelope, op->envelope, sizeof(asked.envelope));
    if (endpoint && op->region && op->request.result == 0) {
        write_notice(endpoint, op->region, &asked, op->request.length);
        taken(endpoint, &asked);
    } else {
        refuse(engine, &asked, endpoint ? FI_EIO : ERROR_CLOSED);
    }
    op_free(engine, op);
}

static bool write_arrive(struct endpoint *endpoint, const struct asked *asked,
                         const struct parcel *parcel)
{
    size_t skip = sizeof(asked->envelope);
    size_t length = parcel->is_long ? parcel->rts.length : parcel->length - skip;
    struct region *region = NULL;
    struct region_wish wish = {.key = asked->envelope.key,
                               .address = asked->envelope.address,
                               .length = length,
                               .access = FI_REMOTE_WRITE};
    char *target = region_find(endpoint->domain, &wish, &region);
    if (parcel->is_long)
        return write_long(endpoint, asked, parcel, target, region);
    if (!target) {
        refuse(endpoint->engine, asked, FI_EACCES);
        return true;
    }
    if (length > 0)
        memcpy(target, parcel->data + skip, length);
    write_notice(endpoint, region, asked, length);
    taken(endpoint, asked);
    return true;
}

/* ---- Reads ---------------------------------------------------------------------------------- */

/* Out of the region itself: that waits for it when it is closed. */
static bool answer_long(struct endpoint *endpoint, const struct asked *asked, char *source,
                        uint64_t length, struct region *region)
{
    struct op *op = op_make_ours(endpoint->engine, OP_ANSWER);
    if (!op)
        return false;
    struct answer_envelope envelope = {.number = asked->envelope.number};
    memcpy(op->envelope, &envelope, sizeof(envelope));
    op->region = region;
    op->request.envelope_length = sizeof(envelope);
    op->request.buffer = source;
    op->request.length = length;
    op_send(op, asked->place, label_make(SUBJECT_ANSWER, endpoint->port, place_port(asked->place)));
    return true;
}

static bool read_arrive(struct endpoint *endpoint, const struct asked *asked,
                        const struct parcel *parcel)
{
    uint64_t length;
    if (parcel->length < sizeof(asked->envelope) + sizeof(length))
        return true;
    memcpy(&length, parcel->data + sizeof(asked->envelope), sizeof(length));
    struct region *region = NULL;
    struct region_wish wish = {.key = asked->envelope.key,
                               .address = asked->envelope.address,
                               .length = length,
                               .access = FI_REMOTE_READ};
    char *source = region_find(endpoint->domain, &wish, &region);
    if (!source) {
        refuse(endpoint->engine, asked, FI_EACCES);
        return true;
    }
    if (length > INJECT_MAX) {
        if (!answer_long(endpoint, asked, source, length, region))
            return false;
    } else {
        struct answer_envelope envelope = {.number = asked->envelope.number};
        parcel_out(endpoint->engine, asked->place,
                   label_make(SUBJECT_ANSWER, endpoint->port, place_port(asked->place)), &envelope,
                   sizeof(envelope), source, length);
    }
    struct memory_notice notice = {.count = COUNT_REMOTE_READ};
    memory_notice(endpoint, region, 0, &notice);
    return true;
}

/* ---- Atomics -------------------------------------------------------------------------------- */

int atomic_here(struct endpoint *endpoint, const struct atomic_request *request, void *before)
{
    size_t size = atomic_size(request->type), length = request->count * size;
    bool fetches = request->kind != ATOMIC_PLAIN;
    struct region *region = NULL;
    uint64_t access = request->operation == FI_ATOMIC_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
    struct region_wish wish = {.key = request->key,
                               .address = request->address,
                               .length = length,
                               .access = access | (fetches ? FI_REMOTE_READ : 0)};
    char *target = region_find(endpoint->domain, &wish, &region);
    if (!target)
        return FI_EACCES;
    struct atomic_operands operands = {
        .operand = request->operand, .comparand = request->comparand, .before = before};
    atomic_apply(target, request->type, request->operation, request->count, &operands);
    struct memory_notice notice = {.count = fetches ? COUNT_REMOTE_READ : COUNT_REMOTE_WRITE,
                                   .flags = FI_ATOMIC | FI_REMOTE_WRITE,
                                   .length = length};
    memory_notice(endpoint, region, 0, &notice);
    return 0;
}

/* The operands lie one behind the other. False: it makes no sense. */
static bool atomic_read(const struct asked *asked, const char *body, size_t length,
                        struct atomic_request *request)
{
    uint32_t what = asked->envelope.data;
    *request = (struct atomic_request){.type = (enum fi_datatype)(what & 0xff),
                                       .operation = (enum fi_op)(what >> 8 & 0xff),
                                       .kind = (enum atomic_kind)(what >> 16 & 3),
                                       .count = what >> 18,
                                       .address = asked->envelope.address,
                                       .key = asked->envelope.key};
    size_t part = request->count * atomic_size(request->type);
    bool has_operand = request->operation != FI_ATOMIC_READ;
    bool has_comparand = request->kind == ATOMIC_COMPARE;
    if (!atomic_is_valid(request->type, request->operation, request->kind) || part > ATOMIC_MAX ||
        length != part * (has_operand + has_comparand))
        return false;
    request->operand = has_operand ? body : NULL;
    request->comparand = has_comparand ? body + part : NULL;
    return true;
}

static void atomic_do(struct endpoint *endpoint, const struct asked *asked, const char *body,
                      size_t length)
{
    struct atomic_request request;
    char before[ATOMIC_MAX];
    int error = atomic_read(asked, body, length, &request) ? atomic_here(endpoint, &request, before)
                                                           : FI_EINVAL;
    if (error) {
        refuse(endpoint->engine, asked, error);
        return;
    }
    if (!(asked->label & LABEL_FETCHES)) {
        taken(endpoint, asked);
        return;
    }
    struct answer_envelope envelope = {.number = asked->envelope.number};
    parcel_out(endpoint->engine, asked->place,
               label_make(SUBJECT_ANSWER, endpoint->port, place_port(asked->place)), &envelope,
               sizeof(envelope), before, request.count * atomic_size(request.type));
}

/* One that the mailbox has taken for long: its operands are fetched first. */
static bool atomic_fetch(struct endpoint *endpoint, const struct asked *asked,
                         const struct parcel *parcel)
{
    struct op *op = op_make_ours(endpoint->engine, OP_ATOMIC);
    if (!op)
        return false;
    op->endpoint = endpoint;
    op->place = asked->place;
    op->label = asked->label;
    memcpy(op->envelope, &asked->envelope, sizeof(asked->envelope));
    op->bounce = malloc(2 * ATOMIC_MAX);
    op->request.buffer = op->bounce;
    op->request.length = op->bounce ? 2 * ATOMIC_MAX : 0;
    op->is_begun = true;
    parcel_fetch(endpoint->engine->mail, &op->request, parcel->source, &parcel->rts);
    return true;
}

void atomic_over(struct op *op)
{
    struct engine *engine = op->request.msg->mail->parcels->context;
    struct asked asked = {.place = op->place, .label = op->label};
    memcpy(&asked.envelope, op->envelope, sizeof(asked.envelope));
    if (op->endpoint && op->request.result == 0)
        atomic_do(op->endpoint, &asked, op->bounce, op->request.in.rts.length);
    else
        refuse(engine, &asked, op->endpoint ? FI_EIO : ERROR_CLOSED);
    op_free(engine, op);
}

/* ---- Answers that come ---------------------------------------------------------------------- */

void read_over(struct op *op)
{
    int result = op->request.result;
    if (result == 0 && op->bounce)
        iov_scatter(op->iov, op->iov_count, op->bounce, op->message_length);
    op_complete(op, result == 0 ? op->message_length : 0, result == 0 ? 0 : fi_error(result));
}

static void fetch_answer(struct op *op, const struct parcel *parcel)
{
    op->message_length = parcel->rts.length;
    op->request.buffer = op->iov[0].iov_base;
    op->request.length = op->iov[0].iov_len;
    if (op->iov_count > 1) {
        op->bounce = malloc(parcel->rts.length);
        op->request.buffer = op->bounce;
        op->request.length = op->bounce ? parcel->rts.length : 0;
    }
    op->is_begun = true;
    parcel_fetch(op->endpoint->engine->mail, &op->request, parcel->source, &parcel->rts);
}

static void answer_arrive(struct engine *engine, const struct parcel *parcel)
{
    struct answer_envelope envelope;
    if (parcel->length < sizeof(envelope))
        return;
    memcpy(&envelope, parcel->data, sizeof(envelope));
    struct op *op = op_awaited(engine, envelope.number);
    if (!op || op->kind != OP_READ || !op_is_answered_by(op, parcel))
        return;
    op_await_end(engine, op);
    if (envelope.error != 0) {
        op_complete(op, 0, envelope.error);
    } else if (parcel->is_long) {
        fetch_answer(op, parcel);
    } else {
        size_t length = iov_scatter(op->iov, op->iov_count, parcel->data + sizeof(envelope),
                                    parcel->length - sizeof(envelope));
        op_complete(op, length, 0);
    }
}

bool memory_arrive(struct endpoint *endpoint, const struct parcel *parcel)
{
    enum subject subject = label_subject(parcel->label);
    struct asked asked = {.place = place_of(parcel->source, label_from(parcel->label)),
                          .label = parcel->label};
    if (subject == SUBJECT_ANSWER) {
        answer_arrive(endpoint->engine, parcel);
        return true;
    }
    if (parcel->length < sizeof(asked.envelope))
        return true; /* a broken peer's; there is nobody to tell */
    memcpy(&asked.envelope, parcel->data, sizeof(asked.envelope));
    if (subject == SUBJECT_WRITE)
        return write_arrive(endpoint, &asked, parcel);
    if (subject == SUBJECT_READ)
        return read_arrive(endpoint, &asked, parcel);
    if (parcel->is_long)
        return atomic_fetch(endpoint, &asked, parcel);
    atomic_do(endpoint, &asked, parcel->data + sizeof(asked.envelope),
              parcel->length - sizeof(asked.envelope));
    return true;
}
