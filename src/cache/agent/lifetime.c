/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When an agent ends. That of a program: when the programs of all nodes have ended. That of a
 * service: when any node is told so, or when no node has been used for a while.
 *
 * A node is in use while a process lives that has attached, and while anything is counted: children
 * of such a process have not attached themselves.
 */
#include "base/clock.h"
#include "cache/agent/agent.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_PART   8 /* of the idle time passes between two looks */
#define LOOK_MAX_NS (5 * NS_PER_S)
#define STOP_NS     (10 * NS_PER_S) /* others that do not answer are not waited for */

/* ---- Users ---------------------------------------------------------------------------------- */

static void forget_ended(struct agent *agent)
{
    int kept = 0;
    for (int i = 0; i < agent->user_count; i++) {
        struct pollfd end = {.fd = agent->user_fds[i], .events = POLLIN};
        if (poll(&end, 1, 0) == 1)
            close(agent->user_fds[i]);
        else
            agent->user_fds[kept++] = agent->user_fds[i];
    }
    agent->user_count = kept;
}

void agent_user_add(struct agent *agent, int pid)
{
    if (!agent->is_service || agent->idle_ns == 0)
        return; /* it ends when told, and nobody asks who is there */
    agent->active_ns = clock_now_ns();
    agent->look_ns = 0; /* the others may believe that we are idle */
    if (agent->user_count == AGENT_USERS_MAX)
        forget_ended(agent);
    if (pid <= 0 || agent->user_count == AGENT_USERS_MAX)
        return; /* that it is at work is seen by what it counts */
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) /* no descriptor is left: those of the dead are */
        forget_ended(agent);
    else
        agent->user_fds[agent->user_count++] = fd;
}

void agent_users_forget(struct agent *agent)
{
    while (agent->user_count > 0)
        close(agent->user_fds[--agent->user_count]);
}

/* ---- Idle ----------------------------------------------------------------------------------- */

static bool is_idle(struct agent *agent)
{
    uint64_t values[CACHE_COUNTER_COUNT], sum = 0;
    int64_t now_ns = clock_now_ns();
    cache_counters_sum(agent->control, values);
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        sum += values[i];
    forget_ended(agent);
    if (sum != agent->activity || agent->user_count > 0)
        agent->active_ns = now_ns;
    agent->activity = sum;
    return now_ns - agent->active_ns >= agent->idle_ns;
}

/* What becomes of a service that nobody has told to stop yet. */
static void look_at_use(struct agent *agent)
{
    struct directory *directory = &agent->node.directory;
    int64_t now_ns = clock_now_ns();
    if (directory_any_says(directory, DIRECTORY_STOP)) {
        atomic_store_explicit(&agent->card->stop, CACHE_STOP_ALL, memory_order_relaxed);
        return;
    }
    if (agent->idle_ns == 0 || now_ns < agent->look_ns)
        return;
    int64_t pause_ns = agent->idle_ns / LOOK_PART;
    agent->look_ns = now_ns + (pause_ns < LOOK_MAX_NS ? pause_ns : LOOK_MAX_NS);
    bool is_said = directory_say(directory, is_idle(agent) ? DIRECTORY_IDLE : DIRECTORY_BUSY);
    if (is_said && directory_all_say(directory, DIRECTORY_IDLE))
        atomic_store_explicit(&agent->card->stop, CACHE_STOP_ALL, memory_order_relaxed);
}

/* Our program has ended: what it has read is told before that is. */
static bool is_done(struct agent *agent)
{
    static const enum cache_counter counters[CACHE_TOTAL_COUNT] = {
        [CACHE_TOTAL_SERVED] = CACHE_LOCAL_BYTES,
        [CACHE_TOTAL_REMOTE] = CACHE_REMOTE_BYTES,
        [CACHE_TOTAL_LOADED] = CACHE_LOAD_BYTES,
        [CACHE_TOTAL_FALLBACK] = CACHE_FALLBACK_BYTES,
        [CACHE_TOTAL_NEW] = CACHE_BYPASS_NEW,
        [CACHE_TOTAL_WRITTEN] = CACHE_BYPASS_WRITTEN,
        [CACHE_TOTAL_MAPPED] = CACHE_BYPASS_MAPPED,
        [CACHE_TOTAL_MAPPED_BYTES] = CACHE_BYPASS_MAPPED_BYTES,
    };
    struct directory *directory = &agent->node.directory;
    uint64_t values[CACHE_COUNTER_COUNT], totals[CACHE_TOTAL_COUNT];
    cache_counters_sum(agent->control, values);
    for (int i = 0; i < CACHE_TOTAL_COUNT; i++)
        totals[i] = values[counters[i]];
    if (directory->said != DIRECTORY_DONE && !directory_totals_tell(directory, totals))
        return false;
    if (!directory_say(directory, DIRECTORY_DONE) || !directory_all_say(directory, DIRECTORY_DONE))
        return false;
    directory_totals_sum(directory, totals);
    for (int i = 0; i < CACHE_TOTAL_COUNT; i++)
        atomic_store_explicit(&agent->control->totals[i], totals[i], memory_order_relaxed);
    /* release: whoever finds it finds the totals */
    atomic_store_explicit(&agent->control->has_totals, directory->rank == 0, memory_order_release);
    return true;
}

bool agent_is_over(struct agent *agent)
{
    struct directory *directory = &agent->node.directory;
    uint32_t stop = atomic_load_explicit(&agent->card->stop, memory_order_acquire);
    if (stop == CACHE_STOP_NOT && agent->is_service)
        look_at_use(agent);
    if (stop == CACHE_STOP_NOT || stop == CACHE_STOP_NOW)
        return stop == CACHE_STOP_NOW;
    if (stop == CACHE_STOP_DONE)
        return is_done(agent);
    if (agent->stop_ns == 0)
        agent->stop_ns = clock_deadline_ns(STOP_NS);
    bool is_said = directory_say(directory, DIRECTORY_STOP);
    if (is_said && directory_all_say(directory, DIRECTORY_STOP))
        return true;
    return clock_now_ns() >= agent->stop_ns;
}
