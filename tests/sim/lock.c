/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lock.h.
 */
#include "lock.h"

static int ask(const struct process_lock *lock, enum chip_lock operation)
{
    struct process_transfer transfer = {.peer = lock->manager,
                                        .sid = lock->id,
                                        .remote = lock->grant,
                                        .length = CHIP_LOCK_WORD(operation, PROCESS_SID)};
    int result = process_ask(lock->process, &transfer, CHIP_SOFTWARE);
    return result < 0 ? result : process_finish(lock->process);
}

int process_lock_open(const struct process_lock *lock)
{
    return ask(lock, CHIP_LOCK_OPEN);
}

int process_lock_take(const struct process_lock *lock, sim_time deadline)
{
    const uint64_t *grant = process_memory(lock->process, lock->grant, sizeof(*grant));
    uint64_t ticket = *grant + 1; /* it says which of our requests was granted last */
    int result = ask(lock, CHIP_LOCK_TAKE);
    return result < 0 ? result : process_poll(lock->process, lock->grant, ticket, deadline);
}

int process_lock_give(const struct process_lock *lock)
{
    return ask(lock, CHIP_LOCK_GIVE);
}
