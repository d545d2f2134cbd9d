/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The other hosts: the remote shells that start `rhinet node` there, what those hosts tell our task
 * manager, and what the launcher does about it. A shell's standard input carries the orders, secret
 * included, and then, for the host of rank 0, our own input; its output is that of the ranks there.
 * The first launcher speaks and decides; those of the other hosts obey, and end by themselves only
 * when they have lost it.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64
#define LINGER_NS (2 * NS_PER_S) /* for a remote shell whose host has said goodbye */

/* ---- Starting ------------------------------------------------------------------------------- */

struct shell_command {
    char path[PATH_MAX]; /* of the remote shell */
    char rhinet[PATH_MAX];
    char *words; /* ours */
    char *argv[WORDS_MAX + 4];
    int host_at; /* where in argv the host's name goes */
};

static int split_words(struct shell_command *command, const char *rsh)
{
    int count = 0;
    command->words = strdup(rsh);
    if (!command->words)
        return -ENOMEM;
    char *rest = command->words;
    char *word;
    while ((word = strsep(&rest, " \t")) && count < WORDS_MAX) {
        if (word[0])
            command->argv[count++] = word;
    }
    command->host_at = count;
    return count > 0 ? 0 : -ENOENT;
}

static int make_command(struct launcher *launcher, struct shell_command *command)
{
    const struct launch_hosts *hosts = launcher->options->hosts;
    int result = split_words(command, hosts->rsh);
    if (result == 0)
        result = launch_path_find(command->argv[0], command->path, sizeof(command->path));
    if (result) {
        int status = launch_path_refuse("rhinet run --rsh",
                                        command->argv[0] ? command->argv[0] : "", result);
        launch_ranks_end(launcher, SIGKILL, status);
        return result;
    }
    ssize_t length = readlink("/proc/self/exe", command->rhinet, sizeof(command->rhinet) - 1);
    command->rhinet[length > 0 ? length : 0] = '\0';
    if (hosts->remote_rhinet)
        snprintf(command->rhinet, sizeof(command->rhinet), "%s", hosts->remote_rhinet);
    static char node[] = "node";
    command->argv[command->host_at + 1] = command->rhinet;
    command->argv[command->host_at + 2] = node;
    return 0;
}

static int spawn(struct launcher *launcher, struct launch_shell *shell, int which,
                 struct shell_command *command)
{
    int input[2] = {-1, -1}, output[2] = {-1, -1};
    struct launch_plan plan = launcher->plan;
    struct launch_child child = {.manager_fd = -1, .guard_fd = launcher->guard.fd, .core = -1};
    bool is_exec_error;
    plan.path = command->path;
    plan.path_error = 0;
    plan.argv = command->argv;
    plan.environment += 1 + launcher->identity.count; /* without what only ranks get */
    command->argv[command->host_at] = launcher->map->host[shell->node];
    int result = pipe2(input, O_CLOEXEC) != 0 ? -errno : 0;
    if (result == 0 && launcher->output)
        result = launch_output_open(launcher->output, launcher->local_count + which, -1, output);
    if (result == 0) {
        int stdio[3] = {input[0], output[0], output[1]};
        memcpy(child.stdio, stdio, sizeof(child.stdio));
        result = launch_spawn(&plan, &child, &shell->pid, &is_exec_error);
    }
    descriptor_close(&input[0]);
    descriptor_close(&output[0]);
    descriptor_close(&output[1]);
    if (result) {
        descriptor_close(&input[1]);
        return result;
    }
    fcntl(input[1], F_SETFL, O_NONBLOCK);
    shell->fd = input[1];
    return 0;
}

void launch_shells_start(struct launcher *launcher)
{
    struct shell_command command = {0};
    struct launch_options told = *launcher->options;
    if (launcher->shell_count == 0)
        return;
    told.coordinator = manager_addresses(launcher->manager);
    told.master = &launcher->identity.master;
    int result = make_command(launcher, &command);
    int which = 0;
    for (int node = 0; node < launcher->map->node_count && result == 0; node++) {
        if (node == launcher->map->coordinator_node)
            continue;
        struct launch_shell *shell = &launcher->shells[which];
        shell->node = node;
        if (orders_write(&told, job_map_seat_of(told.map, node), &shell->orders, &shell->length))
            result = -ENOMEM;
        if (result == 0)
            result = spawn(launcher, shell, which, &command);
        if (result) {
            launch_say(launcher, "cannot start %s for host %s: %s%s", command.path,
                       launcher->map->host[node], strerror(-result), launch_advice(result));
            launch_ranks_end(launcher, SIGKILL, LAUNCH_STATUS_FAILED);
        }
        shell->is_ended = result != 0;
        which++;
    }
    free(command.words);
}

static void forget_orders(struct launch_shell *shell)
{
    explicit_bzero(shell->orders, shell->length);
    free(shell->orders);
    shell->orders = NULL;
}

void launch_shells_free(struct launcher *launcher)
{
    for (int which = 0; launcher->shells && which < launcher->shell_count; which++) {
        struct launch_shell *shell = &launcher->shells[which];
        if (shell->orders)
            forget_orders(shell);
        descriptor_close(&shell->fd);
    }
}

/* ---- Telling them --------------------------------------------------------------------------- */

int launch_shells_poll(struct launcher *launcher, struct pollfd *fds)
{
    for (int which = 0; which < launcher->shell_count; which++) {
        const struct launch_shell *shell = &launcher->shells[which];
        fds[which] = (struct pollfd){.fd = shell->orders ? shell->fd : -1, .events = POLLOUT};
    }
    return launcher->shell_count;
}

/* It has them all. The pipe is then that of rank 0, or of nobody. */
static void orders_are_given(struct launcher *launcher, struct launch_shell *shell)
{
    forget_orders(shell);
    if (launcher->map->node_of[0] == shell->node)
        launch_input_relay(&launcher->input, shell->fd);
    else
        close(shell->fd);
    shell->fd = -1;
}

static void give_orders(struct launcher *launcher, struct launch_shell *shell)
{
    ssize_t length = write(shell->fd, shell->orders + shell->sent, shell->length - shell->sent);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length < 0) { /* it does not read: it has ended, or will; that is noticed elsewhere */
        forget_orders(shell);
        descriptor_close(&shell->fd);
        return;
    }
    shell->sent += (size_t)length;
    if (shell->sent == shell->length)
        orders_are_given(launcher, shell);
}

void launch_shells_serve(struct launcher *launcher, const struct pollfd *fds)
{
    for (int which = 0; which < launcher->shell_count; which++) {
        if (fds[which].revents && launcher->shells[which].orders)
            give_orders(launcher, &launcher->shells[which]);
    }
}

/* ---- What they tell -------------------------------------------------------------------------- */

static struct launch_shell *shell_of(struct launcher *launcher, int node)
{
    for (int which = 0; which < launcher->shell_count; which++) {
        if (launcher->shells[which].node == node)
            return &launcher->shells[which];
    }
    return NULL;
}

static void settle(struct launcher *launcher, int node)
{
    struct launch_shell *shell = shell_of(launcher, node);
    if (!shell || shell->is_settled)
        return;
    shell->is_settled = true;
    shell->settled_ns = clock_now_ns();
}

static void host_done(struct launcher *launcher, const struct manager_event *event)
{
    settle(launcher, event->node);
    if (launcher->is_ending || event->status == 0 || launch_is_node(launcher))
        return;
    launch_say(launcher, "host %s could not start its ranks; ending the job",
               launcher->map->host[event->node]);
    launch_ranks_end(launcher, SIGTERM, event->status);
}

static void host_lost(struct launcher *launcher, const struct manager_event *event)
{
    char ranks[128];
    struct launch_shell *shell = shell_of(launcher, event->node);
    if (launch_is_node(launcher))
        return;
    settle(launcher, event->node);
    if (shell && !shell->is_ended)
        kill(-shell->pid, SIGKILL);
    if (launcher->is_ending)
        return;
    bool goes_on = launcher->options->survive && launcher->has_begun;
    job_map_ranks_text(launcher->map, event->node, ranks, sizeof(ranks));
    launch_say(launcher, "host %s (%s) is lost: %s; %s", launcher->map->host[event->node], ranks,
               event->text, goes_on ? "the others go on" : "ending the job");
    if (launcher->status == 0)
        launcher->status = LAUNCH_STATUS_FAILED;
    if (!goes_on)
        launch_ranks_end(launcher, SIGTERM, LAUNCH_STATUS_FAILED);
}

static void rank_ended(struct launcher *launcher, const struct manager_event *event)
{
    struct launch_failure failure = {.rank = event->rank,
                                     .pid = event->pid,
                                     .status = event->status,
                                     .signal = event->signal,
                                     .host = launcher->map->host[event->node]};
    if (event->status == ROSTER_END_UNKNOWN)
        return; /* a member behind a wrapper: how that ends is still to come, as on this host */
    if ((event->status || event->signal) && !launcher->is_ending && !launch_is_node(launcher))
        launch_rank_failed(launcher, &failure);
}

void launch_hosts_serve(struct launcher *launcher)
{
    struct manager_event event;
    while (manager_next_event(launcher->manager, &event)) {
        switch (event.kind) {
        case MANAGER_READY:
            launch_ranks_start(launcher);
            break;
        case MANAGER_RANK_ENDED:
            rank_ended(launcher, &event);
            break;
        case MANAGER_HOST_DONE:
            host_done(launcher, &event);
            break;
        case MANAGER_HOST_LOST:
            host_lost(launcher, &event);
            break;
        case MANAGER_CUT:
            if (!launcher->is_ending)
                launch_say(launcher, "%s; ending %s", event.text,
                           launch_is_node(launcher) ? "the ranks of this host" : "the job");
            launch_ranks_end(launcher, SIGKILL, LAUNCH_STATUS_FAILED);
            break;
        case MANAGER_END:
            launch_ranks_end(launcher, event.signal, 0);
            break;
        case MANAGER_PAUSE:
            launch_ranks_signal(launcher, SIGSTOP);
            break;
        case MANAGER_RESUME:
            launch_ranks_signal(launcher, SIGCONT);
            break;
        }
    }
}

/* ---- Noticing a shell's end ------------------------------------------------------------------ */

static void describe_end(const siginfo_t *info, char *text, size_t text_size)
{
    if (info->si_code == CLD_EXITED)
        snprintf(text, text_size, "ended with status %d", info->si_status);
    else
        snprintf(text, text_size, "was killed by signal %d (%s)", info->si_status,
                 strsignal(info->si_status));
}

static void never_called_back(struct launcher *launcher, const char *host, const siginfo_t *info)
{
    char end[96];
    const char *hint = "if it said why, that is above";
    if (info->si_code == CLD_EXITED && info->si_status == LAUNCH_STATUS_NOT_FOUND)
        hint = "is rhinet installed there? --remote-rhinet says where";
    else if (info->si_code == CLD_EXITED && info->si_status == 255)
        hint = "can the host be reached, and without a password?";
    describe_end(info, end, sizeof(end));
    launch_say(launcher,
               "host %s: the remote shell `%s %s` %s before rhinet had called back from there; %s; "
               "ending the job",
               host, launcher->options->hosts->rsh, host, end, hint);
    launch_ranks_end(launcher, SIGTERM, LAUNCH_STATUS_FAILED);
}

static void shell_ended(struct launcher *launcher, struct launch_shell *shell,
                        const siginfo_t *info)
{
    char text[160] = "its remote shell ";
    shell->is_ended = true;
    manager_serve(launcher->manager); /* its host may have said goodbye */
    launch_hosts_serve(launcher);
    if (shell->is_settled || launcher->is_ending)
        return;
    if (!launcher->has_begun) {
        never_called_back(launcher, launcher->map->host[shell->node], info);
        return;
    }
    describe_end(info, text + strlen(text), sizeof(text) - strlen(text));
    manager_host_drop(launcher->manager, shell->node, text);
    launch_hosts_serve(launcher);
}

void launch_shells_notice(struct launcher *launcher)
{
    for (int which = 0; which < launcher->shell_count; which++) {
        struct launch_shell *shell = &launcher->shells[which];
        siginfo_t info = {0};
        if (!shell->is_ended &&
            waitid(P_PID, (id_t)shell->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0)
            shell_ended(launcher, shell, &info);
    }
}

bool launch_is_shell(const struct launcher *launcher, int pid)
{
    for (int which = 0; which < launcher->shell_count; which++) {
        if (launcher->shells[which].pid == pid)
            return true;
    }
    return false;
}

bool launch_shells_are_over(const struct launcher *launcher)
{
    int64_t now_ns = clock_now_ns();
    if (launcher->is_ending && now_ns >= launcher->hosts_end_ns)
        return true;
    for (int which = 0; which < launcher->shell_count; which++) {
        const struct launch_shell *shell = &launcher->shells[which];
        bool is_over = shell->is_settled && now_ns >= shell->settled_ns + LINGER_NS;
        bool never_called = launcher->is_ending && !launcher->has_begun;
        if (!shell->is_ended && !is_over && !never_called)
            return false;
    }
    return true;
}
