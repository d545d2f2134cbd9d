/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet-manager: serves an open job. Started by librhinet in the first process that joins one
 * (member/manager_program.c), with the job's socket and a pipe for its report; of no use to people.
 */
#include "base/error.h"
#include "base/text.h"
#include "job/manager/open_run.h"
#include "job/open_job.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define RANKS_MOST 65536

static bool is_listening(int fd)
{
    int yes = 0;
    socklen_t length = sizeof(yes);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &length) == 0 && yes;
}

/* Every segment of every member takes one here. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int fail(const char *why)
{
    dprintf(OPEN_JOB_REPORT_FD, "-%.480s", why);
    return 1;
}

int main(int argc, char **argv)
{
    uint64_t ranks;
    if (argc != 5 || strcmp(argv[1], OPEN_JOB_WORD) != 0 || !is_listening(OPEN_JOB_LISTEN_FD)) {
        fputs("rhinet-manager serves the open jobs of rh_join(3) and is started by librhinet, not "
              "by people\n",
              stderr);
        return 2;
    }
    if (!text_to_u64(argv[3], &ranks) || ranks < 1 || ranks > RANKS_MOST)
        return fail("the number of ranks makes no sense");
    if (sodium_init() < 0)
        return fail("libsodium cannot be used on this machine");
    int pid = fork(); /* so that it is nobody's child */
    if (pid < 0)
        return fail(strerror(errno));
    if (pid > 0)
        return 0;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "rhinet-manager");
    (void)!chdir("/"); /* keep no file system busy */
    raise_descriptor_limit();
    struct open_run run = {.listen_fd = OPEN_JOB_LISTEN_FD,
                           .ranks = (int)ranks,
                           .nic = argv[2],
                           .command = argv[4],
                           .report_fd = OPEN_JOB_REPORT_FD};
    return open_run(&run) < 0 ? fail(rh_error_text()) : 0;
}
