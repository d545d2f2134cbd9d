/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which core a rank gets: only those that we may use ourselves, so that taskset, cgroups and batch
 * systems keep their say.
 */
#include "base/cores.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bound ranks do not wander, and none shares a core while another is idle; but one core is too
 * little for a program that is alone and may have threads, and a wrong choice for ranks that the
 * quota of a control group lets run in turn only. */
static bool has_core_for_each(int rank_count)
{
    return rank_count > 1 && cores_allowed() >= (unsigned)rank_count;
}

int launch_cores_find(struct launch_cores *cores, enum launch_bind bind, int rank_count)
{
    if (bind == LAUNCH_BIND_NONE || (bind == LAUNCH_BIND_AUTO && !has_core_for_each(rank_count)))
        return 0;
    struct core_set set;
    int result = cores_of(0, &set);
    if (result < 0)
        return result;
    int count = CPU_COUNT_S(sizeof(set), set.part);
    cores->core = calloc((size_t)count, sizeof(cores->core[0]));
    if (!cores->core)
        return -ENOMEM;
    for (int core = 0; core < CORES_MAX; core++) {
        if (CPU_ISSET_S((size_t)core, sizeof(set), set.part))
            cores->core[cores->core_count++] = core;
    }
    /* Jobs that run side by side should not all take the same ones. */
    if (bind == LAUNCH_BIND_AUTO)
        cores->first = (int)((unsigned)getpid() * (unsigned)rank_count % (unsigned)count);
    return 0;
}

void launch_cores_free(struct launch_cores *cores)
{
    free(cores->core);
    cores->core = NULL;
    cores->core_count = 0;
}

int launch_core_of(const struct launch_cores *cores, int which)
{
    return cores->core_count > 0 ? cores->core[(cores->first + which) % cores->core_count] : -1;
}

void launch_core_bind(int core)
{
    struct core_set set;
    memset(&set, 0, sizeof(set));
    CPU_SET_S((size_t)core, sizeof(set), set.part);
    sched_setaffinity(0, sizeof(set), set.part); /* a wish: a core may have gone */
}
