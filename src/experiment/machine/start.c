/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long it takes to start a job and see it end: `rhinet run` of this program, whose ranks join
 * and leave. Raw is as many starts of this program that do nothing, side by side.
 */
#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/bench.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 64

int start_join_and_leave(void)
{
    struct rh_job *job;
    if (rh_join(&job, NULL) < 0 || rh_leave(job) < 0) {
        fprintf(stderr, "rhinet bench: %s\n", rh_error_text());
        return 1;
    }
    return 0;
}

static int start(const char *const *argv, pid_t *pid)
{
    int code = posix_spawn(pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ);
    return code == 0 ? 0 : error_fail(-code, "%s: %s", argv[0], strerror(code));
}

static int await_end(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) < 0)
        return error_fail(-errno, "waitpid: %s", strerror(errno));
    if (status != 0)
        return error_fail(-ECHILD, "what was started failed");
    return 0;
}

int start_nothing(struct bench_run *run, double *figure)
{
    const char *argv[] = {bench_program(), "bench", ".nothing", NULL};
    pid_t pids[PROCESSES_MAX];
    int started = 0, result = 0;
    int64_t start_ns = clock_now_ns();
    for (; started < run->bench_case->amount && started < PROCESSES_MAX && result == 0; started++)
        result = start(argv, &pids[started]);
    for (int i = 0; i < started; i++) {
        int ended = await_end(pids[i]);
        result = result < 0 ? result : ended;
    }
    *figure = (double)(clock_now_ns() - start_ns) / NS_PER_MS;
    return result;
}

int start_job(struct bench_run *run, double *figure)
{
    const char *program = bench_program();
    char count[16];
    snprintf(count, sizeof(count), "%d", run->bench_case->amount);
    const char *argv[] = {program, "run", "-n", count, program, "bench", ".join", NULL};
    pid_t pid;
    int64_t start_ns = clock_now_ns();
    int result = start(argv, &pid);
    if (result == 0)
        result = await_end(pid);
    *figure = (double)(clock_now_ns() - start_ns) / NS_PER_MS;
    return result;
}
