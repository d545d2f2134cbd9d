/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that waits for the end of this one, by whatever signal, and then removes what it has
 * left. Launchers, which leave no process behind, let such processes finish.
 */
#pragma once

#include <stdbool.h>

#define SWEEPER_NAME "rhinet-sweeper" /* as the kernel shows it: 15 characters at most */

struct sweeper {
    int pid; /* 0: none */
    int fd;  /* closed with this process */
};
#define SWEEPER_NONE ((struct sweeper){.fd = -1})

/* True if nothing is left. It is called again a few milliseconds later if something was: others may
 * still be ending. */
typedef bool sweeper_clean(const void *context);

/* False if there is no process to be had; then `sweeper` is none. */
bool sweeper_start(struct sweeper *sweeper, sweeper_clean *clean, const void *context);

/* It is told that this is the end, and waited for. */
void sweeper_end(struct sweeper *sweeper);
