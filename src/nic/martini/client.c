/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See client.h.
 */
#include "nic/martini/client.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One thread's line to the server. */
struct channel {
    int thread; /* as the kernel numbers them */
    int fd;
    int64_t seen_ns; /* of processor time, when the last answer came */
    struct channel *next;
};

struct martini_client {
    struct martini_port port;
    pthread_mutex_t lock;
    int fd;
    struct channel *channels;
};

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int simulation_gone(void)
{
    return error_fail(RH_EREFUSED, "the simulation does not answer; was the launcher killed?");
}

/* ---- Channels -------------------------------------------------------------------------------- */

/* The server gets one end of a new pair. */
static int channel_connect(struct martini_client *client, struct channel *channel)
{
    int ends[2];
    char letter = 'c';
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_fail(RH_ENOSPACE, "no socket for a thread: %s", strerror(errno));
    struct descriptor_message message = {
        .data = &letter, .length = sizeof(letter), .fd = {ends[1]}, .fd_count = 1};
    int result = descriptor_send(client->fd, &message, 0);
    close(ends[1]);
    if (result < 0) {
        close(ends[0]);
        return simulation_gone();
    }
    channel->fd = ends[0];
    return 0;
}

static struct channel *channel_find(struct martini_client *client)
{
    int thread = gettid();
    pthread_mutex_lock(&client->lock);
    struct channel *channel = client->channels;
    while (channel && channel->thread != thread)
        channel = channel->next;
    if (!channel) {
        channel = calloc(1, sizeof(*channel));
        if (channel && channel_connect(client, channel) < 0) {
            free(channel);
            channel = NULL;
        }
        if (channel) {
            channel->thread = thread;
            channel->seen_ns = processor_ns();
            channel->next = client->channels;
            client->channels = channel;
        }
    }
    pthread_mutex_unlock(&client->lock);
    return channel;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static int client_call(void *context, struct martini_call *call)
{
    struct channel *channel = channel_find(context);
    if (!channel)
        return RH_EREFUSED;
    call->computed_ns = (uint64_t)(processor_ns() - channel->seen_ns);
    ssize_t length = send(channel->fd, call, sizeof(*call), MSG_NOSIGNAL);
    while (length == (ssize_t)sizeof(*call)) {
        length = recv(channel->fd, call, sizeof(*call), 0);
        if (length >= 0 || errno != EINTR)
            break;
        length = sizeof(*call);
    }
    if (length != (ssize_t)sizeof(*call))
        return simulation_gone();
    call->text[sizeof(call->text) - 1] = '\0';
    if (call->result < 0 && call->text[0])
        error_set(call->result, call->error_rank, "%s", call->text);
    channel->seen_ns = processor_ns();
    return 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int check_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof(type);
    if (fd > 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
        type == SOCK_SEQPACKET)
        return 0;
    return error_fail(
        RH_EINVALID,
        "NIC martini needs a simulation: start the program by `rhinet run --nic martini`");
}

int martini_client_open(struct martini_client **client, const struct nic_job *job)
{
    int fd = (int)setting_number(job->settings, SETTING_MARTINI_FD);
    int result = check_socket(fd);
    if (result < 0)
        return result;
    struct martini_client *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("a simulated NIC");
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    made->fd = fd;
    made->port = (struct martini_port){made, client_call};
    pthread_mutex_init(&made->lock, NULL);
    *client = made;
    return 0;
}

void martini_client_close(struct martini_client *client)
{
    if (!client)
        return;
    while (client->channels) {
        struct channel *gone = client->channels;
        client->channels = gone->next;
        close(gone->fd);
        free(gone);
    }
    close(client->fd);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

const struct martini_port *martini_client_port(const struct martini_client *client)
{
    return &client->port;
}
