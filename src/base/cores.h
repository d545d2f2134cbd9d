/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cores that we may use, which are often fewer than the machine has: taskset, batch systems and
 * control groups each have their say.
 */
#pragma once

#include "base/control_group.h"

#include <sched.h>

#define CORES_MAX 8192 /* the most that Linux can be built for */

struct core_set {
    cpu_set_t part[CORES_MAX / CPU_SETSIZE];
};

/* The cores on which a process may run (0: the calling thread); 0 or a negative errno value. */
int cores_of(int pid, struct core_set *set);

/* How many cores' worth of time the calling thread can have: those that it may run on, or what the
 * quota of a control group leaves of them, rounded up. At least 1. */
unsigned cores_allowed(void);

/* What the quotas alone leave; UINT_MAX: there is none. */
unsigned cores_of_quota(const struct control_group_tree *tree);
