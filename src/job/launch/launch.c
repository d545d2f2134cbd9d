/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See launch.h: set-up, the event loop, tear-down. One thread, which never blocks but in poll().
 */
#include "job/launch/launch.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "job/job_map.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD_SIGNALS, FD_MANAGER, FD_FIXED_COUNT };

#define LOOK_NS (200 * NS_PER_MS) /* how often to look at what sends no event */

/* ---- Set-up --------------------------------------------------------------------------------- */

/* A closed stdin, stdout or stderr would be reused for something of ours, and then written to. */
static int open_null(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd >= 0 && fd <= STDERR_FILENO)
            fcntl(fd, F_SETFD, 0);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd < 0 ? -errno : fd;
}

static void raise_descriptor_limit(struct rlimit *before)
{
    *before = (struct rlimit){.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    if (getrlimit(RLIMIT_NOFILE, before) != 0)
        return;
    struct rlimit most = {.rlim_cur = before->rlim_max, .rlim_max = before->rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
}

static int create_manager(struct launcher *launcher)
{
    const struct launch_options *options = launcher->options;
    char command[sizeof(((struct roster *)0)->command)] = "";
    struct manager_options manager_options = {
        .size = options->size,
        .nic = options->nic,
        .command = command,
        .survive = options->survive,
        .map = options->map,
        .coordinator = options->coordinator,
        .settings = options->settings,
    };
    /* What a person would call the job: the command line, cut where there is no room. */
    size_t used = 0;
    for (int i = 0; options->argv[i] && used + 1 < sizeof(command); i++)
        used += (size_t)snprintf(command + used, sizeof(command) - used, i ? " %s" : "%s",
                                 options->argv[i]);
    int result = manager_create(&launcher->manager, &manager_options);
    if (result)
        launch_say(launcher, "%s", rh_error_text());
    return result;
}

/* What is as long as there are ranks, other hosts, variables. */
static int make_lists(struct launcher *launcher)
{
    const struct launch_options *options = launcher->options;
    const struct job_map *map = options->map;
    struct arena *memory = &launcher->memory;
    size_t variables = 0;
    while (options->environ[variables])
        variables++;
    if (map && !launch_is_node(launcher))
        launcher->shell_count = map->node_count - (map->coordinator_node >= 0);
    int process_max = options->size + launcher->shell_count;
    ARENA_TAKE(memory, launcher->ranks, options->size);
    ARENA_TAKE(memory, launcher->shells, launcher->shell_count);
    ARENA_TAKE(memory, launcher->plan.environment, variables + 3 + LAUNCH_IDENTITY_COUNT);
    ARENA_TAKE(memory, launcher->fds,
               FD_FIXED_COUNT + 1 + launcher->shell_count + launch_output_poll_max(process_max));
    if (memory->is_short)
        return -ENOMEM;
    for (int i = 0; i < launcher->shell_count; i++)
        launcher->shells[i] = (struct launch_shell){.fd = -1, .is_ended = true, .node = -1};
    for (int rank = 0; rank < options->size; rank++) {
        if (job_map_is_here(map, rank))
            launcher->ranks[launcher->local_count++].rank = rank;
    }
    /* The first slot and the last stay free: see spawn.c. */
    launcher->plan.environment_end = 1 + launch_identity_open(&launcher->identity, options->environ,
                                                              launcher->plan.environment + 1);
    return 0;
}

static int set_up(struct launcher *launcher, const struct launch_options *options)
{
    *launcher = (struct launcher){
        .options = options,
        .map = options->map,
        .signals.fd = -1,
        .guard.fd = -1,
        .input.fd = -1,
        .deadline_ns = clock_deadline_ns(options->timeout_ns),
        .plan = {.argv = options->argv, .signals = &launcher->signals, .launcher_pid = getpid()},
    };
    launcher->plan.null_fd = open_null();
    if (launcher->plan.null_fd < 0) {
        launch_say(launcher, "cannot open /dev/null: %s%s", strerror(-launcher->plan.null_fd),
                   launch_advice(launcher->plan.null_fd));
        return launcher->plan.null_fd;
    }
    raise_descriptor_limit(&launcher->plan.descriptors);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int result = make_lists(launcher);
    if (result == 0)
        result = launch_signals_open(&launcher->signals);
    if (result == 0)
        result = launch_cores_find(&launcher->cores, options->bind,
                                   launcher->local_count + launch_server_is_wanted(options));
    if (result == 0 && options->label)
        result = launch_output_create(&launcher->output,
                                      launcher->local_count + launcher->shell_count);
    if (result)
        launch_say(launcher, "cannot start the job: %s%s", strerror(-result),
                   launch_advice(result));
    if (result == 0)
        result = create_manager(launcher);
    if (result == 0)
        launch_identity_master(launcher);
    return result;
}

static void tear_down(struct launcher *launcher)
{
    if (launcher->manager)
        manager_leave(launcher->manager, launcher->has_begun ? 0 : launcher->status);
    manager_destroy(launcher->manager);
    launch_shells_free(launcher);
    launch_input_close(&launcher->input);
    launch_output_destroy(launcher->output);
    launch_cores_free(&launcher->cores);
    launch_signals_close(&launcher->signals);
    arena_free(&launcher->memory);
    descriptor_close(&launcher->plan.null_fd);
}

/* ---- Events --------------------------------------------------------------------------------- */

static void child_changed(struct launcher *launcher, int pid)
{
    launch_ranks_notice(launcher);
    launch_shells_notice(launcher);
    if (launch_guard_died(&launcher->guard)) {
        launch_guard_start(&launcher->guard, launcher->local_count + launcher->shell_count);
        for (int which = 0; which < launcher->started_count; which++)
            launch_guard_add(&launcher->guard, launcher->ranks[which].pid);
        for (int which = 0; which < launcher->shell_count; which++)
            launch_guard_add(&launcher->guard, launcher->shells[which].pid);
    }
    for (int which = 0; which < launcher->started_count; which++) {
        if (launcher->ranks[which].pid == pid)
            return;
    }
    if (pid != launcher->guard.pid && pid != launcher->server.pid &&
        !launch_is_shell(launcher, pid))
        waitpid(pid, NULL, WNOHANG); /* something that a rank left behind has ended by itself */
}

static void pause_job(struct launcher *launcher)
{
    launch_ranks_signal(launcher, SIGSTOP);
    manager_others_pause(launcher->manager, true);
    raise(SIGSTOP);
    launch_ranks_signal(launcher, SIGCONT); /* we are back */
    manager_others_pause(launcher->manager, false);
}

static void signal_arrived(struct launcher *launcher, int signal, int pid)
{
    if (signal == SIGCHLD) {
        child_changed(launcher, pid);
    } else if (signal == SIGTSTP) {
        pause_job(launcher);
    } else if (launcher->is_ending) {
        launcher->kill_ns = 0; /* asked twice: at once */
        launcher->output_end_ns = 0;
    } else {
        launch_say(launcher, "received signal %d (%s); ending the job", signal, strsignal(signal));
        launch_ranks_end(launcher, signal, LAUNCH_STATUS_SIGNAL + signal);
    }
}

static void time_passed(struct launcher *launcher)
{
    int64_t now_ns = clock_now_ns();
    if (!launcher->is_ending && now_ns >= launcher->deadline_ns) {
        launch_say(launcher, "the job was not over after %g s (--timeout); ending it",
                   (double)launcher->options->timeout_ns / (double)NS_PER_S);
        launcher->status = LAUNCH_STATUS_TIMEOUT;
        launch_ranks_end(launcher, SIGTERM, LAUNCH_STATUS_TIMEOUT);
    }
    if (launcher->is_ending && now_ns >= launcher->kill_ns) {
        launch_ranks_end(launcher, SIGKILL, launcher->status);
        launcher->kill_ns = DEADLINE_NEVER;
    }
}

static int poll_timeout_ms(const struct launcher *launcher)
{
    int64_t until_ns = launcher->deadline_ns;
    if (launcher->is_ending) {
        until_ns = launcher->kill_ns;
        if (launcher->is_swept && launcher->output_end_ns < until_ns)
            until_ns = launcher->output_end_ns;
    }
    /* To see whether we are in the foreground again; an unkillable process may hold a pipe; and a
     * host may not come to its end. */
    bool looks = launcher->input.fd >= 0 || launcher->is_swept || launcher->shell_count > 0;
    if (looks && until_ns > clock_deadline_ns(LOOK_NS))
        until_ns = clock_deadline_ns(LOOK_NS);
    return deadline_left_ms(until_ns, clock_now_ns());
}

static void wait_and_serve(struct launcher *launcher)
{
    struct pollfd *fds = launcher->fds;
    fds[FD_SIGNALS] = (struct pollfd){.fd = launcher->signals.fd, .events = POLLIN};
    fds[FD_MANAGER] = (struct pollfd){.fd = manager_poll_fd(launcher->manager), .events = POLLIN};
    int count = FD_FIXED_COUNT;
    struct pollfd *input_fd = &fds[count];
    int input_count = launch_input_poll(&launcher->input, input_fd);
    count += input_count;
    struct pollfd *shell_fds = &fds[count];
    count += launch_shells_poll(launcher, shell_fds);
    struct pollfd *output_fds = &fds[count];
    if (launcher->output)
        count += launch_output_poll(launcher->output, output_fds);

    if (poll(fds, (nfds_t)count, poll_timeout_ms(launcher)) < 0)
        return; /* interrupted; the caller looks at the time and comes back */
    if (fds[FD_MANAGER].revents)
        manager_serve(launcher->manager);
    launch_hosts_serve(launcher);
    launch_shells_serve(launcher, shell_fds);
    if (input_count)
        launch_input_serve(&launcher->input, input_fd);
    if (launcher->output)
        launch_output_serve(launcher->output, output_fds);
    int signal, pid;
    while ((signal = launch_signals_next(&launcher->signals, &pid)))
        signal_arrived(launcher, signal, pid);
}

static bool is_output_over(const struct launcher *launcher)
{
    if (!launcher->output || launch_output_is_done(launcher->output))
        return true;
    return launcher->is_ending && clock_now_ns() >= launcher->output_end_ns;
}

static bool are_ranks_over(const struct launcher *launcher)
{
    if (launcher->live_count > 0 || (!launcher->has_begun && !launcher->is_ending))
        return false;
    return launch_shells_are_over(launcher);
}

static void run_until_over(struct launcher *launcher)
{
    for (;;) {
        if (are_ranks_over(launcher) && !launcher->is_swept) {
            launch_ranks_reap(launcher);
            launcher->is_swept = true;
            if (launcher->output)
                launch_output_end(launcher->output);
        }
        if (launcher->is_swept && is_output_over(launcher))
            return;
        wait_and_serve(launcher);
        time_passed(launcher);
    }
}

/* The launcher of another host tells the first one, which must have been reached for that. */
static bool refuses_at_once(const struct job_map *map)
{
    return !map || (map->seat == 0 && map->coordinator_node >= 0);
}

int launch_run(const struct launch_options *options)
{
    struct launch_options own = *options;
    struct job_map map = {0};
    struct launcher launcher;
    char path[PATH_MAX] = "";
    int status = own.hosts ? launch_place(&own, &map) : 0;
    int error = status ? 0 : launch_path_find(own.argv[0], path, sizeof(path));
    if (error && refuses_at_once(own.map))
        status = launch_path_refuse(own.name, own.argv[0], error);
    if (status == 0) {
        if (set_up(&launcher, &own) == 0) {
            launcher.plan.path = error ? own.argv[0] : path;
            launcher.plan.path_error = error;
            launch_guard_start(&launcher.guard, launcher.local_count + launcher.shell_count);
            if (own.map)
                launch_shells_start(&launcher); /* the ranks are started when all hosts are there */
            else
                launch_ranks_start(&launcher);
            run_until_over(&launcher);
        } else {
            launcher.status = LAUNCH_STATUS_FAILED;
        }
        tear_down(&launcher);
        status = launcher.status;
    }
    job_map_close(&map);
    return status;
}
