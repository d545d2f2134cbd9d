/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LOCK and UNLOCK of the thesis (5.5.2), as a process on a simulated node uses them: a lock has a
 * number and a representative process, and a grant word in the memory of each process that uses it.
 */
#pragma once

#include "sim/process/process.h"

struct process_lock {
    struct process *process;
    const struct process *manager;
    uint32_t id;
    uint64_t grant; /* offset of the grant word, which is zero at first */
};

/* All in a fiber. 0, or -EACCES: the firmware refused. */
int process_lock_open(const struct process_lock *lock);
int process_lock_take(const struct process_lock *lock, sim_time deadline); /* or -ETIMEDOUT */
int process_lock_give(const struct process_lock *lock);
