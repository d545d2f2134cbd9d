/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache start` and `serve`: a cache without a program, for whatever runs on its hosts.
 *
 * serve is a node of it, and stays. Under srun or mpirun the nodes find each other as ranks do.
 * start is a launcher in the background whose ranks are such nodes; it returns when each has said
 * that it is ready.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/settings.h"
#include "cache/agent/service.h"
#include "cli/cache/cache.h"
#include "cli/cache/wishes.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "job/job_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_NS  (120 * NS_PER_S)
#define LOOK_MS   200
#define LINE_MAX_ 256
#define LOG_MAX   (64 << 10) /* of what is shown */

static const char *log_path;

static const struct cli_option start_options[] = {
    CACHE_NAME_OPTION,
    CACHE_IDLE_OPTION,
    CLI_FILE("log", "FILE", &log_path, "where to say what happens to it later"),
    CACHE_WISHES,
    CLI_OPTIONS_END,
};

static const struct cli_option serve_options[] = {
    CACHE_NAME_OPTION,
    CACHE_IDLE_OPTION,
    CACHE_WISHES,
    CLI_OPTIONS_END,
};

static int find_place(struct place *place, struct settings *settings)
{
    int status = cache_wishes_set();
    if (status != 0)
        return status;
    return settings_load(settings, environ) < 0 ||
                   place_find(place, settings, cache_wishes.name) < 0
               ? cli_fail()
               : 0;
}

/* ---- serve ---------------------------------------------------------------------------------- */

static int serve(int count, char **words)
{
    struct place place;
    struct settings settings;
    if (!getenv(setting_spec(SETTING_RANK)->name))
        settings_warn(environ); /* else the launcher has done so */
    int status = find_place(&place, &settings);
    return status != 0 ? status : service_run(&place, &settings, cache_wishes.idle_ns);
}

/* ---- start ---------------------------------------------------------------------------------- */

/* rhinet cache serve, with the options that are no settings. */
static char **wrap(char **argv, const char *remote_rhinet)
{
    static char command[] = "serve", name[] = "--name", idle[] = "--idle", never[] = "0";
    (void)argv;
    char *words[] = {name, (char *)(cache_wishes.name ? cache_wishes.name : "default"), idle,
                     cache_wishes.idle_text ? cache_wishes.idle_text : never, NULL};
    return cache_wrap(command, NULL, cache_wishes.name ? words : words + 2, remote_rhinet);
}

/* The launcher, without what binds it to the terminal and folder that it was started in. */
static _Noreturn void be_launcher(int out_fd, int log_fd)
{
    static const struct run_kind kind = {.bind = LAUNCH_BIND_NONE,
                                         .wrap = wrap,
                                         .is_alone_possible = true,
                                         .survives = true,
                                         .is_plain = true,
                                         .name = "rhinet cache start"};
    char *none[] = {NULL};
    setsid();
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null_fd, STDIN_FILENO);
    dup2(out_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    signal(SIGHUP, SIG_IGN);
    (void)!chdir("/");
    exit(run_job(&kind, none));
}

/* Which nodes are ready, by their lines. */
struct readiness {
    char line[LINE_MAX_];
    size_t used;
    int count, size; /* size 0: none has said it yet */
};

static void read_line(struct readiness *ready, const char *name)
{
    char format[64], said[PLACE_NAME_MAX + 1];
    int node, size;
    snprintf(format, sizeof(format), "cache %%%d[^:]: node %%d of %%d is ready", PLACE_NAME_MAX);
    if (sscanf(ready->line, format, said, &node, &size) == 3 && strcmp(said, name) == 0) {
        ready->count++;
        ready->size = size;
    }
}

static void read_text(struct readiness *ready, const char *name, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\n') {
            if (ready->used + 1 < sizeof(ready->line))
                ready->line[ready->used++] = text[i];
            continue;
        }
        ready->line[ready->used] = '\0';
        read_line(ready, name);
        ready->used = 0;
    }
}

static bool is_ready(const struct readiness *ready)
{
    return ready->size > 0 && ready->count >= ready->size;
}

static _Atomic int interrupted; /* by this signal; 0: not */

static void interrupt(int number)
{
    interrupted = number;
}

/* Whoever gives up waiting wants no half of it left. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupt};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
}

/* Until all nodes are ready, or the launcher has ended. */
static bool await_nodes(int fd, const char *name, struct readiness *ready)
{
    int64_t deadline_ns = clock_deadline_ns(START_NS);
    char text[512];
    while (!is_ready(ready)) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        int left_ms = deadline_left_ms(deadline_ns, clock_now_ns());
        if (left_ms == 0 || interrupted)
            return false;
        if (ready->size > 0)
            cli_progress("cache %s: %d of %d nodes are ready", name, ready->count, ready->size);
        else
            cli_progress("cache %s: starting", name);
        if (poll(&readable, 1, left_ms < LOOK_MS ? left_ms : LOOK_MS) <= 0)
            continue;
        ssize_t got = read(fd, text, sizeof(text));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        read_text(ready, name, text, (size_t)got);
    }
    return true;
}

static void show_log(int log_fd, off_t begin)
{
    char text[1024];
    ssize_t got;
    for (off_t at = begin; at < begin + LOG_MAX; at += got) {
        got = pread(log_fd, text, sizeof(text), at);
        if (got <= 0)
            return;
        fwrite(text, 1, (size_t)got, stderr);
    }
}

static int end_launcher(int pid)
{
    int status = 0;
    kill(pid, SIGTERM); /* it ends its ranks, and those that do not obey it kills */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
}

static int open_log(off_t *begin)
{
    int fd = log_path ? open(log_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                      : memfd_create("rhinet-cache-log", MFD_CLOEXEC);
    if (fd < 0)
        cli_say("cannot write %s: %s", log_path ? log_path : "what is said", strerror(errno));
    *begin = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    return fd;
}

static int launch(const struct place *place, int log_fd, off_t log_begin)
{
    int fds[2];
    struct readiness ready = {0};
    if (pipe2(fds, O_CLOEXEC) != 0) {
        cli_say("cannot make a pipe: %s", strerror(errno));
        return 1;
    }
    fflush(NULL);
    int pid = fork();
    if (pid == 0)
        be_launcher(fds[1], log_fd);
    close(fds[1]);
    catch_signals();
    if (pid < 0)
        cli_say("cannot start the launcher: %s", strerror(errno));
    bool is_good = pid > 0 && await_nodes(fds[0], place->name, &ready);
    cli_progress_end();
    int status = is_good || pid < 0 ? pid < 0 : end_launcher(pid);
    close(fds[0]);
    show_log(log_fd, log_begin);
    if (is_good)
        printf("cache %s: %d node%s ready; `rhinet cache exec PROGRAM` uses it, `rhinet cache "
               "stop` ends it\n",
               place->name, ready.size, ready.size == 1 ? " is" : "s are");
    else if (interrupted)
        cli_say("received signal %d; cache %s is not started", interrupted, place->name);
    else if (pid > 0)
        cli_say("cache %s has not started; why is said above", place->name);
    return interrupted ? LAUNCH_STATUS_SIGNAL + interrupted : status;
}

static int start(int count, char **words)
{
    struct place place;
    struct settings settings;
    off_t log_begin;
    int status = find_place(&place, &settings);
    if (status != 0)
        return status;
    int log_fd = open_log(&log_begin);
    if (log_fd < 0)
        return 1;
    status = launch(&place, log_fd, log_begin);
    descriptor_close(&log_fd);
    return status;
}

const struct cli_command cli_cache_start = {
    .name = "start",
    .help = "start a cache on hosts, for all programs that will run there",
    .options = start_options,
    .shared = run_options,
    .run = start};

const struct cli_command cli_cache_serve = {
    .name = "serve",
    .help = "be a node of such a cache, under srun or mpirun, or alone, until it is stopped",
    .options = serve_options,
    .run = serve};
