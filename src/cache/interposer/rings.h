/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Libraries that hand descriptors to the kernel by system calls of their own, which nobody can
 * stand in front of: libaio, liburing.
 */
#pragma once

#include <stdbool.h>

/* Whether one of them is loaded. Costs little if nothing was loaded since the last time. In a child
 * of fork always false: the parent looks before it forks. */
bool rings_are_here(void);
void rings_forked(void);
