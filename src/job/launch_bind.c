/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which core a rank gets: only those that we may use ourselves, so that taskset, cgroups and batch
 * systems keep their say.
 */
#include "base/cores.h"
#include "job/launch_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int launch_cores_find(struct launch_cores *cores)
{
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
    return 0;
}

void launch_cores_free(struct launch_cores *cores)
{
    free(cores->core);
    cores->core = NULL;
    cores->core_count = 0;
}

void launch_core_bind(int core)
{
    struct core_set set;
    memset(&set, 0, sizeof(set));
    CPU_SET_S((size_t)core, sizeof(set), set.part);
    sched_setaffinity(0, sizeof(set), set.part); /* a wish: a core may have gone */
}
