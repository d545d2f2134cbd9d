/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mesh.h: life cycle, serving, ticks.
 */
#include "job/mesh/mesh.h"

#include "base/descriptor.h"
#include "base/error.h"
#include "job/mesh/state.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BEATS_PER_SILENCE 10
#define START_TICK_NS     (50 * NS_PER_MS) /* while links are being made */
#define LEAVE_NS          (500 * NS_PER_MS)

static void set_timer(struct mesh *mesh, int64_t interval_ns)
{
    struct timespec time = {.tv_sec = interval_ns / NS_PER_S, .tv_nsec = interval_ns % NS_PER_S};
    struct itimerspec timer = {.it_interval = time, .it_value = {.tv_nsec = 1}};
    timerfd_settime(mesh->timer_fd, 0, &timer, NULL);
    mesh->tick_ns = interval_ns;
}

static int open_descriptors(struct mesh *mesh)
{
    mesh->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    mesh->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = &mesh->listen_fd};
    struct epoll_event ticking = {.events = EPOLLIN, .data.ptr = &mesh->timer_fd};
    if (mesh->poll_fd < 0 || mesh->timer_fd < 0 ||
        epoll_ctl(mesh->poll_fd, EPOLL_CTL_ADD, mesh->listen_fd, &listening) < 0 ||
        epoll_ctl(mesh->poll_fd, EPOLL_CTL_ADD, mesh->timer_fd, &ticking) < 0)
        return error_fail(RH_ENOSPACE,
                          "no descriptor left for the links between hosts: %s; raise ulimit -n",
                          strerror(errno));
    set_timer(mesh, mesh->beat_ns < START_TICK_NS ? mesh->beat_ns : START_TICK_NS);
    return 0;
}

int mesh_create(struct mesh **mesh, const struct mesh_options *options)
{
    struct mesh *made = calloc(1, sizeof(*made));
    struct mesh_seat *seats = calloc((size_t)options->seat_count, sizeof(*seats));
    if (!made || !seats) {
        free(made);
        free(seats);
        return error_no_memory("%d hosts", options->seat_count);
    }
    *made = (struct mesh){
        .poll_fd = -1,
        .listen_fd = -1,
        .timer_fd = -1,
        .seat = options->seat,
        .seat_count = options->seat_count,
        .job_id = options->job_id,
        .silence_ns = options->silence_ns,
        .beat_ns = options->silence_ns / BEATS_PER_SILENCE,
        .start_deadline_ns = clock_deadline_ns(options->start_ns),
        .owner = options->owner,
        .seats = seats,
    };
    memcpy(made->secret, options->secret, sizeof(made->secret));
    int result = seal_open();
    if (result == 0)
        result = address_own(&made->own, options->interface);
    if (result == 0) {
        made->listen_fd = address_listen(&made->own, options->interface, options->ports);
        result = made->listen_fd;
    }
    if (result >= 0)
        result = open_descriptors(made);
    seats[made->seat].addresses = made->own;
    seats[made->seat].is_known = true;
    if (options->coordinator) {
        seats[0].addresses = *options->coordinator;
        seats[0].is_known = true;
    }
    if (result < 0) {
        mesh_destroy(made);
        return result;
    }
    *mesh = made;
    return 0;
}

static void sweep(struct mesh *mesh, bool all)
{
    struct mesh_link **at = &mesh->links;
    while (*at) {
        struct mesh_link *link = *at;
        if (!all && link->phase != LINK_CLOSED) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        link_free(link);
    }
}

void mesh_destroy(struct mesh *mesh)
{
    if (!mesh)
        return;
    sweep(mesh, true);
    descriptor_close(&mesh->poll_fd);
    descriptor_close(&mesh->listen_fd);
    descriptor_close(&mesh->timer_fd);
    free(mesh->seats);
    free(mesh->suspicions.one);
    explicit_bzero(mesh, sizeof(*mesh));
    free(mesh);
}

int mesh_poll_fd(const struct mesh *mesh)
{
    return mesh->poll_fd;
}

static void tick(struct mesh *mesh)
{
    int64_t now_ns = clock_now_ns();
    for (struct mesh_link *link = mesh->links; link; link = link->next) {
        if ((link->phase != LINK_UP || link->is_probe) && now_ns >= link->deadline_ns)
            link_close(mesh, link, "it does not answer");
    }
    wireup_tick(mesh, now_ns);
    coordinator_tick(mesh, now_ns);
    if (mesh->is_ready && mesh->tick_ns != mesh->beat_ns)
        set_timer(mesh, mesh->beat_ns);
}

void mesh_serve(struct mesh *mesh)
{
    struct epoll_event events[32];
    uint64_t expirations;
    int count = epoll_wait(mesh->poll_fd, events, 32, 0);
    for (int i = 0; i < count; i++) {
        void *what = events[i].data.ptr;
        if (what == &mesh->listen_fd)
            dial_accept(mesh);
        else if (what != &mesh->timer_fd)
            link_serve(mesh, what, events[i].events);
    }
    /* After what has arrived: who has spoken is not silent. */
    if (read(mesh->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
        tick(mesh);
    sweep(mesh, false);
}

void mesh_send(struct mesh *mesh, int seat, const struct mesh_frame *frame)
{
    struct mesh_seat *one = &mesh->seats[seat];
    bool is_out = mesh->is_cut && mesh->is_ready; /* then nothing that we say counts any more */
    if (one->link && one->state == SEAT_UP && !is_out)
        link_send(mesh, one->link, frame);
}

void mesh_send_all(struct mesh *mesh, const struct mesh_frame *frame)
{
    for (int seat = 0; seat < mesh->seat_count; seat++)
        mesh_send(mesh, seat, frame);
}

void mesh_pause(struct mesh *mesh, bool yes)
{
    struct mesh_frame frame = {.kind = yes ? MESH_PAUSE : MESH_RESUME};
    mesh_send_all(mesh, &frame);
}

static bool has_open_links(const struct mesh *mesh)
{
    for (const struct mesh_link *link = mesh->links; link; link = link->next) {
        if (link->phase == LINK_CLOSING)
            return true;
    }
    return false;
}

void mesh_leave(struct mesh *mesh, int status)
{
    struct mesh_frame bye = {.kind = MESH_BYE, .value = {status}};
    int64_t deadline_ns = clock_deadline_ns(LEAVE_NS);
    if (mesh->is_cut && mesh->is_ready)
        return; /* the others must not take us for one who left in order */
    mesh_send_all(mesh, &bye);
    mesh->is_leaving = true;
    for (struct mesh_link *link = mesh->links; link; link = link->next)
        link_finish(mesh, link);
    while (has_open_links(mesh) && clock_now_ns() < deadline_ns) {
        struct pollfd ready = {.fd = mesh->poll_fd, .events = POLLIN};
        poll(&ready, 1, 10);
        mesh_serve(mesh);
    }
}

const struct address_list *mesh_own_addresses(const struct mesh *mesh)
{
    return &mesh->own;
}

const char *mesh_address(const struct mesh *mesh, int seat)
{
    return mesh->seats[seat].address;
}

int mesh_present_count(const struct mesh *mesh)
{
    int count = 0;
    if (mesh->is_cut)
        return 1; /* whoever else is left is not with us, and may never have been there */
    for (int seat = 0; seat < mesh->seat_count; seat++)
        count += seat == mesh->seat || mesh->seats[seat].state <= SEAT_UP;
    return count;
}
