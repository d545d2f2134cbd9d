/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A manager process's work: a task manager with a door, at which the ranks of this host knock.
 *
 * There is no launcher to tell it how ranks end; it sees that a process is gone, and not why.
 */
#include "job/manager/manager_process_run.h"

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

struct manager_process {
    const struct manager_process_plan *plan;
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

static void report(const struct manager_process *process, int report_fd)
{
    char text[ADDRESSES_MAX * ADDRESS_TEXT + 16] = "";
    if (process->plan->map->node_count > 1)
        address_list_print(manager_addresses(process->manager), text, sizeof(text));
    dprintf(report_fd, "+%s", text);
    close(report_fd);
}

static void set_up(struct manager_process *process, int report_fd)
{
    const struct manager_process_plan *plan = process->plan;
    const struct job_map *map = plan->map;
    struct manager_options options = {
        .size = map->size,
        .nic = plan->nic,
        .command = plan->command,
        .map = map,
        .coordinator = plan->coordinator,
        .settings = plan->settings,
        .adopts = true,
    };
    process->pidfds = calloc((size_t)map->size, sizeof(process->pidfds[0]));
    process->came = calloc((size_t)map->size, sizeof(process->came[0]));
    if (!process->pidfds || !process->came || manager_create(&process->manager, &options) < 0)
        fail(report_fd);
    for (int rank = 0; rank < map->size; rank++) {
        process->pidfds[rank] = job_map_is_here(map, rank)
                                    ? (int)syscall(SYS_pidfd_open, plan->pids[rank], 0)
                                    : -1;
    }
    report(process, report_fd);
}

/* ---- The door ------------------------------------------------------------------------------- */

static int check_claim(const struct manager_process *process, const struct request *claim)
{
    const struct job_map *map = process->plan->map;
    uint8_t proof[MANAGER_PROCESS_PROOF_BYTES];
    if (claim->kind != REQUEST_CLAIM || claim->rank < 0 || claim->rank >= map->size ||
        !job_map_is_here(map, claim->rank))
        return -EPERM;
    manager_process_proof(map, claim->rank, proof);
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
static bool serve_caller(struct manager_process *process, int fd)
{
    struct request claim;
    struct descriptor_message message = {.data = &claim, .length = sizeof(claim)};
    int result = descriptor_receive(fd, &message, MSG_DONTWAIT);
    if (result == -EAGAIN)
        return false;
    while (result == 0 && message.fd_count > 0)
        close(message.fd[--message.fd_count]);
    if (result == 0)
        result = check_claim(process, &claim);
    if (result == 0)
        result = peer_pid(fd) == process->plan->pids[claim.rank] ? 0 : -EPERM;
    if (result == 0)
        result = manager_adopt(process->manager, claim.rank, fd);
    if (result < 0) {
        manager_refused_count(process->manager);
        close(fd);
        return true;
    }
    process->came[claim.rank] = true;
    return true;
}

static void serve_callers(struct manager_process *process, const struct pollfd *fds)
{
    int64_t now_ns = clock_now_ns();
    int kept = 0;
    for (int i = 0; i < process->caller_count; i++) {
        struct caller caller = process->callers[i];
        bool is_done = fds[i].revents && serve_caller(process, caller.fd);
        if (!is_done && now_ns >= caller.deadline_ns) {
            close(caller.fd);
            is_done = true;
        }
        if (!is_done)
            process->callers[kept++] = caller;
    }
    process->caller_count = kept;
}

static void let_in(struct manager_process *process)
{
    while (process->caller_count < CALLERS_MAX) {
        int fd = accept4(process->plan->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return;
        process->callers[process->caller_count++] = (struct caller){
            .fd = fd, .deadline_ns = clock_deadline_ns(CALLER_NS)};
    }
}

/* ---- What happens --------------------------------------------------------------------------- */

static void signal_members(const struct manager_process *process, int number)
{
    for (int rank = 0; rank < process->plan->map->size; rank++) {
        if (process->pidfds[rank] >= 0 && process->came[rank])
            syscall(SYS_pidfd_send_signal, process->pidfds[rank], number, NULL, 0);
    }
}

static void serve_events(struct manager_process *process)
{
    struct manager_event event;
    while (manager_next_event(process->manager, &event)) {
        if (event.kind == MANAGER_READY)
            process->is_open = true;
        if (event.kind != MANAGER_CUT)
            continue;
        if (!process->is_open)
            manager_refuse_all(process->manager, event.text); /* they learn why */
        else
            process->kill_ns = clock_deadline_ns(KILL_NS);
        process->is_open = true;
        signal_members(process, SIGTERM);
    }
    if (clock_now_ns() >= process->kill_ns) {
        signal_members(process, SIGKILL);
        process->kill_ns = DEADLINE_NEVER;
    }
}

/* It has not been here, but may still come. */
static bool is_awaited(const struct manager_process *process, int rank)
{
    struct pollfd ended = {.fd = process->pidfds[rank], .events = POLLIN};
    return !process->came[rank] && ended.fd >= 0 && poll(&ended, 1, 0) == 0;
}

static bool is_over(const struct manager_process *process)
{
    if (manager_member_count(process->manager) > 0 || process->caller_count > 0)
        return false;
    for (int rank = 0; rank < process->plan->map->size; rank++) {
        if (is_awaited(process, rank))
            return false;
    }
    /* The first host's manager process stays as long as the others need a coordinator. */
    return process->plan->map->seat != 0 || manager_present_count(process->manager) <= 1;
}

static void serve(struct manager_process *process)
{
    struct pollfd fds[2 + CALLERS_MAX];
    bool has_room = process->is_open && process->caller_count < CALLERS_MAX;
    fds[0] = (struct pollfd){.fd = manager_poll_fd(process->manager), .events = POLLIN};
    fds[1] = (struct pollfd){.fd = has_room ? process->plan->listen_fd : -1, .events = POLLIN};
    for (int i = 0; i < process->caller_count; i++)
        fds[2 + i] = (struct pollfd){.fd = process->callers[i].fd, .events = POLLIN};
    int count = process->caller_count;
    if (poll(fds, (nfds_t)(2 + count), LOOK_MS) < 0)
        return;
    serve_callers(process, fds + 2);
    if (fds[0].revents)
        manager_serve(process->manager);
    serve_events(process);
    if (fds[1].revents)
        let_in(process);
}

/* The attribute, not the word: clang compares it with the pointer's. */
__attribute__((__noreturn__)) static void run(const struct manager_process_plan *plan,
                                              int report_fd)
{
    struct manager_process process = {.plan = plan, .kill_ns = DEADLINE_NEVER};
    set_up(&process, report_fd);
    while (!is_over(&process))
        serve(&process);
    manager_leave(process.manager, 0);
    _exit(0);
}

const struct manager_process_body rh_manager_process_body = {.version = RHINET_VERSION, .run = run};
