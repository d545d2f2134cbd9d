/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See launch.h: set-up, the event loop, tear-down. One thread, which never blocks but in poll().
 */
#include "job/launch/launch.h"

#include "base/clock.h"
#include "job/job_map.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
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

/* A copy of the environment with a free first slot, and one at *end. */
static char **copy_environment(char *const *environment, size_t *end)
{
    size_t count = 0;
    while (environment[count])
        count++;
    char **copy = calloc(count + 3, sizeof(copy[0]));
    *end = count + 1;
    if (copy)
        memcpy(copy + 1, environment, (count + 1) * sizeof(copy[0]));
    return copy;
}

/* What a person would call the job: the command line, cut where there is no room. */
static void join_words(char *text, size_t text_size, char *const *words)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; words[i] && used + 1 < text_size; i++)
        used += (size_t)snprintf(text + used, text_size - used, i ? " %s" : "%s", words[i]);
}

static int create_manager(struct launcher *launcher)
{
    const struct launch_options *options = launcher->options;
    char command[sizeof(((struct roster *)0)->command)];
    join_words(command, sizeof(command), options->argv);
    struct manager_options manager_options = {
        .size = options->size,
        .nic = options->nic,
        .command = command,
        .survive = options->survive,
        .map = launcher->map,
        .coordinator = launcher->coordinator,
        .settings = options->settings,
    };
    int result = manager_create(&launcher->manager, &manager_options);
    if (result)
        launch_say(launcher, "%s", rh_error_text());
    return result;
}

static bool is_ours(const struct launcher *launcher, int rank)
{
    const struct job_map *map = launcher->map;
    return !map || job_map_seat_of(map, map->node_of[rank]) == map->seat;
}

static void count_processes(struct launcher *launcher)
{
    for (int rank = 0; rank < launcher->options->size; rank++)
        launcher->local_count += is_ours(launcher, rank);
    if (launcher->map && !launch_is_node(launcher))
        launcher->shell_count = launcher->map->node_count - (launcher->map->coordinator_node >= 0);
}

static int allocate_lists(struct launcher *launcher)
{
    count_processes(launcher);
    int process_count = launcher->local_count + launcher->shell_count;
    int fd_max = FD_FIXED_COUNT + 1 + launcher->shell_count + launch_output_poll_max(process_count);
    launcher->fds = calloc((size_t)fd_max, sizeof(launcher->fds[0]));
    launcher->ranks = calloc((size_t)launcher->local_count + 1, sizeof(launcher->ranks[0]));
    launcher->shells = calloc((size_t)launcher->shell_count + 1, sizeof(launcher->shells[0]));
    if (!launcher->fds || !launcher->ranks || !launcher->shells)
        return -ENOMEM;
    for (int i = 0; i < launcher->shell_count; i++)
        launcher->shells[i] = (struct launch_shell){.fd = -1, .is_ended = true, .node = -1};
    int which = 0;
    for (int rank = 0; rank < launcher->options->size; rank++) {
        if (is_ours(launcher, rank))
            launcher->ranks[which++].rank = rank;
    }
    return 0;
}

/* What needs memory or descriptors; says what failed. */
static int allocate(struct launcher *launcher)
{
    const struct launch_options *options = launcher->options;
    int result = allocate_lists(launcher);
    launcher->plan.environment = copy_environment(options->environ,
                                                  &launcher->plan.environment_end);
    if (result == 0 && !launcher->plan.environment)
        result = -ENOMEM;
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
    return result ? result : create_manager(launcher);
}

static int set_up(struct launcher *launcher, const struct launch_options *options,
                  const struct launch_role *role)
{
    *launcher = (struct launcher){
        .name = role->name,
        .options = options,
        .map = role->map,
        .coordinator = role->coordinator,
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
    return allocate(launcher);
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
    free(launcher->plan.environment);
    free(launcher->ranks);
    free(launcher->shells);
    free(launcher->fds);
    if (launcher->plan.null_fd >= 0)
        close(launcher->plan.null_fd);
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

/* With several hosts, the ranks are started when all are there. */
static void begin(struct launcher *launcher)
{
    launch_guard_start(&launcher->guard, launcher->local_count + launcher->shell_count);
    if (launcher->map) {
        launch_shells_start(launcher);
        return;
    }
    launcher->has_begun = true;
    if (launch_server_start(launcher) < 0)
        launch_ranks_end(launcher, SIGKILL, LAUNCH_STATUS_FAILED);
    else
        launch_ranks_start(launcher);
}

int launch_run_as(const struct launch_options *options, const struct launch_role *role)
{
    struct launcher launcher;
    char path[PATH_MAX] = "";
    int result = launch_path_find(options->argv[0], path, sizeof(path));
    /* The launcher of another host tells the first one, which must have been reached for that. */
    if (result && (!role->map || role->map->seat == 0) &&
        (!role->map || role->map->coordinator_node >= 0))
        return launch_path_refuse(role->name, options->argv[0], result);
    if (set_up(&launcher, options, role) == 0) {
        launcher.plan.path = result ? options->argv[0] : path;
        launcher.plan.path_error = result;
        begin(&launcher);
        run_until_over(&launcher);
    } else {
        launcher.status = LAUNCH_STATUS_FAILED;
    }
    tear_down(&launcher);
    return launcher.status;
}

int launch_run(const struct launch_options *options)
{
    struct launch_options own = *options;
    struct launch_role role = {.name = "rhinet run"};
    struct job_map map = {0};
    bool is_needed = false;
    if (options->hosts) {
        int status = launch_place(options, &map, &is_needed);
        if (status)
            return status;
        own.size = map.size;
    }
    if (is_needed) {
        role.map = &map;
        own.nic = nic_choice(options->settings, (uint32_t)map.node_count);
    }
    int status = launch_run_as(&own, &role);
    job_map_close(&map);
    return status;
}
