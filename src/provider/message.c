/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of fi_msg(3).
 */
#include "provider/op.h"

static ssize_t receive_pieces(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                              fi_addr_t from, void *context)
{
    return receive_post(endpoint_of(ep),
                        &(struct receiving){.iov = iov,
                                            .count = count,
                                            .from = from,
                                            .context = context,
                                            .flags = endpoint_of(ep)->receive_flags});
}

static ssize_t receive_one(struct fid_ep *ep, void *buffer, size_t length, void *desc,
                           fi_addr_t from, void *context)
{
    struct iovec iov = {.iov_base = buffer, .iov_len = length};
    return receive_pieces(ep, &iov, NULL, 1, from, context);
}

static ssize_t receive_message(struct fid_ep *ep, const struct fi_msg *message, uint64_t flags)
{
    return receive_post(endpoint_of(ep),
                        &(struct receiving){.iov = message->msg_iov,
                                            .count = message->iov_count,
                                            .from = message->addr,
                                            .context = message->context,
                                            .flags = flags & ~(FI_PEEK | FI_CLAIM | FI_DISCARD)});
}

static ssize_t send_pieces_with(struct fid_ep *ep, const struct iovec *iov, size_t count,
                                fi_addr_t to, uint64_t data, uint64_t flags, void *context)
{
    return send_post(endpoint_of(ep), &(struct sending){.iov = iov,
                                                        .count = count,
                                                        .to = to,
                                                        .data = data,
                                                        .context = context,
                                                        .flags = flags});
}

static ssize_t send_with(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to,
                         uint64_t data, uint64_t flags, void *context)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
    return send_pieces_with(ep, &iov, 1, to, data, flags, context);
}

static ssize_t send_one(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                        fi_addr_t to, void *context)
{
    return send_with(ep, buffer, length, to, 0, endpoint_of(ep)->send_flags, context);
}

static ssize_t send_pieces(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                           fi_addr_t to, void *context)
{
    return send_pieces_with(ep, iov, count, to, 0, endpoint_of(ep)->send_flags, context);
}

static ssize_t send_message(struct fid_ep *ep, const struct fi_msg *message, uint64_t flags)
{
    return send_pieces_with(ep, message->msg_iov, message->iov_count, message->addr, message->data,
                            flags, message->context);
}

static ssize_t inject(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to)
{
    return send_with(ep, buffer, length, to, 0, FI_INJECT | SEND_IS_QUIET, NULL);
}

static ssize_t send_data(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                         uint64_t data, fi_addr_t to, void *context)
{
    return send_with(ep, buffer, length, to, data, endpoint_of(ep)->send_flags | FI_REMOTE_CQ_DATA,
                     context);
}

static ssize_t inject_data(struct fid_ep *ep, const void *buffer, size_t length, uint64_t data,
                           fi_addr_t to)
{
    return send_with(ep, buffer, length, to, data, FI_INJECT | FI_REMOTE_CQ_DATA | SEND_IS_QUIET,
                     NULL);
}

struct fi_ops_msg message_calls = {
    .size = sizeof(struct fi_ops_msg),
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
