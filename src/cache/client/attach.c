/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attaching to the agent of this node: its socket, what is said there, and the memory that it
 * gives; see client.h.
 */
#include "base/descriptor.h"
#include "cache/address.h"
#include "cache/client/state.h"
#include "cache/raw.h"

#include <stdlib.h>
#include <string.h>

#define DIAL_TIMEOUT_S 5

/* ---- The agent's socket --------------------------------------------------------------------- */

static bool is_same_user(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

int cache_dial(const char *name)
{
    struct sockaddr_un address;
    socklen_t length;
    if (!cache_name_address(name, &address, &length))
        return -ENOENT;
    int before = errno;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        errno = before;
        return -ENOMEM;
    }
    struct timeval limit = {.tv_sec = DIAL_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    int result = 0;
    if (connect(fd, (struct sockaddr *)&address, length) < 0)
        result = errno == EAGAIN ? -ETIMEDOUT : -ECONNREFUSED;
    else if (!is_same_user(fd))
        result = -EPERM;
    errno = before;
    if (result < 0) {
        raw_close(fd);
        return result;
    }
    return fd;
}

int cache_talk(int socket, const struct cache_dialogue *dialogue)
{
    struct cache_call call = {.magic = CACHE_MAGIC,
                              .version = CACHE_VERSION,
                              .kind = (uint32_t)dialogue->kind,
                              .watch = dialogue->watch};
    if (dialogue->named)
        call.named = *dialogue->named;
    struct cache_reply reply = {0};
    struct descriptor_message out = {.data = &call, .length = sizeof(call)};
    struct descriptor_message in = {.data = &reply, .length = sizeof(reply)};
    if (dialogue->send_fd >= 0)
        out.fd[out.fd_count++] = dialogue->send_fd;
    int before = errno;
    int result = descriptor_send(socket, &out, 0);
    if (result == 0)
        result = descriptor_receive(socket, &in, 0);
    errno = before;
    if (result < 0)
        return result == -EAGAIN ? -ETIMEDOUT : result;
    if (reply.magic != CACHE_MAGIC || reply.version != CACHE_VERSION)
        result = -EPROTO;
    else if (reply.result < 0)
        result = reply.result;
    else if (in.fd_count != dialogue->fd_count)
        result = -EPROTO;
    for (int i = 0; i < in.fd_count; i++) {
        if (result == 0)
            dialogue->fds[i] = in.fd[i];
        else
            raw_close(in.fd[i]);
    }
    if (result == 0 && dialogue->shape)
        *dialogue->shape = reply.shape;
    return result;
}

/* ---- Memory --------------------------------------------------------------------------------- */

static void *map_checked(int fd, uint64_t length, int protection)
{
    struct stat status;
    if (raw_fstat(fd, &status) < 0 || (uint64_t)status.st_size < length)
        return NULL;
    return raw_map(length, protection, MAP_SHARED | MAP_NORESERVE, fd);
}

/* fds: arena, control, watch, card. */
static int map_all(struct cache_client *client, const int fds[4])
{
    const struct cache_shape *shape = &client->shape;
    if (!cache_shape_check(shape))
        return -EPROTO;
    void *arena = map_checked(fds[0], shape->arena_length, PROT_READ);
    void *control = map_checked(fds[1], shape->control_length, PROT_READ | PROT_WRITE);
    void *watch = map_checked(fds[2], shape->watch_count * sizeof(uint64_t), PROT_READ);
    client->arena = cache_arena_at(arena, shape);
    client->control = control;
    client->watch = watch;
    client->card = map_checked(fds[3], sizeof(*client->card), PROT_READ);
    if (!arena || !control || !watch || !client->card)
        return -ENOMEM;
    uint64_t own = raw_namespace("/proc/self/ns/pid");
    client->is_foreign = own == 0 || own != client->card->pid_namespace;
    return 0;
}

/* Behind another root or in another mount namespace the same path is another folder. */
static bool sees_declared(const struct cache_card *card)
{
    for (uint32_t i = 0; i < card->declared_count && i < CACHE_PATHS_MAX; i++) {
        const struct cache_declared *declared = &card->declared[i];
        struct statx found;
        if (declared->device == 0)
            continue;
        if (RAW(SYS_statx, AT_FDCWD, declared->path.text, (long)AT_STATX_DONT_SYNC, STATX_INO,
                &found) < 0 ||
            found.stx_ino != declared->inode ||
            makedev(found.stx_dev_major, found.stx_dev_minor) != declared->device)
            return false;
    }
    return true;
}

static int attach(struct cache_client *client)
{
    int fds[4] = {-1, -1, -1, -1};
    int socket = cache_dial(client->name);
    if (socket < 0)
        return socket;
    struct cache_dialogue memory = {.kind = CACHE_CALL_ATTACH,
                                    .send_fd = -1,
                                    .fds = fds,
                                    .fd_count = 2,
                                    .shape = &client->shape};
    struct cache_dialogue watch = {
        .kind = CACHE_CALL_WATCH, .send_fd = -1, .fds = fds + 2, .fd_count = 2};
    int result = cache_talk(socket, &memory);
    if (result == 0)
        result = cache_talk(socket, &watch);
    if (result == 0)
        result = map_all(client, fds);
    client->sees_declared = result == 0 && sees_declared(client->card);
    for (int i = 0; i < 4; i++) {
        if (fds[i] >= 0)
            raw_close(fds[i]);
    }
    raw_close(socket);
    return result;
}

/* One call without descriptors. */
static int call_agent(const char *name, const struct cache_dialogue *dialogue)
{
    int socket = cache_dial(name);
    if (socket < 0)
        return socket;
    int result = cache_talk(socket, dialogue);
    raw_close(socket);
    return result;
}

int cache_ask_last(struct cache_client *client, uint64_t watch)
{
    struct cache_dialogue dialogue = {.kind = CACHE_CALL_LAST, .watch = watch, .send_fd = -1};
    return call_agent(client->name, &dialogue);
}

int cache_service_stop(const char *name)
{
    struct cache_dialogue dialogue = {.kind = CACHE_CALL_STOP, .send_fd = -1};
    return call_agent(name, &dialogue);
}

int cache_service_look(const char *name, int *control_fd)
{
    int fds[2];
    struct cache_dialogue dialogue = {
        .kind = CACHE_CALL_LOOK, .send_fd = -1, .fds = fds, .fd_count = 2};
    int result = call_agent(name, &dialogue);
    if (result < 0)
        return result;
    raw_close(fds[0]);
    *control_fd = fds[1];
    return 0;
}

int cache_client_attach(struct cache_client **client, const char *name)
{
    *client = NULL;
    if (!name)
        name = secure_getenv(CACHE_SOCKET_VARIABLE);
    if (!name || strlen(name) >= sizeof((*client)->name))
        return -ENOENT;
    struct cache_client *made = raw_map(sizeof(*made), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!made)
        return -ENOMEM;
    memcpy(made->name, name, strlen(name));
    int result = attach(made);
    if (result < 0)
        cache_client_detach(made);
    else
        *client = made;
    return result;
}

void cache_client_detach(struct cache_client *client)
{
    if (!client)
        return;
    if (client->arena.data)
        raw_unmap(client->arena.data, client->shape.arena_length);
    if (client->control)
        raw_unmap(client->control, client->shape.control_length);
    if (client->watch)
        raw_unmap((void *)(uintptr_t)client->watch, client->shape.watch_count * sizeof(uint64_t));
    if (client->card)
        raw_unmap((void *)(uintptr_t)client->card, sizeof(*client->card));
    raw_unmap(client, sizeof(*client));
}

bool cache_client_is_alive(const struct cache_client *client)
{
    return client && cache_agent_is_ready(client);
}

void cache_client_counters(const struct cache_client *client, uint64_t values[CACHE_COUNTER_COUNT])
{
    cache_counters_sum(client->control, values);
}
