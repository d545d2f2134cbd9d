/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writers that have ended, or end with their process, until all nodes are told. They are told late:
 * when the file has settled. Until then everybody reads it from the kernel, as every file that has
 * just changed; so it does no harm that a host hears of a file's new status a little later.
 *
 * What is forgotten here (no room, the agent dies) leaves its file uncached until the job ends.
 */
#include "base/clock.h"
#include "base/log.h"
#include "cache/agent/agent.h"

#include <errno.h>
#include <signal.h>

#define LOOK_NS   (20 * NS_PER_MS)
#define BATCH_MAX 64

int agent_ending_add(struct agent *agent, uint32_t watch, int pid)
{
    int result = 0;
    pthread_mutex_lock(&agent->ending_lock);
    if (agent->ending_count < AGENT_ENDINGS_MAX)
        agent->endings[agent->ending_count++] = (struct agent_ending){
            .watch = watch, .pid = pid, .due_ns = clock_deadline_ns(agent->settle_ns)};
    else
        result = -ENOSPC;
    pthread_mutex_unlock(&agent->ending_lock);
    if (result < 0)
        log_warning("cache: more than %d files that have just been written; some stay uncached",
                    AGENT_ENDINGS_MAX);
    return result;
}

/* A process that is gone has closed its files. One that has the number of another is waited for. */
static bool is_due(const struct agent *agent, struct agent_ending *ending, int64_t now_ns)
{
    if (ending->pid > 0 && kill(ending->pid, 0) < 0 && errno == ESRCH) {
        ending->pid = 0;
        ending->due_ns = now_ns + agent->settle_ns;
    }
    return ending->pid == 0 && now_ns >= ending->due_ns;
}

static uint32_t take_due(struct agent *agent, uint32_t *watches)
{
    int64_t now_ns = clock_now_ns();
    uint32_t count = 0;
    pthread_mutex_lock(&agent->ending_lock);
    for (uint32_t i = 0; i < agent->ending_count && count < BATCH_MAX;) {
        if (!is_due(agent, &agent->endings[i], now_ns)) {
            i++;
            continue;
        }
        watches[count++] = agent->endings[i].watch;
        agent->endings[i] = agent->endings[--agent->ending_count];
    }
    pthread_mutex_unlock(&agent->ending_lock);
    return count;
}

void agent_endings_tell(struct agent *agent)
{
    uint32_t watches[BATCH_MAX];
    int64_t now_ns = clock_now_ns(), next_ns = atomic_load(&agent->endings_next_ns);
    if (now_ns < next_ns ||
        !atomic_compare_exchange_strong(&agent->endings_next_ns, &next_ns, now_ns + LOOK_NS))
        return; /* another thread looks */
    uint32_t count = take_due(agent, watches);
    for (uint32_t i = 0; i < count; i++)
        (void)node_watch_tell(&agent->node, watches[i], CACHE_WATCH_CHANGE - CACHE_WATCH_WRITER);
}
