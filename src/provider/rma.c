/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of fi_rma(3). A write asks its target to say when it has come, so that a completion
 * means that, and what is refused is told; one that is injected does not, unless the endpoint's
 * operations complete by delivery.
 */
#include "provider/memory.h"

#include <rdma/fi_rma.h>

/* What a call says. */
struct moving {
    const struct iovec *iov;
    size_t count;
    fi_addr_t peer;
    uint64_t address, key;
    uint64_t data;
    void *context;
    uint64_t flags;
};

static bool is_silent(const struct endpoint *endpoint, uint64_t flags)
{
    return (endpoint->is_send_selective && !(flags & FI_COMPLETION)) || (flags & SEND_IS_QUIET);
}

/* The peer's place, or a negative error. With the turn, since vectors grow. */
static ssize_t check(const struct endpoint *endpoint, const struct moving *moving, uint64_t *place)
{
    if (!endpoint->is_enabled)
        return -FI_EOPBADSTATE;
    if (moving->count > IOV_MAX_COUNT)
        return -FI_EINVAL;
    if ((moving->flags & FI_INJECT) && iov_length(moving->iov, moving->count) > INJECT_MAX)
        return -FI_EMSGSIZE;
    return vector_reach(endpoint->vector, moving->peer, place);
}

static struct op *make(struct endpoint *endpoint, const struct moving *moving, enum op_kind kind)
{
    struct op *op = op_make(endpoint, kind);
    if (!op)
        return NULL;
    op->count = kind == OP_READ ? COUNT_READ : COUNT_WRITE;
    op->context = moving->context;
    op->flags = FI_RMA | (kind == OP_READ ? FI_READ : FI_WRITE);
    op->is_silent = is_silent(endpoint, moving->flags);
    return op;
}

/* ---- This process's own memory -------------------------------------------------------------- */

static ssize_t move_own(struct endpoint *endpoint, const struct moving *moving, struct op *op,
                        uint64_t place)
{
    struct endpoint *target = endpoint->engine->port[place_port(place)];
    bool is_write = op->kind != OP_READ;
    size_t length = iov_length(moving->iov, moving->count);
    struct region *region = NULL;
    struct region_wish wish = {.key = moving->key,
                               .address = moving->address,
                               .length = length,
                               .access = is_write ? FI_REMOTE_WRITE : FI_REMOTE_READ};
    char *memory = target ? region_find(target->domain, &wish, &region) : NULL;
    if (!memory) {
        op_complete(op, 0, FI_EACCES);
        return 0;
    }
    if (is_write)
        iov_gather(memory, moving->iov, moving->count);
    else
        iov_scatter(moving->iov, moving->count, memory, length);
    struct memory_notice notice = {.count = is_write ? COUNT_REMOTE_WRITE : COUNT_REMOTE_READ,
                                   .flags = FI_RMA | FI_REMOTE_WRITE,
                                   .length = length,
                                   .data = moving->data,
                                   .place = place_of(place_rank(place), endpoint->port)};
    bool has_data = is_write && (moving->flags & FI_REMOTE_CQ_DATA);
    memory_notice(target, region, has_data ? LABEL_HAS_DATA : 0, &notice);
    op_complete(op, length, 0);
    return 0;
}

/* ---- Writes --------------------------------------------------------------------------------- */

/* Without an operation, if nobody has to say that it has come. */
static bool write_short(struct endpoint *endpoint, const struct moving *moving, uint64_t place,
                        uint32_t label)
{
    struct {
        struct memory_envelope envelope;
        char data[SLOT_INLINE - sizeof(struct memory_envelope)];
    } whole = {.envelope = {
                   .address = moving->address, .key = moving->key, .data = (uint32_t)moving->data}};
    size_t length = iov_length(moving->iov, moving->count);
    if ((label & LABEL_ASKS) || length > sizeof(whole.data) ||
        place_rank(place) == endpoint->engine->mail->rank)
        return false;
    iov_gather(whole.data, moving->iov, moving->count);
    if (!parcel_send_short(endpoint->engine->mail, place_rank(place), label, &whole,
                           sizeof(whole.envelope) + length))
        return false;
    counter_step(endpoint->counter[COUNT_WRITE], false);
    return true;
}

static ssize_t write_op(struct endpoint *endpoint, const struct moving *moving, uint64_t place,
                        uint32_t label)
{
    struct engine *engine = endpoint->engine;
    struct op *op = make(endpoint, moving, OP_SEND);
    if (!op)
        return -FI_EAGAIN;
    if (place_rank(place) == engine->mail->rank)
        return move_own(endpoint, moving, op, place);
    bool asks = label & LABEL_ASKS;
    op->is_answered = !asks;
    if (asks && !op_await(engine, op)) {
        op_free(engine, op);
        return -FI_EAGAIN;
    }
    struct memory_envelope envelope = {.address = moving->address,
                                       .key = moving->key,
                                       .data = (uint32_t)moving->data,
                                       .number = op->number};
    memcpy(op->envelope, &envelope, sizeof(envelope));
    op->request.envelope_length = sizeof(envelope);
    ssize_t result = op_dispatch(op, place, label, moving->iov, moving->count,
                                 moving->flags & FI_INJECT);
    if (result < 0)
        op_free(engine, op);
    return result;
}

static ssize_t write_post(struct endpoint *endpoint, const struct moving *moving)
{
    uint64_t place;
    engine_take(endpoint->engine);
    ssize_t result = check(endpoint, moving, &place);
    if (result == 0) {
        uint32_t label = label_make(SUBJECT_WRITE, endpoint->port, place_port(place));
        if (moving->flags & FI_REMOTE_CQ_DATA)
            label |= LABEL_HAS_DATA;
        if (!(moving->flags & SEND_IS_QUIET) || (endpoint->send_flags & FI_DELIVERY_COMPLETE))
            label |= LABEL_ASKS;
        if (!write_short(endpoint, moving, place, label))
            result = write_op(endpoint, moving, place, label);
    }
    engine_give(endpoint->engine);
    return result;
}

/* ---- Reads ---------------------------------------------------------------------------------- */

static ssize_t read_op(struct endpoint *endpoint, const struct moving *moving, uint64_t place)
{
    struct engine *engine = endpoint->engine;
    struct op *op = make(endpoint, moving, OP_READ);
    if (!op)
        return -FI_EAGAIN;
    if (place_rank(place) == engine->mail->rank)
        return move_own(endpoint, moving, op, place);
    if (!op_await(engine, op)) {
        op_free(engine, op);
        return -FI_EAGAIN;
    }
    op->place = place;
    op->is_sent = true;
    op->iov_count = (unsigned)moving->count;
    for (size_t i = 0; i < moving->count; i++)
        op->iov[i] = moving->iov[i];
    uint64_t length = iov_length(moving->iov, moving->count);
    struct memory_envelope envelope = {
        .address = moving->address, .key = moving->key, .number = op->number};
    parcel_out(engine, place,
               label_make(SUBJECT_READ, endpoint->port, place_port(place)) | LABEL_FETCHES,
               &envelope, sizeof(envelope), &length, sizeof(length));
    return 0;
}

static ssize_t read_post(struct endpoint *endpoint, const struct moving *moving)
{
    uint64_t place;
    engine_take(endpoint->engine);
    ssize_t result = check(endpoint, moving, &place);
    if (result == 0)
        result = read_op(endpoint, moving, place);
    engine_give(endpoint->engine);
    return result;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static ssize_t read_pieces(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                           fi_addr_t from, uint64_t address, uint64_t key, void *context)
{
    return read_post(endpoint_of(ep), &(struct moving){.iov = iov,
                                                       .count = count,
                                                       .peer = from,
                                                       .address = address,
                                                       .key = key,
                                                       .context = context,
                                                       .flags = endpoint_of(ep)->send_flags});
}

static ssize_t read_one(struct fid_ep *ep, void *buffer, size_t length, void *desc, fi_addr_t from,
                        uint64_t address, uint64_t key, void *context)
{
    struct iovec iov = {.iov_base = buffer, .iov_len = length};
    return read_pieces(ep, &iov, NULL, 1, from, address, key, context);
}

static bool fill(struct moving *moving, const struct fi_msg_rma *message, uint64_t flags)
{
    if (message->rma_iov_count != 1)
        return false;
    *moving = (struct moving){.iov = message->msg_iov,
                              .count = message->iov_count,
                              .peer = message->addr,
                              .address = message->rma_iov[0].addr,
                              .key = message->rma_iov[0].key,
                              .data = message->data,
                              .context = message->context,
                              .flags = flags};
    return true;
}

static ssize_t read_message(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags)
{
    struct moving moving;
    return fill(&moving, message, flags) ? read_post(endpoint_of(ep), &moving) : -FI_EINVAL;
}

static ssize_t write_with(struct fid_ep *ep, const struct iovec *iov, size_t count, fi_addr_t to,
                          uint64_t address, uint64_t key, uint64_t data, uint64_t flags,
                          void *context)
{
    return write_post(endpoint_of(ep), &(struct moving){.iov = iov,
                                                        .count = count,
                                                        .peer = to,
                                                        .address = address,
                                                        .key = key,
                                                        .data = data,
                                                        .context = context,
                                                        .flags = flags});
}

static ssize_t write_pieces(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                            fi_addr_t to, uint64_t address, uint64_t key, void *context)
{
    return write_with(ep, iov, count, to, address, key, 0, endpoint_of(ep)->send_flags, context);
}

static ssize_t write_one(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                         fi_addr_t to, uint64_t address, uint64_t key, void *context)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    return write_pieces(ep, &iov, NULL, 1, to, address, key, context);
}

static ssize_t write_message(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags)
{
    struct moving moving;
    return fill(&moving, message, flags) ? write_post(endpoint_of(ep), &moving) : -FI_EINVAL;
}

static ssize_t inject(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to,
                      uint64_t address, uint64_t key)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    return write_with(ep, &iov, 1, to, address, key, 0, FI_INJECT | SEND_IS_QUIET, NULL);
}

static ssize_t write_data(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                          uint64_t data, fi_addr_t to, uint64_t address, uint64_t key,
                          void *context)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    return write_with(ep, &iov, 1, to, address, key, data,
                      endpoint_of(ep)->send_flags | FI_REMOTE_CQ_DATA, context);
}

static ssize_t inject_data(struct fid_ep *ep, const void *buffer, size_t length, uint64_t data,
                           fi_addr_t to, uint64_t address, uint64_t key)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    return write_with(ep, &iov, 1, to, address, key, data,
                      FI_INJECT | FI_REMOTE_CQ_DATA | SEND_IS_QUIET, NULL);
}

struct fi_ops_rma rma_calls = {
    .size = sizeof(struct fi_ops_rma),
    .read = read_one,
    .readv = read_pieces,
    .readmsg = read_message,
    .write = write_one,
    .writev = write_pieces,
    .writemsg = write_message,
    .inject = inject,
    .writedata = write_data,
    .injectdata = inject_data,
};
