/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fault_hold.h. Held operations run under the lock, one after the other: this NIC is for tests,
 * and the order in which they run is the point.
 */
#include "nic/fault/fault_hold.h"

#include "nic/fault/fault_dice.h"

#include "base/assert.h"

#include <stdatomic.h>
#include <string.h>

void fault_hold_init(struct fault_hold *hold, struct nic *inner, uint64_t seed)
{
    memset(hold, 0, sizeof(*hold));
    hold->inner = inner;
    hold->random = seed;
    pthread_mutex_init(&hold->lock, NULL);
}

void fault_hold_destroy(struct fault_hold *hold)
{
    fault_hold_release(hold);
    pthread_mutex_destroy(&hold->lock);
}

static int perform(struct fault_hold *hold, const struct fault_held *held)
{
    const struct nic_ops *ops = hold->inner->ops;
    if (held->store_width > 0)
        return ops->store(hold->inner, &held->view, held->store_offset, held->store_value,
                          held->store_width);
    struct nic_extra extra = {.notice = held->has_notice ? &held->notice : NULL};
    return ops->push(hold->inner, held->target, held->source, held->length, &extra);
}

static void finish(struct fault_hold *hold, const struct fault_held *held, int result)
{
    if (held->done) {
        /* release: pairs with the acquire of whoever sees the flag and reuses the source */
        __atomic_store_n(&held->done->state, result < 0 ? result : 1, __ATOMIC_RELEASE);
    } else if (result < 0 && hold->late_error == 0) {
        hold->late_error = result;
        hold->late_rank = held->target.rank;
    }
}

static void release_one_locked(struct fault_hold *hold)
{
    ASSERT(hold->held_count > 0);
    hold->random = fault_mix(hold->random);
    struct fault_held *chosen = &hold->held[hold->random % hold->held_count];
    finish(hold, chosen, perform(hold, chosen));
    struct fault_held *last = &hold->held[--hold->held_count];
    if (chosen == last)
        return;
    bool has_copy = last->source == last->copy;
    *chosen = *last;
    if (has_copy)
        chosen->source = chosen->copy;
}

static bool fits(const struct fault_held *operation)
{
    bool must_copy = operation->store_width == 0 && !operation->done;
    return !must_copy || operation->length <= RH_INLINE_MAX;
}

bool fault_hold_add(struct fault_hold *hold, const struct fault_held *operation)
{
    if (!fits(operation))
        return false;
    pthread_mutex_lock(&hold->lock);
    bool is_held = hold->waiting_count == 0;
    if (is_held) {
        if (hold->held_count == FAULT_HELD_MAX)
            release_one_locked(hold);
        struct fault_held *held = &hold->held[hold->held_count++];
        *held = *operation;
        if (held->done) {
            __atomic_store_n(&held->done->state, 0, __ATOMIC_RELAXED);
        } else if (held->store_width == 0 && held->length > 0) {
            memcpy(held->copy, operation->source, operation->length);
            held->source = held->copy;
        }
    }
    pthread_mutex_unlock(&hold->lock);
    return is_held;
}

static void release_all_locked(struct fault_hold *hold)
{
    while (hold->held_count > 0)
        release_one_locked(hold);
}

void fault_hold_release(struct fault_hold *hold)
{
    /* relaxed: what this thread held it sees; what another holds it need not let go */
    if (atomic_load_explicit(&hold->held_count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&hold->lock);
    release_all_locked(hold);
    pthread_mutex_unlock(&hold->lock);
}

void fault_hold_wait_begin(struct fault_hold *hold)
{
    pthread_mutex_lock(&hold->lock);
    hold->waiting_count++;
    release_all_locked(hold);
    pthread_mutex_unlock(&hold->lock);
}

void fault_hold_wait_end(struct fault_hold *hold)
{
    pthread_mutex_lock(&hold->lock);
    ASSERT(hold->waiting_count > 0);
    hold->waiting_count--;
    pthread_mutex_unlock(&hold->lock);
}

int fault_hold_late_error(struct fault_hold *hold, int rank)
{
    pthread_mutex_lock(&hold->lock);
    int error = 0;
    if (rank == RH_ANY_RANK || rank == hold->late_rank) {
        error = hold->late_error;
        hold->late_error = 0;
    }
    pthread_mutex_unlock(&hold->lock);
    return error;
}
