/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cores.h.
 */
#include "base/cores.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int cores_of(int pid, struct core_set *set)
{
    memset(set, 0, sizeof(*set));
    return sched_getaffinity(pid, sizeof(*set), set->part) == 0 ? 0 : -errno;
}

/* "max 100000" and "-1" are no quota. */
static void shrink_to_group(void *context, const struct control_group *group)
{
    unsigned *cores = context;
    char quota_text[64];
    char period_text[64];
    if (!control_group_text(group, group->is_v2 ? "cpu.max" : "cpu.cfs_quota_us", quota_text,
                            sizeof(quota_text)))
        return;
    char *end;
    long long quota = strtoll(quota_text, &end, 10);
    if (end == quota_text || quota <= 0)
        return;
    if (!group->is_v2)
        control_group_text(group, "cpu.cfs_period_us", end = period_text, sizeof(period_text));
    long long period = strtoll(end, NULL, 10);
    if (period <= 0)
        return;
    long long left = quota / period + (quota % period != 0);
    if (left < *cores)
        *cores = (unsigned)left;
}

unsigned cores_of_quota(const struct control_group_tree *tree)
{
    unsigned cores = UINT_MAX;
    control_group_walk(tree, "cpu", shrink_to_group, &cores);
    return cores;
}

unsigned cores_allowed(void)
{
    struct core_set set;
    int count = cores_of(0, &set) == 0 ? CPU_COUNT_S(sizeof(set), set.part) : 1;
    unsigned quota = cores_of_quota(&control_group_tree);
    unsigned cores = count > 0 ? (unsigned)count : 1;
    return quota < cores ? quota : cores;
}
