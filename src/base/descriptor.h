/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages with descriptors on a local socket. Whatever arrives is taken whole or refused: wrong
 * length, truncated control data or more descriptors than expected never leave one behind.
 */
#pragma once

#include <stddef.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 2

struct descriptor_message {
    void *data;
    size_t length; /* exactly this many bytes are sent and accepted */
    int fd[DESCRIPTORS_MAX];
    int fd_count;   /* received ones are the caller's, close-on-exec */
    int sender_pid; /* received: as the kernel says, if the socket has SO_PASSCRED; else 0 */
};

/* Each returns 0 or a negative errno value; a receive also -ECONNRESET when the other end is closed
 * and -EBADMSG for a message of another shape, of which nothing is kept. */
int descriptor_send(int socket, const struct descriptor_message *message, int flags);
int descriptor_receive(int socket, struct descriptor_message *message, int flags);

/* If it is open; it is -1 then. */
static inline void descriptor_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
