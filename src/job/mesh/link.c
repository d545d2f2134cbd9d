/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One link of the mesh: bytes in and out, the handshake, frames. Everything that arrives is checked
 * here; nothing of a link that has not proved itself goes further.
 *
 * Handshake: hello each way, then the caller's proof, then the called one's, then a first frame of
 * the caller, so that both sides agree on whether there is a link. A caller never proves anything
 * to somebody of another version, nor does it get a proof without giving one.
 */
#include "job/mesh/state.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/descriptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE_NS (10 * NS_PER_S) /* the other side may be busy with a hundred others */
#define CLOSING_NS   (3 * NS_PER_S)
#define OUT_MAX      (64u << 20) /* more than that unread: the other end is of no use */

static void watch(struct mesh *mesh, struct mesh_link *link, int operation)
{
    bool wants_write = link->phase == LINK_CONNECTING || link->out_used > 0;
    struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0), .data.ptr = link};
    epoll_ctl(mesh->poll_fd, operation, link->fd, &event);
}

static void make_hello(const struct mesh *mesh, struct mesh_hello *hello)
{
    *hello = (struct mesh_hello){
        .version = MESH_VERSION, .seat = mesh->seat, .job_id = mesh->job_id};
    memcpy(hello->magic, MESH_MAGIC, sizeof(hello->magic));
    strncpy(hello->library, RHINET_VERSION, sizeof(hello->library) - 1);
    seal_nonce(hello->nonce);
}

struct mesh_link *link_open(struct mesh *mesh, int fd, int seat, bool is_caller)
{
    ASSERT(fd >= 0);
    ASSERT(is_caller ? seat >= 0 && seat < mesh->seat_count : seat < 0);
    struct mesh_link *link = calloc(1, sizeof(*link));
    if (!link) {
        close(fd);
        return NULL;
    }
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    /* We decide who is lost, not TCP, which would give up after a quarter of an hour. */
    unsigned patience_ms = (unsigned)(3 * mesh->silence_ns / NS_PER_MS + HANDSHAKE_NS / NS_PER_MS);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms));
    link->fd = fd;
    link->seat = seat;
    link->is_caller = is_caller;
    link->phase = is_caller ? LINK_CONNECTING : LINK_HELLO;
    link->heard_ns = clock_now_ns();
    link->deadline_ns = link->heard_ns + HANDSHAKE_NS;
    make_hello(mesh, &link->ours);
    if (!is_caller)
        address_of_peer(fd, link->from);
    link->next = mesh->links;
    mesh->links = link;
    watch(mesh, link, EPOLL_CTL_ADD);
    return link;
}

void link_free(struct mesh_link *link)
{
    descriptor_close(&link->fd);
    free(link->out);
    explicit_bzero(link, sizeof(*link));
    free(link);
}

/* The seat has no link any more, if this was it. */
static void leave_seat(struct mesh *mesh, const struct mesh_link *link)
{
    ASSERT(link->seat >= 0);
    ASSERT(link->seat < mesh->seat_count);
    if (mesh->seats[link->seat].link == link)
        mesh->seats[link->seat].link = NULL;
}

/* A probe that was given up before it said anything is no stranger, who would be counted. */
static bool is_silent_friend(const struct mesh *mesh, const struct mesh_link *link,
                             enum link_phase phase)
{
    if (link->is_probe)
        return true;
    for (int seat = 0; seat < mesh->seat_count && phase == LINK_HELLO && link->in_used == 0;
         seat++) {
        if (mesh->is_ready && strcmp(mesh->seats[seat].address, link->from) == 0)
            return true;
    }
    return false;
}

void link_close(struct mesh *mesh, struct mesh_link *link, const char *why)
{
    enum link_phase before = link->phase;
    if (before == LINK_CLOSED)
        return;
    link->phase = LINK_CLOSED;
    /* By hand: a child that is about to execute its program may still have the descriptor open, and
     * then closing it would leave it in the set. */
    epoll_ctl(mesh->poll_fd, EPOLL_CTL_DEL, link->fd, NULL);
    close(link->fd);
    link->fd = -1;
    if (before == LINK_CLOSING || (link->is_probe && link->is_caller))
        return;
    if (before == LINK_UP) {
        leave_seat(mesh, link);
        coordinator_link_broke(mesh, link->seat, why);
    } else if (link->is_caller) {
        leave_seat(mesh, link);
        dial_failed(mesh, link, why);
    } else if (before < LINK_CONFIRM && !is_silent_friend(mesh, link, before)) {
        dial_refuse(mesh, link, why);
    } /* else it was one of us, who has changed its mind and calls again */
}

/* ---- Out ------------------------------------------------------------------------------------ */

static void flush(struct mesh *mesh, struct mesh_link *link)
{
    ASSERT(link->phase != LINK_CLOSED);
    ASSERT(link->out_start + link->out_used <= link->out_room);
    while (link->out_used > 0) {
        ssize_t sent = send(link->fd, link->out + link->out_start, link->out_used,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (sent < 0) {
            link_close(mesh, link, strerror(errno));
            return;
        }
        link->out_start += (size_t)sent;
        link->out_used -= (size_t)sent;
    }
    if (link->out_used == 0)
        link->out_start = 0;
    if (link->out_used == 0 && link->phase == LINK_CLOSING)
        shutdown(link->fd, SHUT_WR);
    watch(mesh, link, EPOLL_CTL_MOD);
}

static bool make_room(struct mesh_link *link, size_t length)
{
    size_t need = link->out_used + length;
    if (need > OUT_MAX)
        return false;
    if (link->out_start > 0) {
        memmove(link->out, link->out + link->out_start, link->out_used);
        link->out_start = 0;
    }
    return array_grow(&link->out, &link->out_room, need);
}

static void put(struct mesh *mesh, struct mesh_link *link, const void *data, size_t length)
{
    if (!make_room(link, length)) {
        link_close(mesh, link, "it does not read what it is sent");
        return;
    }
    memcpy(link->out + link->out_start + link->out_used, data, length);
    link->out_used += length;
    flush(mesh, link);
}

void link_send(struct mesh *mesh, struct mesh_link *link, const struct mesh_frame *frame)
{
    ASSERT(frame->length <= sizeof(frame->data));
    uint8_t wire[WIRE_MAX];
    size_t plain_length = offsetof(struct mesh_frame, data) + frame->length;
    uint16_t length = (uint16_t)(plain_length + SEAL_BYTES);
    if (link->phase != LINK_UP)
        return;
    memcpy(wire, &length, sizeof(length));
    seal_shut(&link->keys, wire + sizeof(length), frame, plain_length);
    put(mesh, link, wire, sizeof(length) + length);
}

void link_finish(struct mesh *mesh, struct mesh_link *link)
{
    if (link->phase != LINK_UP)
        return;
    leave_seat(mesh, link);
    link->phase = LINK_CLOSING;
    link->deadline_ns = clock_now_ns() + CLOSING_NS;
    flush(mesh, link);
}

/* ---- Handshake ------------------------------------------------------------------------------ */

static struct mesh_meeting meeting_of(const struct mesh *mesh, const struct mesh_link *link)
{
    return (struct mesh_meeting){
        .secret = mesh->secret,
        .caller = link->is_caller ? &link->ours : &link->theirs,
        .called = link->is_caller ? &link->theirs : &link->ours,
    };
}

static void connected(struct mesh *mesh, struct mesh_link *link)
{
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error) {
        link_close(mesh, link, strerror(error));
        return;
    }
    link->phase = LINK_HELLO;
    link->deadline_ns = clock_now_ns() + HANDSHAKE_NS;
    put(mesh, link, &link->ours, sizeof(link->ours));
}

static bool is_expected(const struct mesh *mesh, const struct mesh_link *link)
{
    const struct mesh_hello *theirs = &link->theirs;
    if (theirs->job_id != mesh->job_id || theirs->purpose > MESH_PROBE)
        return false;
    if (link->is_caller)
        return theirs->seat == link->seat;
    return theirs->seat > mesh->seat && theirs->seat < mesh->seat_count;
}

static void got_hello(struct mesh *mesh, struct mesh_link *link)
{
    uint8_t proof[PROOF_BYTES];
    memcpy(&link->theirs, link->in, sizeof(link->theirs));
    link->theirs.library[sizeof(link->theirs.library) - 1] = '\0';
    if (memcmp(link->theirs.magic, MESH_MAGIC, sizeof(link->theirs.magic)) != 0) {
        link_close(mesh, link, "it is no task manager");
        return;
    }
    if (!link->is_caller)
        put(mesh, link, &link->ours, sizeof(link->ours));
    if (link->phase == LINK_CLOSED || dial_is_skewed(mesh, link))
        return;
    if (!is_expected(mesh, link)) {
        link_close(mesh, link, "it belongs to another job");
        return;
    }
    link->phase = LINK_PROOF;
    if (!link->is_caller)
        link->is_probe = link->theirs.purpose == MESH_PROBE;
    if (link->is_caller) {
        struct mesh_meeting meeting = meeting_of(mesh, link);
        seal_prove(&meeting, true, proof);
        put(mesh, link, proof, sizeof(proof));
    }
}

static void got_proof(struct mesh *mesh, struct mesh_link *link)
{
    uint8_t proof[PROOF_BYTES];
    struct mesh_meeting meeting = meeting_of(mesh, link);
    seal_prove(&meeting, !link->is_caller, proof);
    if (!seal_is_proof(link->in, proof)) {
        link->is_probe = false; /* but a stranger */
        link_close(mesh, link, "it does not know the job's secret");
        return;
    }
    seal_keys_make(&meeting, link->is_caller, &link->keys);
    if (!link->is_caller) {
        seal_prove(&meeting, false, proof);
        put(mesh, link, proof, sizeof(proof));
    }
    if (link->phase == LINK_CLOSED)
        return;
    link->seat = link->theirs.seat;
    link->phase = link->is_caller ? LINK_UP : LINK_CONFIRM;
    if (link->is_caller) {
        struct mesh_frame first = {.kind = MESH_BEAT};
        link_send(mesh, link, &first);
    }
    if (link->phase == LINK_UP)
        wireup_link_is_up(mesh, link);
}

/* ---- In ------------------------------------------------------------------------------------- */

static size_t wanted_bytes(const struct mesh_link *link)
{
    uint16_t length;
    switch (link->phase) {
    case LINK_HELLO:
        return sizeof(struct mesh_hello);
    case LINK_PROOF:
        return PROOF_BYTES;
    default:
        if (link->in_used < sizeof(length))
            return sizeof(length);
        memcpy(&length, link->in, sizeof(length));
        return sizeof(length) + length;
    }
}

static void got_frame(struct mesh *mesh, struct mesh_link *link, size_t wire_length)
{
    struct mesh_frame frame = {0};
    size_t length = wire_length - sizeof(uint16_t);
    size_t head = offsetof(struct mesh_frame, data);
    if (!seal_break(&link->keys, &frame, link->in + sizeof(uint16_t), length) ||
        frame.length != length - SEAL_BYTES - head) {
        link_close(mesh, link, "what it says was changed on the way");
        return;
    }
    link->heard_ns = clock_now_ns();
    if (link->phase == LINK_CONFIRM) {
        link->phase = LINK_UP;
        wireup_link_is_up(mesh, link);
    }
    if (link->phase == LINK_UP)
        wireup_frame(mesh, link, &frame);
}

static bool is_frame_length(const struct mesh_link *link, size_t wanted)
{
    size_t least = sizeof(uint16_t) + SEAL_BYTES + offsetof(struct mesh_frame, data);
    return link->phase < LINK_CONFIRM || wanted == sizeof(uint16_t) ||
           (wanted >= least && wanted <= WIRE_MAX);
}

static void take_in(struct mesh *mesh, struct mesh_link *link)
{
    while (link->phase > LINK_CONNECTING && link->phase <= LINK_UP) {
        size_t wanted = wanted_bytes(link);
        if (!is_frame_length(link, wanted)) {
            link_close(mesh, link, "what it says makes no sense");
            return;
        }
        if (link->in_used < wanted || wanted == sizeof(uint16_t))
            return;
        if (link->phase == LINK_HELLO)
            got_hello(mesh, link);
        else if (link->phase == LINK_PROOF)
            got_proof(mesh, link);
        else
            got_frame(mesh, link, wanted);
        link->in_used -= wanted;
        memmove(link->in, link->in + wanted, link->in_used);
    }
}

static void read_in(struct mesh *mesh, struct mesh_link *link)
{
    for (;;) {
        ssize_t got = recv(link->fd, link->in + link->in_used, sizeof(link->in) - link->in_used,
                           MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            link_close(mesh, link, got < 0 ? strerror(errno) : "it closed the connection");
            return;
        }
        if (link->phase == LINK_CLOSING)
            continue; /* until it has read what we said */
        link->in_used += (size_t)got;
        take_in(mesh, link);
        if (link->phase == LINK_CLOSED)
            return;
        if (link->phase == LINK_CLOSING)
            link->in_used = 0;
    }
}

void link_serve(struct mesh *mesh, struct mesh_link *link, uint32_t events)
{
    if (link->phase == LINK_CLOSED)
        return;
    if (link->phase == LINK_CONNECTING) {
        connected(mesh, link);
        return;
    }
    if (events & EPOLLOUT)
        flush(mesh, link);
    if (link->phase != LINK_CLOSED && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_in(mesh, link);
}
