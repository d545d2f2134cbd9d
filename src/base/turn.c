/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See turn.h.
 */
#include "base/turn.h"

#include "base/fence.h"
#include "base/rest.h"

#include <linux/membarrier.h>
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
    struct rest rest = {0};
    if (atomic_compare_exchange_strong(&turn->stage, &stage, TURN_CHANGING)) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        while (atomic_load_explicit(&turn->is_inside, memory_order_acquire))
            rest_once(&rest);
        atomic_store(&turn->stage, TURN_SHARED);
        return;
    }
    while (atomic_load_explicit(&turn->stage, memory_order_acquire) != TURN_SHARED)
        rest_once(&rest);
}

void turn_take_shared(struct turn *turn)
{
    struct rest rest = {0};
    if (atomic_load_explicit(&turn->stage, memory_order_acquire) != TURN_SHARED)
        make_shared(turn);
    while (atomic_exchange_explicit(&turn->is_taken, true, memory_order_acquire))
        rest_once(&rest); /* held for the length of one call, never while waiting */
}
