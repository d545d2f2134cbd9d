/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See turn.h.
 */
#include "base/turn.h"

#include "base/fence.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

void turn_init(struct turn *turn)
{
    *turn = (struct turn){.owner = guard_mine ? guard_mine : guard_register()};
    /* Without membarrier it is a plain lock; the sanitizer does not know membarrier either. */
    if (HAS_THREAD_SANITIZER ||
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        atomic_store(&turn->stage, TURN_SHARED);
}

static void make_shared(struct turn *turn)
{
    int stage = TURN_OWNED;
    if (atomic_compare_exchange_strong(&turn->stage, &stage, TURN_CHANGING)) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        while (atomic_load_explicit(&turn->is_inside, memory_order_acquire))
            sched_yield();
        atomic_store(&turn->stage, TURN_SHARED);
        return;
    }
    while (atomic_load_explicit(&turn->stage, memory_order_acquire) != TURN_SHARED)
        sched_yield();
}

void turn_take_shared(struct turn *turn)
{
    if (atomic_load_explicit(&turn->stage, memory_order_acquire) != TURN_SHARED)
        make_shared(turn);
    while (atomic_exchange_explicit(&turn->is_taken, true, memory_order_acquire))
        sched_yield(); /* held for the length of one call, never while waiting */
}
