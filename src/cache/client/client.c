/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See client.h: attaching, which paths are cached, opening a file, writers.
 */
#include "base/descriptor.h"
#include "cache/client/state.h"
#include "cache/raw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define DIAL_TIMEOUT_S 5
#define NS_PER_SECOND  1000000000LL

/* ---- Attaching ------------------------------------------------------------------------------ */

static bool is_same_user(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

int cache_dial(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length == 0 || length > sizeof(address.sun_path) - 1)
        return -ENOENT;
    memcpy(address.sun_path + 1, name, length); /* after a 0: abstract, gone with its owner */
    int before = errno;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        errno = before;
        return -ENOMEM;
    }
    struct timeval limit = {.tv_sec = DIAL_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    socklen_t used = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    int result = 0;
    if (connect(fd, (struct sockaddr *)&address, used) < 0)
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
    struct cache_call call = {
        .magic = CACHE_MAGIC, .version = CACHE_VERSION, .kind = (uint32_t)dialogue->kind};
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
    return arena && control && watch && client->card ? 0 : -ENOMEM;
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
    for (int i = 0; i < 4; i++) {
        if (fds[i] >= 0)
            raw_close(fds[i]);
    }
    raw_close(socket);
    return result;
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
    return client && atomic_load_explicit(&client->card->agent_state, memory_order_acquire) ==
                         CACHE_AGENT_READY;
}

/* ---- Which files ---------------------------------------------------------------------------- */

static bool is_below(const char *path, const struct cache_path *top)
{
    uint32_t length = top->length;
    if (length == 1) /* the root */
        return true;
    return strncmp(path, top->text, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool cache_client_covers(const struct cache_client *client, const char *path)
{
    if (!client)
        return false;
    if (path[0] != '/')
        return true;
    for (uint32_t i = 0; i < client->card->path_count && i < CACHE_PATHS_MOST; i++) {
        if (is_below(path, &client->card->path[i]))
            return true;
    }
    return false;
}

static const struct cache_device *find_device(const struct cache_client *client, uint64_t device)
{
    for (unsigned i = 0; i < CACHE_DEVICES_MOST; i++) {
        const struct cache_device *entry = &client->card->device[i];
        /* acquire: pairs with the release in mounts.c, after the rest of the entry */
        uint64_t known = atomic_load_explicit(&entry->device, memory_order_acquire);
        if (known == device)
            return entry;
        if (known == 0)
            break;
    }
    return NULL;
}

/* Where the kernel says that fd is. */
static bool is_covered_place(const struct cache_client *client, int fd)
{
    char link[32] = "/proc/self/fd/";
    char path[4096];
    char digits[12];
    size_t at = strlen(link), count = 0;
    for (unsigned rest = (unsigned)fd; rest > 0 || count == 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        link[at++] = digits[--count];
    ssize_t length = raw_readlink(link, path, sizeof(path) - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return path[0] == '/' && cache_client_covers(client, path);
}

static int64_t in_ns(const struct timespec *time)
{
    return time->tv_sec * NS_PER_SECOND + time->tv_nsec;
}

/* A file that changed a moment ago may change again within the same tick of the file system's
 * clock, and look the same. */
static bool is_settled(const struct cache_client *client, const struct stat *status)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t newest = in_ns(&status->st_ctim);
    if (in_ns(&status->st_mtim) > newest)
        newest = in_ns(&status->st_mtim);
    return in_ns(&now) - newest >= client->card->settle_ns;
}

uint32_t cache_find_stat(const struct cache_client *client, const uint64_t id[2])
{
    struct cache_file_stat *stats = cache_file_stats(client->control, &client->shape);
    uint32_t mask = client->shape.file_count - 1;
    for (uint32_t step = 0; step < 8; step++) {
        uint32_t index = ((uint32_t)id[0] + step) & mask;
        if (atomic_load_explicit(&stats[index].id[0], memory_order_relaxed) == id[0] &&
            atomic_load_explicit(&stats[index].id[1], memory_order_relaxed) == id[1])
            return index + 1;
    }
    return 0;
}

static void fill(struct cache_client *client, struct cache_file *file, const struct stat *status,
                 uint64_t file_system)
{
    struct cache_key key = {.file_system = file_system,
                            .inode = status->st_ino,
                            .mtime_ns = in_ns(&status->st_mtim),
                            .ctime_ns = in_ns(&status->st_ctim),
                            .size = (uint64_t)status->st_size};
    file->client = client;
    cache_key_id(&key, file->id);
    file->size = key.size;
    file->device = status->st_dev;
    file->inode = key.inode;
    file->mtime_ns = key.mtime_ns;
    file->ctime_ns = key.ctime_ns;
    file->block_length = client->shape.block_length;
    file->stat_index = cache_find_stat(client, file->id);
    file->window = 1;
}

int cache_file_open(struct cache_client *client, struct cache_file *file, int fd)
{
    struct stat status;
    memset(file, 0, sizeof(*file));
    if (!cache_client_is_alive(client))
        return -ESHUTDOWN;
    int result = raw_fstat(fd, &status);
    if (result < 0)
        return result;
    const struct cache_device *device = find_device(client, status.st_dev);
    if (!S_ISREG(status.st_mode) || !device)
        return -EOPNOTSUPP;
    if (atomic_load_explicit(&device->is_part, memory_order_relaxed) &&
        !is_covered_place(client, fd))
        return -EOPNOTSUPP;
    uint64_t file_system = atomic_load_explicit(&device->file_system, memory_order_relaxed);
    uint32_t watch = cache_watch_index(&client->shape, file_system, status.st_ino);
    uint64_t word = cache_watch_word(client, watch);
    /* The word first, then the status: who begins to write in between is noticed at the next read.
     * The status above only told which word. If that has ever changed somebody of the job may have
     * written the file, and this host need not have heard of it. */
    result = word == 0 ? raw_fstat(fd, &status) : raw_fstat_now(fd, &status);
    if (result < 0)
        return result;
    if (cache_watch_writers(word) > 0 || !is_settled(client, &status) || status.st_size == 0)
        return -EAGAIN;
    fill(client, file, &status, file_system);
    file->watch = watch;
    file->seen = word;
    return 0;
}

void cache_file_close(struct cache_file *file)
{
    memset(file, 0, sizeof(*file));
}

/* ---- Writers -------------------------------------------------------------------------------- */

static int tell(struct cache_client *client, const struct stat *status,
                enum cache_request_kind kind)
{
    if (!client)
        return -ESHUTDOWN;
    const struct cache_device *device = find_device(client, status->st_dev);
    if (!S_ISREG(status->st_mode) || !device)
        return -EXDEV;
    uint64_t file_system = atomic_load_explicit(&device->file_system, memory_order_relaxed);
    struct cache_wish wish = {
        .kind = kind, .block = cache_watch_index(&client->shape, file_system, status->st_ino)};
    return cache_ask(client, &wish);
}

int cache_write_begin(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_WRITE_BEGIN);
}

int cache_write_end(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_WRITE_END);
}

int cache_write_last(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_WRITE_LAST);
}

int cache_changed(struct cache_client *client, const struct stat *status)
{
    return tell(client, status, CACHE_CHANGED);
}
