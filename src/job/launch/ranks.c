/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks: starting them, noticing how each ended, and ending them.
 *
 * A rank that has ended stays a zombie until the job is over. Peers reach its memory by process
 * number (cross-memory attach), so that number must not be given to somebody else meanwhile.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/settings.h"
#include "job/job_layer.h"
#include "job/launch/parts.h"

#include <string.h>
#include <sys/wait.h>

/* When ranks have been killed: so that, with the usual grace, all are gone within a second. */
#define OUTPUT_AFTER_NS (300 * NS_PER_MS)
#define HOSTS_AFTER_NS  (600 * NS_PER_MS)

/* 0, or the exit status that this means, after it has said what is wrong. */
static int start_rank(struct launcher *launcher, int which)
{
    struct launch_rank *one = &launcher->ranks[which];
    int rank = one->rank, stdio[3] = {-1, -1, -1};
    struct launch_child child = {
        .manager_fd = manager_member_fd(launcher->manager, rank),
        .guard_fd = launcher->guard.fd,
        .core = launch_core_of(&launcher->cores, which),
    };
    if (launcher->server.ends) {
        child.server_fd = launcher->server.ends[rank];
        child.server_variable = launcher->options->server->variable;
    }
    bool is_exec_error = false;
    int result = rank == 0 ? launch_input_open(&launcher->input, &stdio[0]) : 0;
    if (result == 0 && launcher->output)
        result = launch_output_open(launcher->output, which, rank, &stdio[1]);
    if (result == 0) {
        memcpy(child.stdio, stdio, sizeof(child.stdio));
        if (rank > 0)
            child.stdio[0] = launcher->plan.null_fd;
        launch_identity_write(launcher, which);
        result = launch_spawn(&launcher->plan, &child, &one->pid, &is_exec_error);
    }
    for (int i = 0; i < 3; i++)
        descriptor_close(&stdio[i]);
    if (result && is_exec_error)
        return launch_path_refuse(launcher->options->name, launcher->plan.path, result);
    if (result) {
        launch_say(launcher, "cannot start rank %d: %s%s", rank, strerror(-result),
                   launch_advice(result));
        return LAUNCH_STATUS_FAILED;
    }
    launcher->started_count++;
    launcher->live_count++;
    manager_member_started(launcher->manager, rank, one->pid);
    if (launcher->server.ends)
        launch_server_given(launcher, rank);
    return 0;
}

void launch_ranks_start(struct launcher *launcher)
{
    int status = 0;
    if (launcher->is_ending)
        return;
    launcher->has_begun = true;
    if (!launcher->map && launch_server_start(launcher) < 0)
        status = LAUNCH_STATUS_FAILED;
    for (int which = 0; which < launcher->local_count && status == 0; which++) {
        status = start_rank(launcher, which);
        manager_serve(launcher->manager); /* the first ones join while the last ones start */
    }
    if (status == 0)
        return;
    launcher->has_begun = !launch_is_node(launcher); /* the first launcher is to learn the status */
    launch_ranks_end(launcher, SIGKILL, status);
}

void launch_rank_failed(struct launcher *launcher, const struct launch_failure *failure)
{
    const char *effect = "ending the job";
    const char *on_host = failure->host ? " on host " : "";
    const char *host = failure->host ? failure->host : "";
    int status = failure->status;
    if (launcher->options->survive)
        effect = "the others go on";
    if (failure->signal)
        launch_say(launcher, "rank %d (pid %d%s%s) was killed by signal %d (%s); %s", failure->rank,
                   failure->pid, on_host, host, failure->signal, strsignal(failure->signal),
                   effect);
    else
        launch_say(launcher, "rank %d (pid %d%s%s) ended with status %d; %s", failure->rank,
                   failure->pid, on_host, host, status, effect);
    if (failure->signal)
        status = LAUNCH_STATUS_SIGNAL + failure->signal;
    if (launcher->status == 0)
        launcher->status = status;
    if (!launcher->options->survive)
        launch_ranks_end(launcher, SIGTERM, status);
}

static void notice_rank(struct launcher *launcher, struct launch_rank *one)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)one->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return;
    int status = info.si_code == CLD_EXITED ? info.si_status : 0;
    int signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    one->is_ended = true;
    launcher->live_count--;
    manager_member_ended(launcher->manager, one->rank, status, signal);
    struct launch_failure failure = {
        .rank = one->rank, .pid = one->pid, .status = status, .signal = signal};
    if ((status || signal) && !launcher->is_ending && !launch_is_node(launcher))
        launch_rank_failed(launcher, &failure);
}

void launch_ranks_notice(struct launcher *launcher)
{
    for (int which = 0; which < launcher->started_count; which++) {
        if (!launcher->ranks[which].is_ended)
            notice_rank(launcher, &launcher->ranks[which]);
    }
}

void launch_ranks_signal(struct launcher *launcher, int signal)
{
    /* The whole group, and also that of a rank that has ended but left something running. */
    for (int which = 0; which < launcher->started_count; which++)
        kill(-launcher->ranks[which].pid, signal);
}

void launch_ranks_end(struct launcher *launcher, int signal, int status)
{
    launch_ranks_signal(launcher, signal);
    if (launcher->map && !launch_is_node(launcher))
        manager_others_end(launcher->manager, signal);
    if (launcher->is_ending)
        return;
    launcher->is_ending = true;
    if (launcher->status == 0)
        launcher->status = status;
    int64_t grace_ns = (int64_t)setting_number(launcher->options->settings, SETTING_GRACE);
    launcher->kill_ns = clock_deadline_ns(grace_ns);
    launcher->output_end_ns = clock_deadline_ns(grace_ns + OUTPUT_AFTER_NS);
    launcher->hosts_end_ns = clock_deadline_ns(grace_ns + HOSTS_AFTER_NS);
}

void launch_ranks_reap(struct launcher *launcher)
{
    launch_ranks_signal(launcher, SIGKILL); /* before the reaping: the numbers are still theirs */
    launch_server_stop(launcher);
    launch_guard_stop(&launcher->guard);
    launch_sweep();
    launcher->started_count = 0; /* from here on a signal to one of them would hit a stranger */
}
