/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Endpoints: a port of the engine each.
 */
#include "provider/op.h"

#include <stdlib.h>

/* ---- Binding -------------------------------------------------------------------------------- */

static int bind_queue(struct endpoint *endpoint, struct queue *queue, uint64_t flags)
{
    bool is_selective = flags & FI_SELECTIVE_COMPLETION;
    if (!(flags & (FI_SEND | FI_RECV)) || ((flags & FI_SEND) && endpoint->send_queue) ||
        ((flags & FI_RECV) && endpoint->receive_queue))
        return -FI_EINVAL;
    if (flags & FI_SEND) {
        endpoint->send_queue = queue;
        endpoint->is_send_selective = is_selective;
        queue->users++;
    }
    if (flags & FI_RECV) {
        endpoint->receive_queue = queue;
        endpoint->is_receive_selective = is_selective;
        queue->users++;
    }
    return 0;
}

static int bind_counter(struct endpoint *endpoint, struct counter *counter, uint64_t flags)
{
    static const uint64_t flag[COUNT_KINDS] = {FI_SEND,  FI_RECV,        FI_READ,
                                               FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
    for (int i = 0; i < COUNT_KINDS; i++) {
        if (!(flags & flag[i]))
            continue;
        if (endpoint->counter[i])
            endpoint->counter[i]->users--;
        endpoint->counter[i] = counter;
        counter->users++;
    }
    return 0;
}

static int bind_endpoint(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct endpoint *endpoint = (struct endpoint *)fid;
    switch (other->fclass) {
    case FI_CLASS_CQ:
        return bind_queue(endpoint, (struct queue *)other, flags);
    case FI_CLASS_CNTR:
        return bind_counter(endpoint, (struct counter *)other, flags);
    case FI_CLASS_AV:
        if (endpoint->vector)
            return -FI_EINVAL;
        endpoint->vector = (struct vector *)other;
        endpoint->vector->users++;
        return 0;
    case FI_CLASS_STX_CTX: /* has nothing that an endpoint could use */
    case FI_CLASS_EQ:      /* where nothing will come */
        return 0;
    default:
        return -FI_EINVAL;
    }
}

/* ---- Control -------------------------------------------------------------------------------- */

static int enable(struct endpoint *endpoint)
{
    bool sends = endpoint->caps & FI_SEND, receives = endpoint->caps & FI_RECV;
    if (!endpoint->vector)
        return -FI_ENOAV;
    if ((sends && !endpoint->send_queue && !endpoint->counter[COUNT_SEND]) ||
        (receives && !endpoint->receive_queue && !endpoint->counter[COUNT_RECEIVE]))
        return -FI_ENOCQ;
    endpoint->is_enabled = true;
    return 0;
}

static int control_endpoint(struct fid *fid, int command, void *argument)
{
    struct endpoint *endpoint = (struct endpoint *)fid;
    uint64_t *flags = argument;
    switch (command) {
    case FI_ENABLE:
        return enable(endpoint);
    case FI_GETOPSFLAG:
        if (!(*flags & (FI_TRANSMIT | FI_RECV)))
            return -FI_EINVAL;
        *flags = *flags & FI_TRANSMIT ? endpoint->send_flags : endpoint->receive_flags;
        return 0;
    case FI_SETOPSFLAG:
        if (!(*flags & (FI_TRANSMIT | FI_RECV)))
            return -FI_EINVAL;
        *(*flags & FI_TRANSMIT ? &endpoint->send_flags
                               : &endpoint->receive_flags) = *flags & ~(FI_TRANSMIT | FI_RECV);
        return 0;
    default:
        return -FI_ENOSYS;
    }
}

static ssize_t cancel(fid_t fid, void *context)
{
    struct endpoint *endpoint = (struct endpoint *)fid;
    engine_take(endpoint->engine);
    ssize_t result = receive_cancel(endpoint, context);
    engine_give(endpoint->engine);
    return result;
}

static int get_option(fid_t fid, int level, int name, void *value, size_t *length)
{
    const struct endpoint *endpoint = (struct endpoint *)fid;
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
        return -FI_ENOPROTOOPT;
    if (*length < sizeof(size_t))
        return -FI_ETOOSMALL;
    *(size_t *)value = endpoint->multi_receive_least;
    *length = sizeof(size_t);
    return 0;
}

static int set_option(fid_t fid, int level, int name, const void *value, size_t length)
{
    struct endpoint *endpoint = (struct endpoint *)fid;
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
        return -FI_ENOPROTOOPT;
    if (length != sizeof(size_t))
        return -FI_EINVAL;
    endpoint->multi_receive_least = *(const size_t *)value;
    return 0;
}

static ssize_t receives_left(struct fid_ep *ep)
{
    return endpoint_of(ep)->is_enabled ? SENDS_DEFAULT : -FI_EOPBADSTATE;
}

static ssize_t sends_left(struct fid_ep *ep)
{
    return endpoint_of(ep)->is_enabled ? SENDS_DEFAULT : -FI_EOPBADSTATE;
}

static struct fi_ops_ep endpoint_calls = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = cancel,
    .getopt = get_option,
    .setopt = set_option,
    .tx_ctx = no_send_context,
    .rx_ctx = no_receive_context,
    .rx_size_left = receives_left,
    .tx_size_left = sends_left,
};

/* ---- Names ---------------------------------------------------------------------------------- */

static int get_name(fid_t fid, void *buffer, size_t *length)
{
    const struct endpoint *endpoint = (struct endpoint *)fid;
    struct address address = {.magic = ADDRESS_MAGIC, .port = (uint16_t)endpoint->port};
    size_t job_length = sizeof(address.job);
    if (rh_address(endpoint->engine->job, address.job, &job_length) < 0)
        return -FI_EIO;
    address.job_length = (uint16_t)job_length;
    size_t room = *length;
    *length = sizeof(address);
    if (buffer && room > 0)
        memcpy(buffer, &address, room < sizeof(address) ? room : sizeof(address));
    return room < sizeof(address) ? -FI_ETOOSMALL : 0;
}

static struct fi_ops_cm name_calls = {
    .size = sizeof(struct fi_ops_cm),
    .setname = no_set_name,
    .getname = get_name,
    .getpeer = no_get_peer,
    .connect = no_connect,
    .listen = no_listen,
    .accept = no_accept,
    .reject = no_reject,
    .shutdown = no_shutdown,
    .join = no_join,
};

/* ---- Opening and closing -------------------------------------------------------------------- */

static void unbind(struct endpoint *endpoint)
{
    if (endpoint->send_queue)
        endpoint->send_queue->users--;
    if (endpoint->receive_queue)
        endpoint->receive_queue->users--;
    if (endpoint->vector)
        endpoint->vector->users--;
    for (int i = 0; i < COUNT_KINDS; i++) {
        if (endpoint->counter[i])
            endpoint->counter[i]->users--;
    }
}

static int close_endpoint(struct fid *fid)
{
    struct endpoint *endpoint = (struct endpoint *)fid;
    struct engine *engine = endpoint->engine;
    endpoint_name_drop(endpoint);
    engine_take(engine);
    engine_progress(engine); /* what is over is told */
    engine->port[endpoint->port] = NULL;
    messages_drop(endpoint);
    messages_own_forget(engine, endpoint);
    ops_abandon(engine, endpoint);
    engine_progress(engine);
    engine_give(engine);
    unbind(endpoint);
    endpoint->domain->users--;
    free(endpoint);
    return 0;
}

static struct fi_ops endpoint_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_endpoint,
    .bind = bind_endpoint,
    .control = control_endpoint,
    .ops_open = no_ops_open,
};

/* A free port, or -1. Each is used again as late as can be, since peers may still write to it. */
static int take_port(struct engine *engine, struct endpoint *endpoint)
{
    for (uint32_t i = 0; i < PORT_COUNT; i++) {
        uint32_t port = (engine->next_port + i) % PORT_COUNT;
        if (engine->port[port])
            continue;
        engine->next_port = port + 1;
        engine->port[port] = endpoint;
        return (int)port;
    }
    return -1;
}

int endpoint_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, void *context)
{
    struct domain *domain = (struct domain *)fid;
    if (info->ep_attr && info->ep_attr->type != FI_EP_UNSPEC && info->ep_attr->type != FI_EP_RDM)
        return -FI_EINVAL;
    struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
    if (!endpoint)
        return -FI_ENOMEM;
    endpoint->engine = domain->engine;
    endpoint->domain = domain;
    endpoint->caps = info->caps;
    endpoint->wants_source = info->caps & FI_SOURCE;
    endpoint->send_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
    endpoint->receive_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
    endpoint->multi_receive_least = 64;
    endpoint->fid = (struct fid_ep){
        .fid = {.fclass = FI_CLASS_EP, .context = context, .ops = &endpoint_fid_calls},
        .ops = &endpoint_calls,
        .cm = &name_calls,
        .msg = &message_calls,
        .rma = &rma_calls,
        .tagged = &tagged_calls,
        .atomic = &atomic_calls,
        .collective = &no_collective_calls};
    engine_take(domain->engine);
    int port = take_port(domain->engine, endpoint);
    engine_give(domain->engine);
    if (port < 0) {
        free(endpoint);
        return -FI_ENOSPC;
    }
    endpoint->port = (uint32_t)port;
    domain->users++;
    struct address wanted;
    if (address_read(info->src_addr, info->src_addrlen, &wanted) && wanted.magic == ADDRESS_NAMED)
        endpoint_name_take(endpoint, &wanted);
    *ep = &endpoint->fid;
    return 0;
}
