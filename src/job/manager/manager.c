/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The task manager: its life cycle and its sockets. What the requests do is requests.c.
 */
#include "job/manager/manager.h"

#include "base/assert.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "job/job_map.h"
#include "job/manager/state.h"
#include "job/mesh/mesh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RANKS_MAX  65536
#define LAST_WORDS 64

/* The member's process is known by what the kernel says, not by what it says itself. Asked for only
 * while its first request is awaited: a socket with this option gets an abstract name when it
 * sends. */
static void ask_for_identity(struct member *member, int yes)
{
    setsockopt(member->fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes));
}

/* By hand: a process that is about to be started may still have the descriptor, and then closing it
 * would leave it in the set. */
static void stop_watching(struct manager *manager, int *fd)
{
    if (*fd >= 0)
        epoll_ctl(manager->poll_fd, EPOLL_CTL_DEL, *fd, NULL);
    descriptor_close(fd);
}

void manager_member_watch(struct manager *manager, int rank, int pid)
{
    struct member *member = &manager->members[rank];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = MANAGER_PROCESS + (uint64_t)rank};
    if (pid <= 0 || pid == member->started_pid || pid == getpid())
        return;
    member->process_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (member->process_fd >= 0 &&
        epoll_ctl(manager->poll_fd, EPOLL_CTL_ADD, member->process_fd, &event) < 0)
        descriptor_close(&member->process_fd);
}

int manager_socket_watch(struct manager *manager, int rank)
{
    struct member *member = &manager->members[rank];
    ask_for_identity(member, true);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)rank};
    if (epoll_ctl(manager->poll_fd, EPOLL_CTL_ADD, member->fd, &event) < 0)
        return error_fail(RH_ENOSPACE, "cannot watch rank %d: %s", rank, strerror(errno));
    return 0;
}

static int member_open(struct manager *manager, int rank)
{
    struct member *member = &manager->members[rank];
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_fail(RH_ENOSPACE, "no descriptor left for rank %d of %d: %s; raise ulimit -n",
                          rank, manager->size, strerror(errno));
    member->fd = pair[0];
    member->child_fd = pair[1];
    return manager_socket_watch(manager, rank);
}

int manager_adopt(struct manager *manager, int rank, int fd)
{
    ASSERT(manager->adopts);
    ASSERT((unsigned)rank < (unsigned)manager->size);
    struct member *member = &manager->members[rank];
    if (member->has_come)
        return -EEXIST;
    member->fd = fd;
    if (manager_socket_watch(manager, rank) < 0) {
        member->fd = -1;
        return -ENOSPC;
    }
    member->has_come = true;
    return 0;
}

int manager_member_count(const struct manager *manager)
{
    int count = 0;
    for (int rank = 0; rank < manager->size; rank++)
        count += manager->members[rank].fd >= 0;
    return count;
}

void manager_refuse_all(struct manager *manager, const char *why)
{
    snprintf(manager->refusal, sizeof(manager->refusal), "%s", why);
}

void manager_refused_count(struct manager *manager)
{
    atomic_fetch_add_explicit(&manager->memory.roster->refused, 1, memory_order_relaxed);
}

static int create_memory(struct manager *manager, const struct manager_options *options,
                         uint64_t job_id)
{
    uint32_t size = (uint32_t)options->size;
    if (!options->is_open)
        return job_memory_create(&manager->memory, size, job_id);
    int result = job_memory_create_open(&manager->memory, size, job_id);
    return result < 0 ? result : manager_open_jobs_open(manager);
}

int manager_create(struct manager **manager, const struct manager_options *options)
{
    const struct job_map *map = options->map;
    uint64_t job_id = map ? map->job_id : 0;
    int result = 0;
    if (options->size < 1 || options->size > RANKS_MAX)
        return error_fail(RH_EINVALID, "a job has 1 to %d processes, not %d", RANKS_MAX,
                          options->size);
    struct manager *made = calloc(1, sizeof(*made));
    struct member *members = calloc((size_t)options->size, sizeof(*members));
    if (!made || !members) {
        free(made);
        free(members);
        return error_no_memory("a job of %d", options->size);
    }
    *made = (struct manager){.size = options->size,
                             .members = members,
                             .map = map,
                             .adopts = options->adopts || options->is_open,
                             .common_fd = -1,
                             .memory = {.roster_fd = -1, .board_fd = -1},
                             .poll_fd = epoll_create1(EPOLL_CLOEXEC)};
    for (int rank = 0; rank < options->size; rank++)
        members[rank] = (struct member){
            .fd = -1, .child_fd = -1, .service_fd = -1, .process_fd = -1};
    if (made->poll_fd < 0)
        result = error_fail(RH_ENOSPACE, "no descriptor left for the task manager: %s",
                            strerror(errno));
    else if (map) /* several hosts have agreed on it beforehand */
        job_member_secret(map->secret, made->secret);
    else
        result = job_identity_make(&job_id, made->secret);
    if (result == 0)
        result = create_memory(made, options, job_id);
    if (result == 0) {
        struct roster *roster = made->memory.roster;
        roster->survive = options->survive;
        snprintf(roster->nic, sizeof(roster->nic), "%s", options->nic ? options->nic : "");
        snprintf(roster->command, sizeof(roster->command), "%s",
                 options->command ? options->command : "");
        result = manager_hosts_open(made, options);
    }
    for (int rank = 0; rank < options->size && result == 0; rank++) {
        if (!options->adopts && !options->is_open && job_map_is_here(map, rank))
            result = member_open(made, rank);
    }
    if (result < 0) {
        manager_destroy(made);
        return result;
    }
    *manager = made;
    return 0;
}

void manager_destroy(struct manager *manager)
{
    if (!manager)
        return;
    for (int rank = 0; rank < manager->size; rank++) {
        struct member *member = &manager->members[rank];
        manager_offers_drop(member);
        free(member->offers);
        free(member->card);
        descriptor_close(&member->fd);
        descriptor_close(&member->child_fd);
        descriptor_close(&member->process_fd);
    }
    manager_hosts_close(manager);
    free(manager->members);
    free(manager->met);
    job_memory_release(&manager->memory);
    descriptor_close(&manager->common_fd);
    descriptor_close(&manager->poll_fd);
    explicit_bzero(manager->secret, sizeof(manager->secret));
    free(manager);
}

int manager_member_fd(struct manager *manager, int rank)
{
    return manager->members[rank].child_fd;
}

void manager_member_started(struct manager *manager, int rank, int pid)
{
    ASSERT((unsigned)rank < (unsigned)manager->size);
    ASSERT(pid > 0);
    struct member *member = &manager->members[rank];
    member->started_pid = pid;
    atomic_store_explicit(&manager->memory.roster->peer[rank].pid, pid, memory_order_relaxed);
    if (pid != getpid())
        descriptor_close(&member->child_fd);
    else
        member->child_fd = -1; /* a rank that is a thread of ours: the socket is now its own */
}

void manager_end_set(struct manager *manager, int rank, struct rank_end end)
{
    ASSERT((unsigned)rank < (unsigned)manager->size);
    ASSERT(end.state == RH_PEER_LEFT || end.state == RH_PEER_DIED);
    struct roster *roster = manager->memory.roster;
    struct roster_peer *peer = &roster->peer[rank];
    enum rh_peer_state before = roster_state(roster, rank);
    atomic_store_explicit(&peer->end_signal, end.signal, memory_order_relaxed);
    atomic_store_explicit(&peer->end_status, end.status, memory_order_relaxed);
    if (before >= RH_PEER_LEFT)
        return;
    atomic_store_explicit(&peer->state, end.state, memory_order_release);
    if (end.state != RH_PEER_DIED)
        return;
    atomic_store_explicit(&roster->last_dead, rank, memory_order_relaxed);
    atomic_fetch_add_explicit(&roster->death_count, 1, memory_order_release);
    manager_met_died(manager, rank);
}

void manager_member_ended(struct manager *manager, int rank, int status, int signal)
{
    struct rank_end end = {.status = status, .signal = signal};
    end.state = signal != 0 || status != 0 ? RH_PEER_DIED : RH_PEER_LEFT;
    manager_offers_drop(&manager->members[rank]);
    manager_end_set(manager, rank, end);
    manager_end_tell(manager, rank, status, signal);
}

/* The member's socket is closed, or its process has ended. Of our own child the launcher will tell
 * us why; behind a wrapper this is all we ever learn. */
static void member_hung_up(struct manager *manager, int rank)
{
    struct member *member = &manager->members[rank];
    int pid = atomic_load_explicit(&manager->memory.roster->peer[rank].pid, memory_order_relaxed);
    stop_watching(manager, &member->fd);
    stop_watching(manager, &member->process_fd);
    if (member->has_joined && !member->has_left && pid != member->started_pid)
        manager_member_ended(manager, rank, ROSTER_END_UNKNOWN, 0);
    manager_seat_left(manager, rank);
}

static void serve_member(struct manager *manager, int rank)
{
    ASSERT(manager->members[rank].fd >= 0);
    struct member *member = &manager->members[rank];
    struct request request;
    struct answer answer;
    struct descriptor_message message = {.data = &request, .length = sizeof(request)};
    int result = descriptor_receive(member->fd, &message, MSG_DONTWAIT);
    if (result == -EAGAIN)
        return;
    if (result == -ECONNRESET || (result < 0 && result != -EBADMSG)) {
        member_hung_up(manager, rank);
        return;
    }
    if (result == -EBADMSG)
        memset(&request, 0, sizeof(request)); /* refused below: no such version */
    manager_answer(manager, rank, &request, &message, &answer);
    ASSERT(answer.fd_count >= 0);
    ASSERT(answer.fd_count <= DESCRIPTORS_MAX);
    while (message.fd_count > 0)
        close(message.fd[--message.fd_count]);
    struct descriptor_message reply = {
        .data = &answer.reply, .length = sizeof(answer.reply), .fd_count = answer.fd_count};
    memcpy(reply.fd, answer.fd, sizeof(reply.fd));
    ask_for_identity(member, false);
    result = descriptor_send(member->fd, &reply, MSG_DONTWAIT);
    ask_for_identity(member, !member->has_joined);
    for (int i = 0; answer.given && i < answer.fd_count; i++)
        close(answer.fd[i]);
    if (result < 0) { /* it asks without reading answers: no use talking to it */
        log_warning("task manager: rank %d does not read its answers (%s); cut off", rank,
                    strerror(-result));
        member_hung_up(manager, rank);
    }
}

/* What it said before it ended still counts: it may have left. A child of its that says more with
 * its socket is not listened to for ever. */
static void process_ended(struct manager *manager, int rank)
{
    struct member *member = &manager->members[rank];
    struct pollfd more = {.fd = member->fd, .events = POLLIN};
    for (int i = 0; i < LAST_WORDS && member->fd >= 0 && poll(&more, 1, 0) > 0; i++)
        serve_member(manager, rank);
    if (member->process_fd >= 0)
        member_hung_up(manager, rank);
}

int manager_poll_fd(const struct manager *manager)
{
    return manager->poll_fd;
}

void manager_serve(struct manager *manager)
{
    struct epoll_event events[32];
    int count = epoll_wait(manager->poll_fd, events, 32, 0);
    for (int i = 0; i < count; i++) {
        uint64_t what = events[i].data.u64;
        int rank = (int)(what & INT32_MAX);
        if (what == MANAGER_MESH)
            mesh_serve(manager->mesh);
        else if (what == MANAGER_QUERY)
            manager_query_serve(manager);
        else if (what >= MANAGER_PROCESS && manager->members[rank].process_fd >= 0)
            process_ended(manager, rank);
        else if (what < MANAGER_PROCESS && manager->members[rank].fd >= 0)
            serve_member(manager, rank);
    }
}
