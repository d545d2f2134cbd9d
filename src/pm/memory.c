/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PM's remote memory: registrations are segments under numbers of PM's own, and a context has a set
 * of done flags for the writes and reads that are under way.
 */
#include "pm/context.h"

#include <stdlib.h>

struct pm_registration {
    struct pm_registration *next;
    rh_sid sid;
};

int pmRegisterMemory(struct pm_context *pm, void *base, size_t length, struct pm_memory *memory)
{
    struct pm_registration *made = malloc(sizeof(*made));
    if (!made)
        return pm_fail(RH_ENOSPACE, "no memory for a registration");
    int result = RH_EEXIST;
    for (uint32_t i = 0; i < PM_MEMORY_COUNT && result == RH_EEXIST; i++) {
        made->sid = PM_SID_MEMORY + pm->registration_next++ % PM_MEMORY_COUNT;
        result = pm_pass(rh_segment_attach(pm->job, made->sid, base, length));
    }
    if (result < 0) {
        free(made);
        return result == RH_EEXIST
                   ? pm_fail(RH_ENOSPACE, "%u pieces of memory are registered", PM_MEMORY_COUNT)
                   : result;
    }
    made->next = pm->registrations;
    pm->registrations = made;
    *memory = (struct pm_memory){.rank = rh_rank(pm->job), .key = made->sid, .length = length};
    return 0;
}

int pmUnregisterMemory(struct pm_context *pm, const struct pm_memory *memory)
{
    for (struct pm_registration **at = &pm->registrations; *at; at = &(*at)->next) {
        struct pm_registration *found = *at;
        if (found->sid != memory->key || memory->rank != rh_rank(pm->job))
            continue;
        *at = found->next;
        free(found);
        return pm_pass(rh_segment_detach(pm->job, memory->key));
    }
    return pm_fail(RH_EINVALID, "memory %#x of rank %d is not registered here", memory->key,
                   memory->rank);
}

/* ---- Writes and reads ----------------------------------------------------------------------- */

/* A free done flag, or NULL. Complete ones stay taken until a test or wait, which alone may tell
 * the program of their errors. */
static struct rh_done *done_take(struct pm_context *pm, int *index)
{
    if (~pm->under_way == 0)
        return NULL;
    *index = __builtin_ctzll(~pm->under_way);
    return &pm->done[*index];
}

static int check_place(const struct pm_context *pm, const struct pm_place *place)
{
    uint32_t number = place->memory.key - PM_SID_MEMORY;
    if (place->memory.rank < 0 || place->memory.rank >= rh_size(pm->job) ||
        number >= PM_MEMORY_COUNT)
        return pm_fail(RH_EINVALID, "(rank %d, key %#x) was not made by pmRegisterMemory()",
                       place->memory.rank, place->memory.key);
    return 0;
}

static int too_many(void)
{
    return pm_fail(RH_EAGAIN, "%d writes and reads are under way: pmTestDone() or pmWaitDone()",
                   PM_UNDER_WAY_MAX);
}

int pmWrite(struct pm_context *pm, const struct pm_place *target, const void *source, size_t length)
{
    int index;
    int result = check_place(pm, target);
    if (result < 0)
        return result;
    struct rh_done *done = done_take(pm, &index);
    if (!done)
        return too_many();
    struct rh_remote remote = rh_at(target->memory.rank, target->memory.key, target->offset);
    result = pm_pass(rh_push_start(pm->job, remote, source, length, done));
    if (result == 0)
        pm->under_way |= 1ULL << index;
    return result;
}

int pmRead(struct pm_context *pm, const struct pm_place *source, void *target, size_t length)
{
    int index;
    int result = check_place(pm, source);
    if (result < 0)
        return result;
    struct rh_done *done = done_take(pm, &index);
    if (!done)
        return too_many();
    struct rh_remote remote = rh_at(source->memory.rank, source->memory.key, source->offset);
    result = pm_pass(rh_pull_start(pm->job, remote, target, length, done));
    if (result == 0)
        pm->under_way |= 1ULL << index;
    return result;
}

static bool have_ended(void *context)
{
    const struct pm_context *pm = context;
    for (uint64_t left = pm->under_way; left != 0; left &= left - 1) {
        if (__atomic_load_n(&pm->done[__builtin_ctzll(left)].state, __ATOMIC_ACQUIRE) == 0)
            return false;
    }
    return true;
}

/* All have ended: forget them, and report the first error. */
static int collect(struct pm_context *pm)
{
    int first_error = 0;
    for (uint64_t left = pm->under_way; left != 0; left &= left - 1) {
        int64_t state = pm->done[__builtin_ctzll(left)].state;
        if (state < 0 && first_error == 0)
            first_error = (int)state;
    }
    pm->under_way = 0;
    if (first_error < 0)
        return pm_fail(first_error, "a write or read failed: %s", rh_error_name(first_error));
    return 0;
}

int pmWaitDone(struct pm_context *pm, int64_t timeout_ns)
{
    if (!have_ended(pm)) {
        struct rh_until until = {
            .is_met = have_ended, .context = pm, .from = RH_ANY_RANK, .timeout_ns = timeout_ns};
        int result = rh_wait_until(pm->job, &until);
        if (result < 0)
            return pm_pass(result);
    }
    return collect(pm);
}

int pmTestDone(struct pm_context *pm)
{
    return pmWaitDone(pm, RH_TIMEOUT_NONE);
}

int pm_memory_close(struct pm_context *pm)
{
    int first_error = pmWaitDone(pm, RH_TIMEOUT_DEFAULT);
    while (pm->registrations) {
        struct pm_memory memory = {.rank = rh_rank(pm->job), .key = pm->registrations->sid};
        int result = pmUnregisterMemory(pm, &memory);
        if (first_error == 0)
            first_error = result;
    }
    return first_error;
}
