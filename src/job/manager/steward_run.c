/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A steward's work: a task manager with a door, at which the ranks of this host knock.
 *
 * There is no launcher to tell it how ranks end; it sees that a process is gone, and not why.
 */
#include "job/manager/steward_run.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "job/manager/manager.h"
#include "job/protocol.h"

#include <errno.h>
#include <poll.h>
#include <rhinet/error.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLERS_MAX 64 /* who have knocked and not yet said who they are; more wait outside */
#define CALLER_NS   (5 * NS_PER_S)
#define KILL_NS     (300 * NS_PER_MS)
#define LOOK_MS     100

struct caller {
    int fd;
    int64_t deadline_ns;
};

struct steward {
    const struct steward_plan *plan;
    struct manager *manager;
    int *pidfds; /* of each rank; -1: not of this host, or gone before we looked */
    bool *came;  /* of each rank: it has been here */
    bool is_open;
    int64_t kill_ns; /* this host is out: its ranks are killed then */
    struct caller callers[CALLERS_MAX];
    int caller_count;
};

static noreturn void fail(int report_fd)
{
    dprintf(report_fd, "-%.480s", rh_error_text());
    _exit(1);
}

static void report(const struct steward *steward, int report_fd)
{
    char text[ADDRESSES_MAX * ADDRESS_TEXT + 16] = "";
    if (steward->plan->cluster->node_count > 1)
        address_list_print(manager_addresses(steward->manager), text, sizeof(text));
    dprintf(report_fd, "+%s", text);
    close(report_fd);
}

static void set_up(struct steward *steward, int report_fd)
{
    const struct steward_plan *plan = steward->plan;
    const struct cluster *cluster = plan->cluster;
    struct manager_options options = {
        .size = cluster->size,
        .nic = plan->nic,
        .command = plan->command,
        .cluster = cluster,
        .judge = plan->judge,
        .settings = plan->settings,
        .adopts = true,
    };
    steward->pidfds = calloc((size_t)cluster->size, sizeof(steward->pidfds[0]));
    steward->came = calloc((size_t)cluster->size, sizeof(steward->came[0]));
    if (!steward->pidfds || !steward->came || manager_create(&steward->manager, &options) < 0)
        fail(report_fd);
    for (int rank = 0; rank < cluster->size; rank++) {
        bool is_local = cluster->node_of[rank] == cluster_node_of(cluster, cluster->seat);
        steward->pidfds[rank] = is_local ? (int)syscall(SYS_pidfd_open, plan->pids[rank], 0) : -1;
    }
    report(steward, report_fd);
}

/* ---- The door ------------------------------------------------------------------------------- */

static int check_claim(const struct steward *steward, const struct request *claim)
{
    const struct cluster *cluster = steward->plan->cluster;
    uint8_t proof[STEWARD_PROOF_BYTES];
    if (claim->kind != REQUEST_CLAIM || claim->rank < 0 || claim->rank >= cluster->size ||
        cluster_seat_of(cluster, cluster->node_of[claim->rank]) != cluster->seat)
        return -EPERM;
    steward_proof(cluster, claim->rank, proof);
    return sodium_memcmp(proof, claim->card, sizeof(proof)) == 0 ? 0 : -EPERM;
}

static int peer_pid(int fd)
{
    struct ucred who;
    socklen_t length = sizeof(who);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0 || who.uid != geteuid())
        return -1; /* another user */
    return who.pid;
}

/* It has said something, or hung up. True if it need not be watched any longer. */
static bool serve_caller(struct steward *steward, int fd)
{
    struct request claim;
    struct descriptor_message message = {.data = &claim, .length = sizeof(claim)};
    int result = descriptor_receive(fd, &message, MSG_DONTWAIT);
    if (result == -EAGAIN)
        return false;
    while (result == 0 && message.fd_count > 0)
        close(message.fd[--message.fd_count]);
    if (result == 0)
        result = check_claim(steward, &claim);
    if (result == 0)
        result = peer_pid(fd) == steward->plan->pids[claim.rank] ? 0 : -EPERM;
    if (result == 0)
        result = manager_adopt(steward->manager, claim.rank, fd);
    if (result < 0) {
        manager_count_refused(steward->manager);
        close(fd);
        return true;
    }
    steward->came[claim.rank] = true;
    return true;
}

static void serve_callers(struct steward *steward, const struct pollfd *fds)
{
    int64_t now_ns = clock_now_ns();
    int kept = 0;
    for (int i = 0; i < steward->caller_count; i++) {
        struct caller caller = steward->callers[i];
        bool is_done = fds[i].revents && serve_caller(steward, caller.fd);
        if (!is_done && now_ns >= caller.deadline_ns) {
            close(caller.fd);
            is_done = true;
        }
        if (!is_done)
            steward->callers[kept++] = caller;
    }
    steward->caller_count = kept;
}

static void let_in(struct steward *steward)
{
    while (steward->caller_count < CALLERS_MAX) {
        int fd = accept4(steward->plan->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return;
        steward->callers[steward->caller_count++] = (struct caller){
            .fd = fd, .deadline_ns = clock_deadline_ns(CALLER_NS)};
    }
}

/* ---- What happens --------------------------------------------------------------------------- */

static void signal_members(const struct steward *steward, int number)
{
    for (int rank = 0; rank < steward->plan->cluster->size; rank++) {
        if (steward->pidfds[rank] >= 0 && steward->came[rank])
            syscall(SYS_pidfd_send_signal, steward->pidfds[rank], number, NULL, 0);
    }
}

static void serve_events(struct steward *steward)
{
    struct manager_event event;
    while (manager_next_event(steward->manager, &event)) {
        if (event.kind == MANAGER_READY)
            steward->is_open = true;
        if (event.kind != MANAGER_CUT)
            continue;
        if (!steward->is_open)
            manager_refuse_all(steward->manager, event.text); /* they learn why */
        else
            steward->kill_ns = clock_deadline_ns(KILL_NS);
        steward->is_open = true;
        signal_members(steward, SIGTERM);
    }
    if (clock_now_ns() >= steward->kill_ns) {
        signal_members(steward, SIGKILL);
        steward->kill_ns = DEADLINE_NEVER;
    }
}

/* It has not been here, but may still come. */
static bool is_awaited(const struct steward *steward, int rank)
{
    struct pollfd ended = {.fd = steward->pidfds[rank], .events = POLLIN};
    return !steward->came[rank] && ended.fd >= 0 && poll(&ended, 1, 0) == 0;
}

static bool is_over(const struct steward *steward)
{
    if (manager_member_count(steward->manager) > 0 || steward->caller_count > 0)
        return false;
    for (int rank = 0; rank < steward->plan->cluster->size; rank++) {
        if (is_awaited(steward, rank))
            return false;
    }
    /* The first host's steward stays as long as the others need a judge. */
    return steward->plan->cluster->seat != 0 || manager_present_count(steward->manager) <= 1;
}

static void serve(struct steward *steward)
{
    struct pollfd fds[2 + CALLERS_MAX];
    bool has_room = steward->is_open && steward->caller_count < CALLERS_MAX;
    fds[0] = (struct pollfd){.fd = manager_poll_fd(steward->manager), .events = POLLIN};
    fds[1] = (struct pollfd){.fd = has_room ? steward->plan->listen_fd : -1, .events = POLLIN};
    for (int i = 0; i < steward->caller_count; i++)
        fds[2 + i] = (struct pollfd){.fd = steward->callers[i].fd, .events = POLLIN};
    int count = steward->caller_count;
    if (poll(fds, (nfds_t)(2 + count), LOOK_MS) < 0)
        return;
    serve_callers(steward, fds + 2);
    if (fds[0].revents)
        manager_serve(steward->manager);
    serve_events(steward);
    if (fds[1].revents)
        let_in(steward);
}

/* The attribute, not the word: clang compares it with the pointer's. */
__attribute__((__noreturn__)) static void run(const struct steward_plan *plan, int report_fd)
{
    struct steward steward = {.plan = plan, .kill_ns = DEADLINE_NEVER};
    set_up(&steward, report_fd);
    while (!is_over(&steward))
        serve(&steward);
    manager_leave(steward.manager, 0);
    _exit(0);
}

const struct steward_body rh_steward_body = {.version = RHINET_VERSION, .run = run};
