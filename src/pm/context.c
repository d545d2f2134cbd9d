/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts: open and close, and which implementation.
 */
#include "pm/context.h"

#include <stdlib.h>
#include <string.h>

static const struct pm_ops *const implementations[] = {&pm_auto_ops, &pm_ring_ops, &pm_queue_ops};
#define IMPLEMENTATION_COUNT (sizeof(implementations) / sizeof(implementations[0]))

const char *const *pmGetImplementations(void)
{
    static const char *const names[] = {"pm-auto", "pm-ring", "pm-queue", NULL};
    return names;
}

/* The table of settings has RHINET_PM, so rh_join() has refused a bad value; but a library that
 * sees only the public headers has to read it by itself. */
static const char *wanted_name(const struct pm_options *options)
{
    const char *name = options ? options->implementation : NULL;
    if (!name)
        name = secure_getenv("RHINET_PM");
    return name && *name ? name : implementations[0]->name;
}

static const struct pm_ops *find(const char *name)
{
    for (size_t i = 0; i < IMPLEMENTATION_COUNT; i++) {
        if (strcmp(implementations[i]->name, name) == 0)
            return implementations[i];
    }
    return NULL;
}

static int check_options(const struct pm_options *options)
{
    if (!options)
        return 0;
    if (options->struct_size && options->struct_size < sizeof(*options))
        return pm_fail(RH_EINVALID, "set options.struct_size to sizeof(struct pm_options)");
    if (options->flags & ~(PM_SPLIT_PUSHES | PM_SEND_ONLY))
        return pm_fail(RH_EINVALID, "flags %#x; combine PM_SPLIT_PUSHES and PM_SEND_ONLY",
                       options->flags);
    return 0;
}

int pmOpenContext(struct pm_context **pm, struct rh_job *job, const struct pm_options *options)
{
    int result = check_options(options);
    if (result < 0)
        return result;
    const char *name = wanted_name(options);
    const struct pm_ops *ops = find(name);
    if (!ops)
        return pm_fail(RH_EINVALID, "\"%s\" is no implementation: pm-auto, pm-ring, pm-queue",
                       name);
    unsigned flags = options ? options->flags : 0;
    if ((flags & PM_SPLIT_PUSHES) && !ops->splits_pushes)
        return pm_fail(RH_EINVALID, "PM_SPLIT_PUSHES is for pm-ring, not %s", name);
    struct pm_context *made = NULL;
    if (posix_memalign((void **)&made, PM_CACHE_LINE, sizeof(*made)) != 0)
        return pm_fail(RH_ENOSPACE, "no memory for a context");
    memset(made, 0, sizeof(*made));
    made->ops = ops;
    made->job = job;
    made->flags = flags;
    made->info.implementation = ops->name;
    made->info.message_max = ops->message_max;
    result = ops->open(made);
    if (result < 0) {
        free(made);
        return result;
    }
    made->info.memory += sizeof(*made);
    *pm = made;
    return 0;
}

int pmCloseContext(struct pm_context *pm)
{
    int result = pm_memory_close(pm);
    int closed = pm->ops->close(pm);
    if (pm->under_way == 0) /* else the network will still write done flags here: lost, not freed */
        free(pm);
    return result < 0 ? result : closed;
}

int pmGetInfo(const struct pm_context *pm, struct pm_info *info)
{
    if (info->struct_size < sizeof(*info))
        return pm_fail(RH_EINVALID, "set info.struct_size to sizeof(struct pm_info)");
    *info = pm->info;
    info->struct_size = sizeof(*info);
    return 0;
}

/* A segment that is stale was closed with an earlier context: the next is not open yet. */
int pm_peer_reach(struct pm_context *pm, int rank, rh_sid sid)
{
    int result = rh_segment_wait(pm->job, rank, sid, RH_TIMEOUT_NONE);
    return result == RH_ETIMEOUT ? RH_EAGAIN : pm_pass(result);
}

uint64_t pm_queue_memory(struct rh_queue_shape shape)
{
    uint64_t lines = (shape.slot_length + PM_CACHE_LINE - 1) / PM_CACHE_LINE + 1;
    return shape.slot_count * lines * PM_CACHE_LINE;
}
