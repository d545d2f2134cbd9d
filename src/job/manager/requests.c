/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the task manager does for each request. Everything in a request comes from a member that may
 * be broken or hostile: it is checked here, and a refusal changes nothing.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/memory_room.h"
#include "job/job_map.h"
#include "job/manager/state.h"

#include <errno.h>
#include <fcntl.h>
#include <rhinet/rma.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OFFERS_MAX        65536
#define COMMON_LENGTH_MAX (16ULL << 30)

void manager_refuse(struct answer *answer, int code, const char *format, ...)
{
    va_list arguments;
    answer->reply.code = code;
    va_start(arguments, format);
    vsnprintf(answer->reply.text, sizeof(answer->reply.text), format, arguments);
    va_end(arguments);
}

static void give(struct answer *answer, int fd, bool close_after)
{
    answer->fd[answer->fd_count++] = fd;
    answer->given = close_after;
}

static struct offer *find_offer(struct member *member, uint32_t sid)
{
    for (size_t i = 0; i < member->offer_count; i++) {
        if (member->offers[i].sid == sid)
            return &member->offers[i];
    }
    return NULL;
}

/* Another launcher may have bound each member, and us, to a core of its own: what they share is all
 * these cores together. */
static void share_cores(struct manager *manager, int pid)
{
    struct core_set theirs;
    if (!manager->adopts || pid <= 0 || cores_of(pid, &theirs) < 0)
        return;
    CPU_OR_S(sizeof(theirs), manager->cores.part, manager->cores.part, theirs.part);
    unsigned count = (unsigned)CPU_COUNT_S(sizeof(theirs), manager->cores.part);
    unsigned quota = cores_of_quota(&control_group_tree);
    atomic_store_explicit(&manager->memory.roster->cores, quota < count ? quota : count,
                          memory_order_relaxed);
}

static void hello(struct manager *manager, int rank, const struct descriptor_message *message,
                  struct answer *answer)
{
    struct member *member = &manager->members[rank];
    struct roster_peer *peer = &manager->memory.roster->peer[rank];
    if (member->has_joined) {
        manager_refuse(answer, RH_EREFUSED,
                       "rank %d has joined already; one process of it may, once", rank);
        return;
    }
    if (manager->refusal[0]) {
        manager_refuse(answer, RH_EREFUSED, "%s", manager->refusal);
        return;
    }
    member->has_joined = true;
    answer->reply.rank = rank;
    answer->reply.size = manager->size;
    answer->reply.job_id = manager->memory.roster->job_id;
    memcpy(answer->reply.secret, manager->secret, sizeof(answer->reply.secret));
    give(answer, manager->memory.roster_fd, false);
    give(answer, manager->memory.board_fd, false);
    int pid = member->known_pid > 0 ? member->known_pid : message->sender_pid;
    if (pid > 0) /* a wrapper such as sh may stand between us and the member */
        atomic_store_explicit(&peer->pid, pid, memory_order_relaxed);
    share_cores(manager, pid);
    manager_member_watch(manager, rank, pid);
    atomic_store_explicit(&peer->state, RH_PEER_JOINED, memory_order_release);
    manager_state_tell(manager, rank);
}

static void common(struct manager *manager, const struct request *request, struct answer *answer)
{
    if (manager->common_fd < 0) {
        if (request->length == 0 || request->length > COMMON_LENGTH_MAX) {
            manager_refuse(answer, RH_EINVALID, "common memory of %llu bytes makes no sense",
                           (unsigned long long)request->length);
            return;
        }
        struct memory_shape shape = {.name = "rhinet-common",
                                     .length = request->length,
                                     .is_sparse = manager->memory.roster->is_open != 0};
        int fd = memory_create(&shape);
        if (fd < 0) {
            manager_refuse(answer, fd, "%s", rh_error_text());
            return;
        }
        manager->common_fd = fd;
    }
    give(answer, manager->common_fd, false);
}

static void publish(struct member *member, const struct request *request,
                    const struct descriptor_message *message, struct answer *answer)
{
    uint64_t length;
    struct offer *offer = find_offer(member, request->sid); /* of a request that was given up */
    if (message->fd_count != 1 || !memory_is_sealed(message->fd[0], &length))
        manager_refuse(answer, RH_EINVALID, "a segment is one sealed memory descriptor");
    else if (!offer && (member->offer_count >= OFFERS_MAX ||
                        !array_grow(&member->offers, &member->offer_room, member->offer_count + 1)))
        manager_refuse(answer, RH_ENOSPACE,
                       "the task manager has no room for more than %zu segments",
                       member->offer_count);
    else {
        int fd = fcntl(message->fd[0], F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            manager_refuse(answer, RH_ENOSPACE,
                           "the task manager has no descriptor left: %s; raise ulimit -n",
                           strerror(errno));
            return;
        }
        if (offer)
            close(offer->fd);
        else
            offer = &member->offers[member->offer_count++];
        *offer = (struct offer){.sid = request->sid, .rights = request->rights, .fd = fd};
    }
}

static void withdraw(struct member *member, const struct request *request, struct answer *answer)
{
    struct offer *offer = find_offer(member, request->sid);
    if (!offer) {
        manager_refuse(answer, RH_ENOSEG, "SID %u is not published", request->sid);
        return;
    }
    close(offer->fd);
    *offer = member->offers[--member->offer_count];
}

static bool rank_is_valid(const struct manager *manager, const struct request *request,
                          struct answer *answer)
{
    if (request->rank >= 0 && request->rank < manager->size)
        return true;
    manager_refuse(answer, RH_EINVALID, "rank %d is outside the job", request->rank);
    return false;
}

/* A descriptor without write access, so that the kernel keeps a reader from writing. */
static int reopen_read_only(int fd)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void fetch(struct manager *manager, int caller, const struct request *request,
                  struct answer *answer)
{
    if (!rank_is_valid(manager, request, answer))
        return;
    manager_met(manager, caller, request->rank);
    struct offer *offer = find_offer(&manager->members[request->rank], request->sid);
    if (!offer && !job_map_is_here(manager->map, request->rank)) {
        manager_refuse(answer, RH_EUNSUP,
                       "rank %d is on another host, whose memory cannot be mapped here",
                       request->rank);
        return;
    }
    if (!offer) {
        manager_refuse(answer, RH_ENOSEG, "rank %d has no segment %u", request->rank, request->sid);
        return;
    }
    if (offer->rights & (RH_WRITE | RH_ATOMIC)) {
        give(answer, offer->fd, false);
        return;
    }
    int fd = reopen_read_only(offer->fd);
    if (fd < 0)
        manager_refuse(answer, RH_ENOSPACE, "cannot make a read-only descriptor: %s",
                       strerror(errno));
    else
        give(answer, fd, true);
}

static void service_line(struct member *member, struct answer *answer)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        manager_refuse(answer, RH_ENOSPACE, "cannot make a service line: %s", strerror(errno));
    } else {
        descriptor_close(&member->service_fd);
        member->service_fd = pair[0];
        give(answer, pair[1], true);
    }
}

static void service_connect(struct manager *manager, int caller, const struct request *request,
                            struct answer *answer)
{
    int pair[2];
    if (!rank_is_valid(manager, request, answer))
        return;
    struct member *owner = &manager->members[request->rank];
    manager_met(manager, caller, request->rank);
    if (owner->service_fd < 0) {
        manager_refuse(answer, RH_EUNSUP, "rank %d runs no service thread", request->rank);
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        manager_refuse(answer, RH_ENOSPACE, "cannot make a connection: %s", strerror(errno));
        return;
    }
    struct service_caller who = {.rank = caller};
    struct descriptor_message message = {
        .data = &who, .length = sizeof(who), .fd = {pair[0]}, .fd_count = 1};
    int result = descriptor_send(owner->service_fd, &message, MSG_DONTWAIT);
    close(pair[0]);
    if (result < 0) {
        close(pair[1]);
        manager_refuse(answer, RH_EAGAIN, "the service thread of rank %d does not answer: %s",
                       request->rank, strerror(-result));
        return;
    }
    give(answer, pair[1], true);
}

static void card_put(struct manager *manager, int rank, const struct request *request,
                     struct answer *answer)
{
    if (request->length == 0 || request->length > sizeof(request->card)) {
        manager_refuse(answer, RH_EINVALID, "a card of %llu bytes; 1 to %zu are allowed",
                       (unsigned long long)request->length, sizeof(request->card));
        return;
    }
    int result = manager_card_keep(&manager->members[rank], request->card, request->length);
    if (result < 0)
        manager_refuse(answer, result, "%s", rh_error_text());
    else
        manager_card_tell(manager, rank);
}

static void card_get(struct manager *manager, const struct request *request, struct answer *answer)
{
    if (!rank_is_valid(manager, request, answer))
        return;
    const struct member *owner = &manager->members[request->rank];
    if (!owner->card) {
        manager_refuse(answer, RH_EAGAIN, "rank %d has not said yet how it is reached",
                       request->rank);
        return;
    }
    memcpy(answer->reply.card, owner->card, owner->card_length);
    answer->reply.card_length = (uint32_t)owner->card_length;
}

/* An address is good as long as the very process lives that it is of. */
static void peer(struct manager *manager, int caller, const struct request *request,
                 struct answer *answer)
{
    if (!rank_is_valid(manager, request, answer))
        return;
    const struct roster *roster = manager->memory.roster;
    uint32_t serial = atomic_load_explicit(&roster->peer[request->rank].serial,
                                           memory_order_relaxed);
    enum rh_peer_state state = roster_state(roster, request->rank);
    if (serial != request->length || state != RH_PEER_JOINED)
        manager_refuse(
            answer, RH_EDEAD, "the process with that address, rank %d, has %s", request->rank,
            serial == request->length && state == RH_PEER_DIED ? "ended without leaving the job"
                                                               : "left the job");
    else
        manager_met(manager, caller, request->rank);
}

static void leave(struct manager *manager, int rank)
{
    struct member *member = &manager->members[rank];
    manager_offers_drop(member);
    member->has_left = true;
    atomic_store_explicit(&manager->memory.roster->peer[rank].state, RH_PEER_LEFT,
                          memory_order_release);
    manager_state_tell(manager, rank);
}

void manager_offers_drop(struct member *member)
{
    while (member->offer_count > 0)
        close(member->offers[--member->offer_count].fd);
    descriptor_close(&member->service_fd);
    manager_names_drop(member);
}

void manager_answer(struct manager *manager, int rank, const struct request *request,
                    const struct descriptor_message *message, struct answer *answer)
{
    struct member *member = &manager->members[rank];
    *answer = (struct answer){.reply = {.version = PROTOCOL_VERSION, .number = request->number}};
    if (request->version != PROTOCOL_VERSION) {
        manager_refuse(
            answer, RH_EREFUSED,
            "the program speaks version %u, this launcher %u; use the same rhinet for both",
            request->version, PROTOCOL_VERSION);
        return;
    }
    if (request->kind != REQUEST_HELLO && (!member->has_joined || member->has_left)) {
        manager_refuse(answer, RH_EREFUSED, "rank %d has not joined", rank);
        return;
    }
    switch (request->kind) {
    case REQUEST_HELLO:
        hello(manager, rank, message, answer);
        break;
    case REQUEST_COMMON:
        common(manager, request, answer);
        break;
    case REQUEST_PUBLISH:
        publish(member, request, message, answer);
        break;
    case REQUEST_WITHDRAW:
        withdraw(member, request, answer);
        break;
    case REQUEST_FETCH:
        fetch(manager, rank, request, answer);
        break;
    case REQUEST_SERVICE_LINE:
        service_line(member, answer);
        break;
    case REQUEST_SERVICE_CONNECT:
        service_connect(manager, rank, request, answer);
        break;
    case REQUEST_CARD_PUT:
        card_put(manager, rank, request, answer);
        break;
    case REQUEST_CARD_GET:
        card_get(manager, request, answer);
        break;
    case REQUEST_PEER:
        peer(manager, rank, request, answer);
        break;
    case REQUEST_NAME_PUT:
        manager_name_put(manager, rank, request, answer);
        break;
    case REQUEST_NAME_DROP:
        manager_name_drop(manager, rank, request, answer);
        break;
    case REQUEST_NAME_GET:
        manager_name_get(manager, rank, request, answer);
        break;
    case REQUEST_LEAVE:
        leave(manager, rank);
        break;
    default:
        manager_refuse(answer, RH_EINVALID, "request %u is unknown", request->kind);
    }
}
