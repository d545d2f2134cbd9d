/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX, by its own program: a server on the last core, a client on the first, over shared memory.
 * Both inherit the real-time priority of rank 0, which waits for them.
 */
#include "experiment/machine/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM      "ucx_perftest"
#define PORT_FIRST   13400
#define PORT_COUNT   1000
#define TRIES        40
#define NAP_US       25000
#define ARGUMENT_MAX 24

bool bench_ucx_is_there(void)
{
    const char *path = getenv("PATH");
    char file[512];
    while (path && *path) {
        size_t length = strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/" PROGRAM, (int)length, path);
        if (access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* out: where its words go, or -1. */
static pid_t start(const char *const *argv, bool is_first, int out)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bench_cores_take_of_pair(is_first);
    setenv("UCX_TLS", "self,sysv", 0); /* its fastest on one machine */
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 0);
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere) {
        dup2(out >= 0 ? out : fileno(nowhere), STDOUT_FILENO);
        dup2(fileno(nowhere), STDERR_FILENO);
    }
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* CSV: iterations, 50th percentile, average and overall latency (us), average and overall bandwidth
 * (MB/s), average and overall rate. False if there is no such line. */
static bool parse(const struct bench_case *which, FILE *in, double *figure)
{
    char line[256];
    double n, median_us, us, overall_us, bandwidth, mib_per_s, average, rate;
    while (fgets(line, sizeof(line), in)) {
        if (sscanf(line, " %lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &n, &median_us, &us, &overall_us,
                   &bandwidth, &mib_per_s, &average, &rate) != 8)
            continue;
        *figure = strcmp(which->unit, "ns") == 0     ? median_us * 1e3
                  : strcmp(which->unit, "GB/s") == 0 ? mib_per_s * (1 << 20) / 1e9
                                                     : rate / 1e6;
        return true;
    }
    return false;
}

/* The server needs a moment before it listens. */
static bool run_client(const struct bench_case *which, const char *const *argv, double *figure)
{
    for (int i = 0; i < TRIES; i++) {
        int ends[2];
        if (pipe(ends) < 0)
            return false;
        usleep(NAP_US);
        pid_t pid = start(argv, true, ends[1]);
        close(ends[1]);
        FILE *in = fdopen(ends[0], "r");
        bool is_there = in && parse(which, in, figure);
        if (in)
            fclose(in);
        if (pid > 0)
            waitpid(pid, NULL, 0);
        if (is_there)
            return true;
    }
    return false;
}

int bench_ucx_measure(const struct bench_case *which, double *figure)
{
    static unsigned count;
    char port[16], options[128];
    const char *argv[ARGUMENT_MAX] = {PROGRAM, "localhost", "-f", "-v", "-p", port};
    const char *server[] = {PROGRAM, "-p", port, NULL};
    int argc = 6;
    snprintf(port, sizeof(port), "%u", PORT_FIRST + ((unsigned)getpid() + count++) % PORT_COUNT);
    snprintf(options, sizeof(options), "%s", which->ucx);
    char *rest = options;
    for (char *word; argc < ARGUMENT_MAX - 1 && (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    pid_t pid = start(server, false, -1);
    if (pid < 0)
        return -1;
    bool is_there = run_client(which, argv, figure);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return is_there ? 0 : -1;
}
