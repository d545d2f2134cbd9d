/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent's socket: processes of the same user attach here, and introduce the files that they
 * want to have read. An abstract name is gone when the agent is; a path's folder has an owner who
 * removes it (place.h).
 */
#include "base/descriptor.h"
#include "base/error.h"
#include "cache/agent/agent.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

int agent_socket_open(struct agent *agent, const char *name)
{
    struct sockaddr_un address;
    socklen_t used;
    if (!cache_name_address(name, &address, &used))
        return error_fail(RH_EINVALID, "the socket's name %s is too long", name);
    if (name[0] == '/')
        unlink(name); /* of one that was killed: whoever serves has the lock of its folder */
    agent->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (agent->listen_fd < 0 || bind(agent->listen_fd, (struct sockaddr *)&address, used) < 0 ||
        listen(agent->listen_fd, BACKLOG) < 0)
        return error_fail(RH_ENOSPACE, "the cache's agent has no socket: %s", strerror(errno));
    return 0;
}

void agent_socket_close(struct agent *agent)
{
    for (int i = 0; i < agent->line_count; i++)
        close(agent->line_fds[i]);
    agent->line_count = 0;
    close(agent->listen_fd);
}

static void accept_line(struct agent *agent)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    int fd = accept4(agent->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid != geteuid())
        close(fd);
    else
        agent->line_fds[agent->line_count++] = fd;
}

static int peer_pid(int line)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    return getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ? 0 : peer.pid;
}

/* The file ends to be written with this process, of which the kernel tells our number. If it has
 * none here, nobody will know, and the file stays uncached. */
static int answer_last(struct agent *agent, const struct cache_call *call, int pid)
{
    if (call->watch >= agent->node.store.shape.watch_count)
        return -EINVAL;
    return pid > 0 ? agent_ending_add(agent, (uint32_t)call->watch, pid) : 0;
}

static int answer_stop(struct agent *agent)
{
    uint32_t not_yet = CACHE_STOP_NOT;
    if (!agent->is_service)
        return -EOPNOTSUPP;
    atomic_compare_exchange_strong(&agent->card->stop, &not_yet, CACHE_STOP_ALL);
    return 0;
}

/* Answer one call. False: the line is to be closed. */
static bool answer_call(struct agent *agent, int line)
{
    struct cache_call call;
    struct descriptor_message in = {.data = &call, .length = sizeof(call)};
    struct cache_reply reply = {
        .magic = CACHE_MAGIC, .version = CACHE_VERSION, .shape = agent->node.store.shape};
    struct descriptor_message out = {.data = &reply, .length = sizeof(reply)};
    if (descriptor_receive(line, &in, MSG_DONTWAIT) < 0)
        return false;
    if (call.magic != CACHE_MAGIC || call.version != CACHE_VERSION) {
        reply.result = -EPROTO;
    } else if (call.kind == CACHE_CALL_ATTACH || call.kind == CACHE_CALL_LOOK) {
        out.fd[0] = agent->arena_fd;
        out.fd[1] = agent->control_fd;
        out.fd_count = 2;
        if (call.kind == CACHE_CALL_ATTACH)
            agent_user_add(agent, peer_pid(line));
    } else if (call.kind == CACHE_CALL_WATCH) {
        out.fd[0] = agent->watch_fd;
        out.fd[1] = agent->card_fd;
        out.fd_count = 2;
    } else if (call.kind == CACHE_CALL_FILE && in.fd_count == 1) {
        reply.result = loader_introduce(&agent->node.loader, in.fd[--in.fd_count]);
    } else if (call.kind == CACHE_CALL_NAME) {
        reply.result = agent_name(agent, &call.named);
    } else if (call.kind == CACHE_CALL_LAST) {
        reply.result = answer_last(agent, &call, peer_pid(line));
    } else if (call.kind == CACHE_CALL_STOP) {
        reply.result = answer_stop(agent);
    } else {
        reply.result = -EINVAL;
    }
    while (in.fd_count > 0)
        close(in.fd[--in.fd_count]);
    return descriptor_send(line, &out, MSG_DONTWAIT) == 0;
}

void agent_socket_serve(struct agent *agent, int timeout_ms)
{
    struct pollfd fds[AGENT_LINES_MAX + 1];
    int line_count = agent->line_count, kept = 0;
    for (int i = 0; i < line_count; i++)
        fds[i] = (struct pollfd){.fd = agent->line_fds[i], .events = POLLIN};
    /* With all lines in use, newcomers wait in the kernel. */
    fds[line_count] = (struct pollfd){.fd = line_count < AGENT_LINES_MAX ? agent->listen_fd : -1,
                                      .events = POLLIN};
    if (poll(fds, (nfds_t)line_count + 1, timeout_ms) <= 0)
        return;
    for (int i = 0; i < line_count; i++) {
        if (fds[i].revents == 0 || answer_call(agent, fds[i].fd))
            agent->line_fds[kept++] = fds[i].fd;
        else
            close(fds[i].fd);
    }
    agent->line_count = kept;
    if (fds[line_count].revents & POLLIN)
        accept_line(agent);
}
