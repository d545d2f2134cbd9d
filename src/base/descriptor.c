/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See descriptor.h.
 */
#include "base/descriptor.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_SPACE  CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))
#define CRED_SPACE CMSG_SPACE(sizeof(struct ucred))

int descriptor_send(int socket, const struct descriptor_message *message, int flags)
{
    _Alignas(struct cmsghdr) char control[FDS_SPACE] = {0};
    struct iovec part = {.iov_base = message->data, .iov_len = message->length};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (message->fd_count > 0) {
        size_t bytes = (size_t)message->fd_count * sizeof(int);
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(item), message->fd, bytes);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return -errno;
    return (size_t)sent == message->length ? 0 : -EIO;
}

/* Keeps what fits, closes the rest: a peer cannot fill our table of descriptors. False if there
 * were more than a message may have. */
static bool take_descriptors(const struct cmsghdr *item, struct descriptor_message *message)
{
    bool fits = true;
    int count = (int)((item->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(item) + (size_t)i * sizeof(int), sizeof(fd));
        if (message->fd_count < DESCRIPTORS_MAX)
            message->fd[message->fd_count++] = fd;
        else {
            close(fd);
            fits = false;
        }
    }
    return fits;
}

int descriptor_receive(int socket, struct descriptor_message *message, int flags)
{
    _Alignas(struct cmsghdr) char control[FDS_SPACE + CRED_SPACE];
    struct iovec part = {.iov_base = message->data, .iov_len = message->length};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof(control)};
    message->fd_count = 0;
    message->sender_pid = 0;
    bool fits = true;
    ssize_t got;
    do
        got = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
        if (item->cmsg_level != SOL_SOCKET)
            continue;
        if (item->cmsg_type == SCM_RIGHTS)
            fits = take_descriptors(item, message) && fits;
        if (item->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(item), sizeof(sender));
            message->sender_pid = sender.pid;
        }
    }
    if (got == 0 && message->fd_count == 0)
        return -ECONNRESET;
    if (fits && (size_t)got == message->length && !(header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)))
        return 0;
    while (message->fd_count > 0)
        close(message->fd[--message->fd_count]);
    return -EBADMSG;
}
