/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See policy.h.
 */
#include "cache/store/policy.h"

#include <errno.h>
#include <stdlib.h>

#define WHOLE       1000000 /* ratios are in millionths: many small pulls add up */
#define RATIO_START (WHOLE / 2)
#define RATIO_MIN   (WHOLE / 20)
#define RATIO_MAX   (WHOLE / 20 * 19)
#define GAIN        4 /* returns of a quarter of all bytes move the ratio from end to end */
#define SMOOTHING   8

int policy_open(struct policy *policy, const struct policy_options *options)
{
    double ratio = options->ratio;
    *policy = (struct policy){
        .fixed = ratio, .bytes = options->bytes, .node_count = options->node_count};
    policy->ghost_count = 1;
    while (policy->ghost_count < options->slot_count)
        policy->ghost_count *= 2;
    policy->ghosts = calloc(policy->ghost_count, sizeof(*policy->ghosts));
    policy->ratio = ratio < 0 ? RATIO_START : (uint32_t)(ratio * WHOLE + 0.5);
    return policy->ghosts ? 0 : -ENOMEM;
}

void policy_close(struct policy *policy)
{
    free((void *)policy->ghosts);
}

uint64_t policy_singlets_max(const struct policy *policy)
{
    double ratio = atomic_load_explicit(&policy->ratio, memory_order_relaxed);
    return (uint64_t)(ratio / WHOLE * (double)policy->bytes);
}

static _Atomic uint64_t *ghost_of(struct policy *policy, const uint64_t id[2])
{
    return &policy->ghosts[(id[0] >> 1) & (policy->ghost_count - 1)];
}

void policy_gave_up(struct policy *policy, const uint64_t id[2], bool was_last)
{
    if (policy->fixed < 0)
        atomic_store_explicit(ghost_of(policy, id), (id[1] & ~1ull) | was_last,
                              memory_order_relaxed);
}

static void smooth(_Atomic uint64_t *average, int64_t time_ns)
{
    uint64_t before = atomic_load_explicit(average, memory_order_relaxed);
    uint64_t now = before == 0 ? (uint64_t)time_ns
                               : before - before / SMOOTHING + (uint64_t)time_ns / SMOOTHING;
    atomic_store_explicit(average, now > 0 ? now : 1, memory_order_relaxed);
}

/* One step for each return, as long as the block, and as what it costs compared with the other
 * kind. */
static void pull(struct policy *policy, const struct policy_arrival *arrival)
{
    double load = (double)policy->load_ns * policy->node_count;
    double fetch = (double)policy->fetch_ns;
    if (load + fetch <= 0)
        return;
    double share = (arrival->was_loaded ? load : -fetch) / (load + fetch);
    double gain = GAIN * (double)arrival->length;
    double now = (double)policy->ratio + share * WHOLE * gain / ((double)policy->bytes + gain);
    if (now > RATIO_MAX)
        now = RATIO_MAX;
    if (now < RATIO_MIN)
        now = RATIO_MIN;
    atomic_store_explicit(&policy->ratio, (uint32_t)now, memory_order_relaxed);
}

void policy_brought(struct policy *policy, const struct policy_arrival *arrival)
{
    smooth(arrival->was_loaded ? &policy->load_ns : &policy->fetch_ns, arrival->time_ns);
    if (policy->fixed >= 0)
        return;
    _Atomic uint64_t *ghost = ghost_of(policy, arrival->id);
    uint64_t name = atomic_load_explicit(ghost, memory_order_relaxed);
    if (((name ^ arrival->id[1]) & ~1ull) != 0 || name == 0)
        return;
    atomic_store_explicit(ghost, 0, memory_order_relaxed);
    /* What decides is what it cost to come back, not what we thought when it left. */
    pull(policy, arrival);
}
