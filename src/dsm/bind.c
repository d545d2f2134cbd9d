/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is bound to a variable, and how it travels. The binding is the same on all ranks: who binds
 * holds the variable for writing, so that nobody else uses it, and writes it everywhere.
 */
#include "dsm/check.h"
#include "dsm/reach.h"

#include <string.h>

#define TRIES 16 /* of all that the network loses, while there is time */

static int refuse(rh_dsm_variable variable, const char *why)
{
    return error_fail(RH_EINVALID, "variable %u: %s", variable, why);
}

static int check_held(const struct rh_dsm *dsm, rh_dsm_variable variable, uint64_t holds)
{
    if (variable >= dsm->variable_count)
        return refuse(variable, "there is none with this number");
    if (!(dsm_own_word(dsm, variable) & holds))
        return refuse(variable, "acquire it first, for writing if it is to be changed");
    return 0;
}

/* Length of a region's data, or 0 if it is none. */
static uint64_t region_length(const struct rh_dsm *dsm, const struct rh_dsm_region *region)
{
    uint64_t last = 0, room = dsm->heap_length;
    if (region->offset > room || region->length > room - region->offset)
        return 0;
    room -= region->offset + region->length;
    if (region->block_count > 1) {
        last = region->block_count - 1;
        if (region->stride < region->length || region->stride > room / last)
            return 0;
    }
    return region->length * (last + 1);
}

/* Write the own binding record to all who live. */
static int tell_all(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    uint64_t offset = dsm->bindings_offset + variable * sizeof(*binding);
    int64_t deadline_ns = rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT);
    for (int rank = 0, tries = 0; rank < dsm->size; rank++) {
        if (rank == dsm->rank || dsm_is_gone(dsm, rank))
            continue;
        int result = RH_ETIMEOUT;
        while (result == RH_ETIMEOUT && tries < TRIES &&
               (tries == 0 || rma_left_ns(dsm->job, deadline_ns) > 0)) {
            result = rh_push(dsm->job, rh_at(rank, DSM_SID_CONTROL, offset), binding,
                             sizeof(*binding));
            tries += result == RH_ETIMEOUT;
        }
        if (result < 0 && result != RH_EDEAD)
            return result;
    }
    return 0;
}

static int bind_regions(struct rh_dsm *dsm, rh_dsm_variable variable,
                        const struct rh_dsm_region *regions, size_t count)
{
    struct dsm_binding *binding = &dsm->bindings[variable];
    uint64_t total = 0;
    if (count > RH_DSM_REGIONS_MAX)
        return refuse(variable, "more regions than RH_DSM_REGIONS_MAX");
    for (size_t i = 0; i < count; i++) {
        uint64_t length = region_length(dsm, &regions[i]);
        if (length == 0)
            return error_fail(
                RH_EINVALID,
                "variable %u: region %zu (offset %llu, length %llu) is empty, overlaps "
                "itself or does not lie in the heap of %llu bytes",
                variable, i, (unsigned long long)regions[i].offset,
                (unsigned long long)regions[i].length, (unsigned long long)dsm->heap_length);
        total += length;
    }
    binding->region_count = (uint32_t)count;
    binding->length = total;
    if (count > 0)
        memcpy(binding->region, regions, count * sizeof(*regions));
    int result = dsm_diff_choose(dsm, variable);
    return result < 0 ? result : tell_all(dsm, variable);
}

int rh_dsm_bind(struct rh_dsm *dsm, rh_dsm_variable variable, const struct rh_dsm_region *regions,
                size_t count)
{
    int result = check_held(dsm, variable, WORD_WRITER);
    if (result < 0 || !dsm->check)
        return result < 0 ? result : bind_regions(dsm, variable, regions, count);
    dsm_check_drop(dsm, variable, true);
    result = bind_regions(dsm, variable, regions, count);
    dsm_check_bound(dsm, variable);
    dsm_check_hold(dsm, variable, true);
    return result;
}

int rh_dsm_bound(struct rh_dsm *dsm, rh_dsm_variable variable, struct rh_dsm_region *regions,
                 size_t room)
{
    int result = check_held(dsm, variable, WORD_WRITER | WORD_READERS);
    if (result < 0)
        return result;
    const struct dsm_binding *binding = &dsm->bindings[variable];
    for (uint32_t i = 0; i < binding->region_count && i < room; i++)
        regions[i] = binding->region[i];
    return (int)binding->region_count;
}

int rh_dsm_mode(struct rh_dsm *dsm, rh_dsm_variable variable, unsigned mode)
{
    int result = check_held(dsm, variable, WORD_WRITER);
    if (result < 0)
        return result;
    if ((mode & ~(RH_DSM_PULL | RH_DSM_PUSH | RH_DSM_DIFF)) ||
        (mode & (RH_DSM_PULL | RH_DSM_PUSH)) == (RH_DSM_PULL | RH_DSM_PUSH))
        return refuse(variable, "mode is RH_DSM_AUTO, _PULL or _PUSH, with RH_DSM_DIFF or without");
    dsm->bindings[variable].mode = mode;
    result = dsm_diff_choose(dsm, variable);
    return result < 0 ? result : tell_all(dsm, variable);
}
