/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Standard input from a terminal. Rank 0 is in a process group of its own, and only the foreground
 * group, the launcher's, may read the terminal: so the launcher reads and passes it on. Files and
 * pipes are not relayed; rank 0 simply inherits them, unless it runs on another host.
 */
#include "base/descriptor.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int launch_input_open(struct launch_input *input, int *child_fd)
{
    *child_fd = -1;
    if (!isatty(STDIN_FILENO))
        return 0;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    launch_input_relay(input, fds[1]);
    *child_fd = fds[0];
    return 0;
}

void launch_input_relay(struct launch_input *input, int fd)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    input->fd = fd;
    input->is_terminal = isatty(STDIN_FILENO);
}

void launch_input_close(struct launch_input *input)
{
    descriptor_close(&input->fd);
}

/* In the background a read would stop the launcher (SIGTTIN). */
static bool may_read(const struct launch_input *input)
{
    return !input->is_terminal || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

int launch_input_poll(struct launch_input *input, struct pollfd *fd)
{
    if (input->fd < 0)
        return 0;
    if (input->used > 0)
        *fd = (struct pollfd){.fd = input->fd, .events = POLLOUT};
    else if (may_read(input))
        *fd = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    else
        *fd = (struct pollfd){.fd = input->fd}; /* only tells when rank 0 has closed its end */
    return 1;
}

static void pass_on(struct launch_input *input)
{
    ssize_t length = write(input->fd, input->data + input->start, input->used);
    if (length < 0 && errno != EAGAIN && errno != EINTR) {
        launch_input_close(input); /* rank 0 does not read any more */
        return;
    }
    if (length > 0) {
        input->start += (size_t)length;
        input->used -= (size_t)length;
    }
}

static void take_in(struct launch_input *input)
{
    ssize_t length = read(STDIN_FILENO, input->data, sizeof(input->data));
    if (length > 0) {
        input->start = 0;
        input->used = (size_t)length;
        pass_on(input);
    } else if (length == 0 || (errno != EINTR && errno != EAGAIN)) {
        launch_input_close(input);
    }
}

void launch_input_serve(struct launch_input *input, const struct pollfd *fd)
{
    if (fd->revents == 0)
        return;
    if (input->used > 0)
        pass_on(input);
    else if (fd->fd == STDIN_FILENO)
        take_in(input);
    else
        launch_input_close(input);
}
