/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See open_run.h. Who knocks is a caller until it has said something, and gets a rank then: a line
 * that stays silent costs nobody a rank, and is cut after a while. In each turn only so many are
 * let in, strangers or not, so that members are served whatever happens at the door.
 */
#include "job/manager/open_run.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "job/manager/manager.h"
#include "job/open_job.h"
#include "job/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CALLERS_MAX 64
#define TURN_MAX    16 /* connections taken in one turn */
#define CALLER_NS   (5 * NS_PER_S)
#define BEGIN_NS    (10 * NS_PER_S)  /* for the one who has started us */
#define SHUT_NS     (50 * NS_PER_MS) /* after running out of descriptors */
#define LOOK_MS     50               /* while somebody has a deadline */

struct caller {
    int fd;
    int pid;
    int64_t deadline_ns;
};

struct open_door {
    struct manager *manager;
    int listen_fd;
    bool has_begun;   /* somebody has come */
    int64_t begin_ns; /* by when somebody must have */
    int64_t shut_ns;  /* nobody is let in before */
    struct caller callers[CALLERS_MAX];
    int caller_count;
};

/* Answers what the caller asks, whatever it is, with the last error. */
static void send_away(const struct caller *caller, int code)
{
    struct request request = {0};
    struct reply reply = {.code = code, .version = PROTOCOL_VERSION};
    struct descriptor_message asked = {.data = &request, .length = sizeof(request)};
    struct descriptor_message answer = {.data = &reply, .length = sizeof(reply)};
    if (descriptor_receive(caller->fd, &asked, MSG_DONTWAIT) == 0) {
        while (asked.fd_count > 0)
            close(asked.fd[--asked.fd_count]);
        reply.number = request.number;
        snprintf(reply.text, sizeof(reply.text), "%s", rh_error_text());
        descriptor_send(caller->fd, &answer, MSG_DONTWAIT);
    }
    close(caller->fd);
}

/* It has said something, or hung up. */
static void serve_caller(struct open_door *door, const struct caller *caller)
{
    char byte;
    if (recv(caller->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
        close(caller->fd);
        return;
    }
    int result = caller->pid > 0 ? manager_let_in(door->manager, caller->fd, caller->pid)
                                 : error_fail(RH_EREFUSED, "this process is in a process namespace "
                                                           "that the open job cannot see into");
    if (result < 0)
        send_away(caller, result);
    else
        door->has_begun = true;
}

static void serve_callers(struct open_door *door, const struct pollfd *fds, int count)
{
    int64_t now_ns = clock_now_ns();
    int kept = 0;
    for (int i = 0; i < count; i++) {
        struct caller caller = door->callers[i];
        if (fds[i].revents)
            serve_caller(door, &caller);
        else if (now_ns >= caller.deadline_ns)
            close(caller.fd);
        else
            door->callers[kept++] = caller;
    }
    door->caller_count = kept;
}

static void let_in(struct open_door *door)
{
    for (int i = 0; i < TURN_MAX && door->caller_count < CALLERS_MAX; i++) {
        struct caller caller = {.deadline_ns = clock_deadline_ns(CALLER_NS)};
        caller.fd = accept4(door->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (caller.fd < 0) {
            /* Without a descriptor it stays in the queue, and polling would not wait for one. */
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                door->shut_ns = clock_deadline_ns(SHUT_NS);
            return;
        }
        if (open_job_caller(caller.fd, &caller.pid) == (int64_t)geteuid()) {
            door->callers[door->caller_count++] = caller;
        } else {
            manager_refused_count(door->manager);
            close(caller.fd);
        }
    }
}

static bool is_over(const struct open_door *door)
{
    struct pollfd more = {.fd = door->listen_fd, .events = POLLIN};
    if (manager_member_count(door->manager) > 0 || door->caller_count > 0)
        return false;
    if (!door->has_begun && clock_now_ns() < door->begin_ns)
        return false;
    return poll(&more, 1, 0) == 0; /* who comes later than this finds nobody, and looks again */
}

static void serve(struct open_door *door)
{
    struct pollfd fds[2 + CALLERS_MAX];
    int count = door->caller_count;
    bool is_shut = clock_now_ns() < door->shut_ns;
    bool takes = !is_shut && count < CALLERS_MAX;
    fds[0] = (struct pollfd){.fd = manager_poll_fd(door->manager), .events = POLLIN};
    fds[1] = (struct pollfd){.fd = takes ? door->listen_fd : -1, .events = POLLIN};
    for (int i = 0; i < count; i++)
        fds[2 + i] = (struct pollfd){.fd = door->callers[i].fd, .events = POLLIN};
    bool has_deadline = is_shut || count > 0 || !door->has_begun;
    if (poll(fds, (nfds_t)(2 + count), has_deadline ? LOOK_MS : -1) < 0)
        return;
    if (fds[0].revents)
        manager_serve(door->manager);
    serve_callers(door, fds + 2, count);
    if (fds[1].revents)
        let_in(door);
}

int open_run(const struct open_run *run)
{
    struct open_door door = {.listen_fd = run->listen_fd, .begin_ns = clock_deadline_ns(BEGIN_NS)};
    struct manager_options options = {.size = run->ranks,
                                      .nic = run->nic,
                                      .command = run->command,
                                      .survive = true,
                                      .is_open = true};
    int result = manager_create(&door.manager, &options);
    if (result < 0)
        return result;
    if (write(run->report_fd, "+", 1) != 1)
        door.begin_ns = 0; /* nobody is there to come */
    close(run->report_fd);
    while (!is_over(&door))
        serve(&door);
    manager_destroy(door.manager);
    return 0;
}
