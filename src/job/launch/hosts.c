/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the other hosts have told our task manager, and what the launcher does about it. The first
 * launcher speaks and decides; those of the other hosts obey, and end by themselves only when they
 * have lost it.
 */
#include "base/clock.h"
#include "job/launch/parts.h"

#include <string.h>

static void all_are_there(struct launcher *launcher)
{
    if (launcher->is_ending)
        return;
    launcher->has_begun = true;
    launch_ranks_start(launcher);
    if (launcher->is_ending && launch_is_node(launcher))
        launcher->has_begun = false; /* so that the first launcher learns why we leave */
}

static void settle(struct launcher *launcher, int node)
{
    struct launch_shell *shell = launch_shell_of(launcher, node);
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
    struct launch_shell *shell = launch_shell_of(launcher, event->node);
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

static void serve(struct launcher *launcher, const struct manager_event *event)
{
    switch (event->kind) {
    case MANAGER_READY:
        all_are_there(launcher);
        break;
    case MANAGER_RANK_ENDED:
        rank_ended(launcher, event);
        break;
    case MANAGER_HOST_DONE:
        host_done(launcher, event);
        break;
    case MANAGER_HOST_LOST:
        host_lost(launcher, event);
        break;
    case MANAGER_CUT:
        if (!launcher->is_ending)
            launch_say(launcher, "%s; ending %s", event->text,
                       launch_is_node(launcher) ? "the ranks of this host" : "the job");
        launch_ranks_end(launcher, SIGKILL, LAUNCH_STATUS_FAILED);
        break;
    case MANAGER_END:
        launch_ranks_end(launcher, event->signal, 0);
        break;
    case MANAGER_PAUSE:
        launch_ranks_signal(launcher, SIGSTOP);
        break;
    case MANAGER_RESUME:
        launch_ranks_signal(launcher, SIGCONT);
        break;
    }
}

void launch_hosts_serve(struct launcher *launcher)
{
    struct manager_event event;
    while (launcher->map && manager_next_event(launcher->manager, &event))
        serve(launcher, &event);
}
