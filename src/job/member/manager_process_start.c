/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding, starting and calling a manager process (job/manager_process.h).
 */
#include "job/member/parts.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "job/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_NS (10 * NS_PER_S)

static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* The first byte is 0: no file has this name, and it vanishes with the last who has it open. */
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "rhinet-%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int manager_process_listen(char name[MANAGER_PROCESS_NAME_BYTES])
{
    uint8_t random[(MANAGER_PROCESS_NAME_BYTES - 1) / 2];
    struct sockaddr_un address;
    if (sodium_init() < 0)
        return error_fail(RH_EREFUSED, "libsodium cannot be used on this machine");
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(name, MANAGER_PROCESS_NAME_BYTES, random, sizeof(random));
    socklen_t length = make_address(&address, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int result = error_fail(RH_ENOSPACE, "cannot make the task manager's socket: %s",
                            strerror(errno));
    descriptor_close(&fd);
    return result;
}

int manager_process_connect(const char *name, const struct job_map *map, int rank)
{
    struct sockaddr_un address;
    socklen_t length = make_address(&address, name);
    struct request claim = {.version = PROTOCOL_VERSION, .kind = REQUEST_CLAIM, .rank = rank};
    struct descriptor_message message = {.data = &claim, .length = sizeof(claim)};
    manager_process_proof(map, rank, claim.card);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0 &&
        descriptor_send(fd, &message, 0) == 0)
        return fd;
    int result = error_fail(
        RH_EREFUSED,
        "the task manager of this host does not answer: %s; has the process that started it ended?",
        strerror(errno));
    descriptor_close(&fd);
    return result;
}

/* ---- Starting ------------------------------------------------------------------------------- */

/* The program's signal handlers, descriptors and terminal are none of the manager process's
 * business. */
static void become_manager_process(int *listen_fd, int *report_fd)
{
    static const char name[] = "rhinet-manager";
    sigset_t none;
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
    signal(SIGPIPE, SIG_IGN);
    setsid();
    prctl(PR_SET_NAME, name);
    (void)!chdir("/"); /* keep no file system busy */
    int listening = fcntl(*listen_fd, F_DUPFD_CLOEXEC, 64);
    int report = fcntl(*report_fd, F_DUPFD_CLOEXEC, 64);
    int null_fd = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null_fd, fd);
    int low = listening < report ? listening : report;
    int high = listening < report ? report : listening;
    close_range(3, (unsigned)low - 1, 0);
    if (high > low + 1)
        close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    close_range((unsigned)high + 1, ~0U, 0);
    *listen_fd = listening;
    *report_fd = report;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int manager_report_read(int fd, char report[MANAGER_REPORT_BYTES])
{
    int64_t deadline_ns = clock_deadline_ns(START_NS);
    size_t used = 0;
    while (used + 1 < MANAGER_REPORT_BYTES) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int left_ms = deadline_left_ms(deadline_ns, clock_now_ns());
        if (left_ms == 0)
            return error_fail(RH_ETIMEOUT, "the task manager does not start");
        if (poll(&ready, 1, left_ms) <= 0)
            continue;
        ssize_t got = read(fd, report + used, MANAGER_REPORT_BYTES - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    report[used] = '\0';
    return 0;
}

static int understand(const char *report, const struct manager_process_plan *plan,
                      struct address_list *addresses)
{
    if (report[0] != '+')
        return error_fail(RH_EREFUSED, "the task manager of this host: %s",
                          report[0] ? report + 1 : "it has died");
    if (plan->map->node_count > 1 && !address_list_parse(addresses, report + 1))
        return error_fail(RH_ECORRUPT, "the task manager says \"%s\"", report);
    return 0;
}

/* Twice, so that it is nobody's child: a program that waits for any child must not meet it. */
static int fork_twice(const struct manager_process_body *body,
                      const struct manager_process_plan *plan, int report_fd)
{
    int pid = fork();
    if (pid == 0) {
        if (fork() == 0) {
            struct manager_process_plan own = *plan;
            become_manager_process(&own.listen_fd, &report_fd);
            body->run(&own, report_fd);
        }
        _exit(0);
    }
    return pid;
}

int manager_process_start(const struct manager_process_plan *plan, struct address_list *addresses)
{
    int fds[2];
    char report[MANAGER_REPORT_BYTES];
    const struct manager_process_body *body;
    void *library;
    int result = manager_process_load(&body, &library);
    if (result < 0)
        return result;
    if (pipe2(fds, O_CLOEXEC) != 0) {
        result = error_fail(RH_ENOSPACE, "cannot make a pipe: %s", strerror(errno));
        manager_process_unload(library);
        return result;
    }
    int pid = fork_twice(body, plan, fds[1]);
    close(fds[1]);
    result = pid < 0
                 ? error_fail(
                       RH_ENOSPACE,
                       "cannot start the task manager: %s; is the limit on processes (ulimit -u) "
                       "reached?",
                       strerror(errno))
                 : manager_report_read(fds[0], report);
    close(fds[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    manager_process_unload(library);
    return result < 0 ? result : understand(report, plan, addresses);
}
