/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See keeper.h.
 *
 * It is the agent, not this process, that is the rank of the job: the task manager notices its end
 * by the connection that only the agent holds, and the other nodes stop counting on it.
 */
#include "cache/agent/keeper_parts.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/settings.h"
#include "cache/agent/keeper.h"
#include "cache/agent/setup.h"
#include "cache/raw.h"
#include "job/job_layer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define START_NS (120 * NS_PER_S)
#define LOOK_NS  (50 * NS_PER_MS)

int keeper_set_up(struct keeper *keeper, const struct settings *settings)
{
    *keeper = (struct keeper){0};
    int result = setup_agent(&keeper->agent, settings);
    if (result == 0)
        keeper->request_count = keeper->agent.control->shape.request_count;
    return result;
}

void keeper_preload(const char *preload)
{
    const char *before = getenv("LD_PRELOAD");
    char *both = NULL;
    if (!before || !before[0])
        setenv("LD_PRELOAD", preload, 1);
    else if (asprintf(&both, "%s:%s", preload, before) >= 0)
        setenv("LD_PRELOAD", both, 1);
    free(both);
}

/* ---- Processes ------------------------------------------------------------------------------ */

int keeper_agent_start(struct keeper *keeper, const struct settings *settings)
{
    int parent = getpid();
    fflush(NULL);
    int pid = fork();
    if (pid < 0)
        return error_fail(RH_ENOSPACE, "cannot start the cache's agent: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "rhinet-cache");
        if (getppid() != parent)
            _exit(1);
        _exit(agent_run(&keeper->agent) < 0 ? 1 : 0);
    }
    keeper->agent_pid = pid;
    int manager_fd = (int)setting_number(settings, SETTING_MANAGER_FD);
    if (manager_fd > 2)
        close(manager_fd); /* the agent's alone */
    return 0;
}

void keeper_agent_gone(struct keeper *keeper)
{
    struct cache_control *control = keeper->agent.control;
    keeper->agent_pid = 0;
    atomic_store_explicit(&control->agent_state, CACHE_AGENT_GONE, memory_order_relaxed);
    atomic_store_explicit(&keeper->agent.card->agent_state, CACHE_AGENT_GONE, memory_order_release);
    for (uint32_t i = 0; i < keeper->request_count; i++)
        raw_futex_wake(&control->request[i].stage, INT32_MAX);
}

/* Take note of a child that has ended. */
static void note_end(struct keeper *keeper, int pid, int status)
{
    if (pid == keeper->program_pid) {
        keeper->program_pid = 0;
        keeper->status = status;
    }
    if (pid != keeper->agent_pid)
        return;
    keeper_agent_gone(keeper);
    if (WIFSIGNALED(status) && keeper->program_pid)
        fprintf(stderr,
                "rhinet cache: the agent of node %d was killed by signal %d; its program goes on "
                "with the file system alone\n",
                keeper->rank, WTERMSIG(status));
}

static void await_agent(struct keeper *keeper)
{
    struct cache_card *card = keeper->agent.card;
    int64_t deadline = clock_deadline_ns(START_NS);
    int status;
    while (keeper->agent_pid && clock_now_ns() < deadline) {
        uint32_t state = atomic_load_explicit(&card->agent_state, memory_order_acquire);
        if (state != CACHE_AGENT_STARTING)
            return;
        raw_futex_wait(&card->agent_state, state, LOOK_NS);
        int pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0)
            note_end(keeper, pid, status);
    }
}

static int start_program(struct keeper *keeper, char *const *argv, const char *preload)
{
    int pid = fork();
    if (pid < 0)
        return error_fail(RH_ENOSPACE, "cannot start %s: %s", argv[0], strerror(errno));
    if (pid > 0) {
        keeper->program_pid = pid;
        return 0;
    }
    unsetenv("RHINET_MANAGER_FD");
    if (keeper->agent_pid) {
        setenv(CACHE_SOCKET_VARIABLE, keeper->agent.socket_name, 1);
        if (preload)
            keeper_preload(preload);
    }
    execvp(argv[0], argv);
    fprintf(stderr, "rhinet cache: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void await_children(struct keeper *keeper)
{
    struct cache_card *card = keeper->agent.card;
    int status;
    while (keeper->program_pid || keeper->agent_pid) {
        int pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno != EINTR)
            return;
        if (pid > 0)
            note_end(keeper, pid, status);
        if (keeper->program_pid || !keeper->agent_pid)
            continue;
        if (keeper->status != 0) { /* a failed program's node does not stay for the others */
            kill(keeper->agent_pid, SIGKILL);
            continue;
        }
        atomic_store_explicit(&card->stop, CACHE_STOP_DONE, memory_order_release);
    }
}

static int finish(const struct keeper *keeper)
{
    if (WIFSIGNALED(keeper->status)) {
        signal(WTERMSIG(keeper->status), SIG_DFL);
        raise(WTERMSIG(keeper->status));
        return 128 + WTERMSIG(keeper->status);
    }
    return WEXITSTATUS(keeper->status);
}

static void copy_totals(const struct cache_control *control, struct keeper_totals *totals)
{
    /* acquire: with the release in lifetime.c */
    totals->is_known = atomic_load_explicit(&control->has_totals, memory_order_acquire) != 0;
    for (int i = 0; i < CACHE_TOTAL_COUNT; i++)
        totals->value[i] = atomic_load_explicit(&control->totals[i], memory_order_relaxed);
}

int keeper_run(char *const *argv, const char *preload, const struct settings *settings,
               struct keeper_totals *totals)
{
    *totals = (struct keeper_totals){0};
    struct keeper keeper;
    int result = keeper_set_up(&keeper, settings);
    if (result == 0) {
        snprintf(keeper.agent.control->program, sizeof(keeper.agent.control->program), "%s",
                 argv[0]);
        result = keeper_agent_start(&keeper, settings);
    }
    if (result == 0) {
        await_agent(&keeper);
        keeper.rank = keeper.agent.control->rank; /* as long as nobody else can write it */
        result = start_program(&keeper, argv, preload);
    }
    if (result < 0) {
        fprintf(stderr, "rhinet cache: %s\n", rh_error_text());
        return 1;
    }
    await_children(&keeper);
    copy_totals(keeper.agent.control, totals);
    return finish(&keeper);
}
