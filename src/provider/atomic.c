/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of fi_atomic(3). Operands go with the request, what was there comes back with the
 * answer; both are small.
 */
#include "provider/memory.h"

/* What a call says. */
struct acting {
    const struct fi_ioc *operand, *comparand, *result; /* pieces */
    size_t operand_count, comparand_count, result_count;
    fi_addr_t peer;
    uint64_t address, key;
    enum fi_datatype type;
    enum fi_op operation;
    enum atomic_kind kind;
    void *context;
    uint64_t flags;
};

static size_t elements(const struct fi_ioc *pieces, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += pieces[i].count;
    return sum;
}

/* All pieces one behind the other; returns how many bytes. */
static size_t collect(char *target, const struct fi_ioc *pieces, size_t count, size_t size)
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(target + done, pieces[i].addr, pieces[i].count * size);
        done += pieces[i].count * size;
    }
    return done;
}

static ssize_t check(const struct endpoint *endpoint, const struct acting *acting,
                     struct atomic_request *request, uint64_t *place)
{
    size_t size = atomic_size(acting->type);
    bool reads = acting->operation == FI_ATOMIC_READ;
    if (!endpoint->is_enabled)
        return -FI_EOPBADSTATE;
    if (!atomic_is_valid(acting->type, acting->operation, acting->kind))
        return -FI_EOPNOTSUPP;
    size_t count = reads ? elements(acting->result, acting->result_count)
                         : elements(acting->operand, acting->operand_count);
    bool has_all = (acting->kind != ATOMIC_COMPARE ||
                    elements(acting->comparand, acting->comparand_count) == count) &&
                   (acting->kind == ATOMIC_PLAIN ||
                    elements(acting->result, acting->result_count) == count);
    if (!has_all || acting->result_count > IOV_MAX_COUNT)
        return -FI_EINVAL;
    if (count * size > ATOMIC_MAX || count > ATOMIC_MAX)
        return -FI_EMSGSIZE;
    *request = (struct atomic_request){.type = acting->type,
                                       .operation = acting->operation,
                                       .kind = acting->kind,
                                       .count = count,
                                       .address = acting->address,
                                       .key = acting->key};
    return vector_reach(endpoint->vector, acting->peer, place);
}

static struct op *make(struct endpoint *endpoint, const struct acting *acting)
{
    bool fetches = acting->kind != ATOMIC_PLAIN;
    struct op *op = op_make(endpoint, fetches ? OP_READ : OP_SEND);
    if (!op)
        return NULL;
    op->count = fetches ? COUNT_READ : COUNT_WRITE;
    op->context = acting->context;
    op->flags = FI_ATOMIC | (fetches ? FI_READ : FI_WRITE);
    op->is_silent = (endpoint->is_send_selective && !(acting->flags & FI_COMPLETION)) ||
                    (acting->flags & SEND_IS_QUIET);
    op->iov_count = (unsigned)acting->result_count;
    for (size_t i = 0; i < acting->result_count; i++)
        op->iov[i] = (struct iovec){.iov_base = acting->result[i].addr,
                                    .iov_len = acting->result[i].count * atomic_size(acting->type)};
    return op;
}

static void act_own(struct endpoint *endpoint, struct op *op, struct atomic_request *request,
                    uint64_t place, const char *body, size_t length)
{
    struct endpoint *target = endpoint->engine->port[place_port(place)];
    char before[ATOMIC_MAX];
    size_t part = request->count * atomic_size(request->type);
    request->operand = length > 0 ? body : NULL;
    request->comparand = request->kind == ATOMIC_COMPARE ? body + part : NULL;
    int error = target ? atomic_here(target, request, before) : FI_EACCES;
    if (!error && request->kind != ATOMIC_PLAIN)
        iov_scatter(op->iov, op->iov_count, before, part);
    op_complete(op, error ? 0 : part, error);
}

/* The request goes from memory of ours, so that the program has its own back at once. */
static ssize_t act(struct endpoint *endpoint, const struct acting *acting,
                   struct atomic_request *request, uint64_t place)
{
    struct engine *engine = endpoint->engine;
    char body[2 * ATOMIC_MAX];
    size_t size = atomic_size(acting->type), length = 0;
    if (acting->operation != FI_ATOMIC_READ)
        length = collect(body, acting->operand, acting->operand_count, size);
    if (acting->kind == ATOMIC_COMPARE)
        length += collect(body + length, acting->comparand, acting->comparand_count, size);
    struct op *op = make(endpoint, acting);
    if (!op)
        return -FI_EAGAIN;
    if (place_rank(place) == engine->mail->rank) {
        act_own(endpoint, op, request, place, body, length);
        return 0;
    }
    if (!op_await(engine, op)) {
        op_free(engine, op);
        return -FI_EAGAIN;
    }
    op->place = place;
    op->is_sent = true;
    struct memory_envelope envelope = {
        .address = acting->address,
        .key = acting->key,
        .data = (uint32_t)acting->type | (uint32_t)acting->operation << 8 |
                (uint32_t)acting->kind << 16 | (uint32_t)request->count << 18,
        .number = op->number};
    uint32_t label = label_make(SUBJECT_ATOMIC, endpoint->port, place_port(place)) |
                     (acting->kind == ATOMIC_PLAIN ? LABEL_ASKS : LABEL_FETCHES);
    parcel_out(engine, place, label, &envelope, sizeof(envelope), body, length);
    return 0;
}

static ssize_t post(struct fid_ep *ep, const struct acting *acting)
{
    struct endpoint *endpoint = endpoint_of(ep);
    struct atomic_request request;
    uint64_t place;
    engine_take(endpoint->engine); /* also for the vector, which may grow meanwhile */
    ssize_t result = check(endpoint, acting, &request, &place);
    if (result == 0)
        result = act(endpoint, acting, &request, place);
    engine_give(endpoint->engine);
    return result;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static ssize_t write_pieces(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
                            fi_addr_t to, uint64_t address, uint64_t key, enum fi_datatype type,
                            enum fi_op operation, void *context)
{
    return post(ep, &(struct acting){.operand = iov,
                                     .operand_count = count,
                                     .peer = to,
                                     .address = address,
                                     .key = key,
                                     .type = type,
                                     .operation = operation,
                                     .context = context,
                                     .flags = endpoint_of(ep)->send_flags});
}

static ssize_t write_one(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                         fi_addr_t to, uint64_t address, uint64_t key, enum fi_datatype type,
                         enum fi_op operation, void *context)
{
    struct fi_ioc iov = {.addr = (void *)(uintptr_t)buffer, .count = count};
    return write_pieces(ep, &iov, NULL, 1, to, address, key, type, operation, context);
}

static ssize_t inject(struct fid_ep *ep, const void *buffer, size_t count, fi_addr_t to,
                      uint64_t address, uint64_t key, enum fi_datatype type, enum fi_op operation)
{
    struct fi_ioc iov = {.addr = (void *)(uintptr_t)buffer, .count = count};
    return post(ep, &(struct acting){.operand = &iov,
                                     .operand_count = 1,
                                     .peer = to,
                                     .address = address,
                                     .key = key,
                                     .type = type,
                                     .operation = operation,
                                     .flags = SEND_IS_QUIET});
}

static struct acting of_message(const struct fi_msg_atomic *message, enum atomic_kind kind,
                                uint64_t flags)
{
    return (struct acting){.operand = message->msg_iov,
                           .operand_count = message->iov_count,
                           .peer = message->addr,
                           .address = message->rma_iov[0].addr,
                           .key = message->rma_iov[0].key,
                           .type = message->datatype,
                           .operation = message->op,
                           .kind = kind,
                           .context = message->context,
                           .flags = flags};
}

static ssize_t write_message(struct fid_ep *ep, const struct fi_msg_atomic *message, uint64_t flags)
{
    if (message->rma_iov_count != 1)
        return -FI_EINVAL;
    struct acting acting = of_message(message, ATOMIC_PLAIN, flags);
    return post(ep, &acting);
}

static ssize_t fetch_pieces(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
                            struct fi_ioc *result, void **result_desc, size_t result_count,
                            fi_addr_t to, uint64_t address, uint64_t key, enum fi_datatype type,
                            enum fi_op operation, void *context)
{
    return post(ep, &(struct acting){.operand = iov,
                                     .operand_count = count,
                                     .result = result,
                                     .result_count = result_count,
                                     .peer = to,
                                     .address = address,
                                     .key = key,
                                     .type = type,
                                     .operation = operation,
                                     .kind = ATOMIC_FETCH,
                                     .context = context,
                                     .flags = endpoint_of(ep)->send_flags});
}

static ssize_t fetch_one(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                         void *result, void *result_desc, fi_addr_t to, uint64_t address,
                         uint64_t key, enum fi_datatype type, enum fi_op operation, void *context)
{
    struct fi_ioc iov = {.addr = (void *)(uintptr_t)buffer, .count = count};
    struct fi_ioc back = {.addr = result, .count = count};
    return fetch_pieces(ep, &iov, NULL, 1, &back, NULL, 1, to, address, key, type, operation,
                        context);
}

static ssize_t fetch_message(struct fid_ep *ep, const struct fi_msg_atomic *message,
                             struct fi_ioc *result, void **result_desc, size_t result_count,
                             uint64_t flags)
{
    if (message->rma_iov_count != 1)
        return -FI_EINVAL;
    struct acting acting = of_message(message, ATOMIC_FETCH, flags);
    acting.result = result;
    acting.result_count = result_count;
    return post(ep, &acting);
}

static ssize_t compare_message(struct fid_ep *ep, const struct fi_msg_atomic *message,
                               const struct fi_ioc *comparand, void **comparand_desc,
                               size_t comparand_count, struct fi_ioc *result, void **result_desc,
                               size_t result_count, uint64_t flags)
{
    if (message->rma_iov_count != 1)
        return -FI_EINVAL;
    struct acting acting = of_message(message, ATOMIC_COMPARE, flags);
    acting.comparand = comparand;
    acting.comparand_count = comparand_count;
    acting.result = result;
    acting.result_count = result_count;
    return post(ep, &acting);
}

static ssize_t compare_pieces(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
                              size_t count, const struct fi_ioc *comparand, void **comparand_desc,
                              size_t comparand_count, struct fi_ioc *result, void **result_desc,
                              size_t result_count, fi_addr_t to, uint64_t address, uint64_t key,
                              enum fi_datatype type, enum fi_op operation, void *context)
{
    struct fi_rma_ioc there = {.addr = address, .key = key};
    struct fi_msg_atomic message = {.msg_iov = iov,
                                    .iov_count = count,
                                    .addr = to,
                                    .rma_iov = &there,
                                    .rma_iov_count = 1,
                                    .datatype = type,
                                    .op = operation,
                                    .context = context};
    return compare_message(ep, &message, comparand, NULL, comparand_count, result, NULL,
                           result_count, endpoint_of(ep)->send_flags);
}

static ssize_t compare_one(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                           const void *comparand, void *comparand_desc, void *result,
                           void *result_desc, fi_addr_t to, uint64_t address, uint64_t key,
                           enum fi_datatype type, enum fi_op operation, void *context)
{
    struct fi_ioc iov = {.addr = (void *)(uintptr_t)buffer, .count = count};
    struct fi_ioc with = {.addr = (void *)(uintptr_t)comparand, .count = count};
    struct fi_ioc back = {.addr = result, .count = count};
    return compare_pieces(ep, &iov, NULL, 1, &with, NULL, 1, &back, NULL, 1, to, address, key, type,
                          operation, context);
}

/* ---- What is there -------------------------------------------------------------------------- */

static int valid(enum fi_datatype type, enum fi_op operation, enum atomic_kind kind, size_t *count)
{
    if (!atomic_is_valid(type, operation, kind))
        return -FI_EOPNOTSUPP;
    if (count)
        *count = ATOMIC_MAX / atomic_size(type);
    return 0;
}

static int write_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op operation,
                       size_t *count)
{
    return valid(type, operation, ATOMIC_PLAIN, count);
}

static int fetch_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op operation,
                       size_t *count)
{
    return valid(type, operation, ATOMIC_FETCH, count);
}

static int compare_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op operation,
                         size_t *count)
{
    return valid(type, operation, ATOMIC_COMPARE, count);
}

int atomic_query(struct fid_domain *domain, enum fi_datatype type, enum fi_op operation,
                 struct fi_atomic_attr *attr, uint64_t flags)
{
    enum atomic_kind kind = flags & FI_COMPARE_ATOMIC ? ATOMIC_COMPARE
                            : flags & FI_FETCH_ATOMIC ? ATOMIC_FETCH
                                                      : ATOMIC_PLAIN;
    int result = valid(type, operation, kind, attr ? &attr->count : NULL);
    if (result == 0 && attr)
        attr->size = atomic_size(type);
    return result;
}

struct fi_ops_atomic atomic_calls = {
    .size = sizeof(struct fi_ops_atomic),
    .write = write_one,
    .writev = write_pieces,
    .writemsg = write_message,
    .inject = inject,
    .readwrite = fetch_one,
    .readwritev = fetch_pieces,
    .readwritemsg = fetch_message,
    .compwrite = compare_one,
    .compwritev = compare_pieces,
    .compwritemsg = compare_message,
    .writevalid = write_valid,
    .readwritevalid = fetch_valid,
    .compwritevalid = compare_valid,
};
