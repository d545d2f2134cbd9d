/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of fi_tagged(3).
 */
#include "provider/op.h"

static ssize_t receive_one(struct fid_ep *ep, void *buffer, size_t length, void *desc,
                           fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    struct iovec iov = {.iov_base = buffer, .iov_len = length};
    return receive_post(
        endpoint_of(ep),
        &(struct receiving){.iov = &iov,
                            .count = 1,
                            .from = from,
                            .tag = tag,
                            .ignore = ignore,
                            .context = context,
                            .flags = endpoint_of(ep)->receive_flags & ~FI_MULTI_RECV,
                            .is_tagged = true});
}

static ssize_t receive_pieces(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                              fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    return receive_post(
        endpoint_of(ep),
        &(struct receiving){.iov = iov,
                            .count = count,
                            .from = from,
                            .tag = tag,
                            .ignore = ignore,
                            .context = context,
                            .flags = endpoint_of(ep)->receive_flags & ~FI_MULTI_RECV,
                            .is_tagged = true});
}

static ssize_t receive_message(struct fid_ep *ep, const struct fi_msg_tagged *message,
                               uint64_t flags)
{
    return receive_post(endpoint_of(ep), &(struct receiving){.iov = message->msg_iov,
                                                             .count = message->iov_count,
                                                             .from = message->addr,
                                                             .tag = message->tag,
                                                             .ignore = message->ignore,
                                                             .context = message->context,
                                                             .flags = flags & ~FI_MULTI_RECV,
                                                             .is_tagged = true});
}

static ssize_t send_pieces_with(struct fid_ep *ep, const struct iovec *iov, size_t count,
                                fi_addr_t to, uint64_t tag, uint64_t data, uint64_t flags,
                                void *context)
{
    return send_post(endpoint_of(ep), &(struct sending){.iov = iov,
                                                        .count = count,
                                                        .to = to,
                                                        .tag = tag,
                                                        .data = data,
                                                        .context = context,
                                                        .flags = flags,
                                                        .is_tagged = true});
}

static ssize_t send_with(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to,
                         uint64_t tag, uint64_t data, uint64_t flags, void *context)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    return send_pieces_with(ep, &iov, 1, to, tag, data, flags, context);
}

static ssize_t send_one(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                        fi_addr_t to, uint64_t tag, void *context)
{
    return send_with(ep, buffer, length, to, tag, 0, endpoint_of(ep)->send_flags, context);
}

static ssize_t send_pieces(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                           fi_addr_t to, uint64_t tag, void *context)
{
    return send_pieces_with(ep, iov, count, to, tag, 0, endpoint_of(ep)->send_flags, context);
}

static ssize_t send_message(struct fid_ep *ep, const struct fi_msg_tagged *message, uint64_t flags)
{
    return send_pieces_with(ep, message->msg_iov, message->iov_count, message->addr, message->tag,
                            message->data, flags, message->context);
}

static ssize_t inject(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to,
                      uint64_t tag)
{
    return send_with(ep, buffer, length, to, tag, 0, FI_INJECT | SEND_IS_QUIET, NULL);
}

static ssize_t send_data(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                         uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
    return send_with(ep, buffer, length, to, tag, data,
                     endpoint_of(ep)->send_flags | FI_REMOTE_CQ_DATA, context);
}

static ssize_t inject_data(struct fid_ep *ep, const void *buffer, size_t length, uint64_t data,
                           fi_addr_t to, uint64_t tag)
{
    return send_with(ep, buffer, length, to, tag, data,
                     FI_INJECT | FI_REMOTE_CQ_DATA | SEND_IS_QUIET, NULL);
}

struct fi_ops_tagged tagged_calls = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = receive_one,
    .recvv = receive_pieces,
    .recvmsg = receive_message,
    .send = send_one,
    .sendv = send_pieces,
    .sendmsg = send_message,
    .inject = inject,
    .senddata = send_data,
    .injectdata = inject_data,
};
