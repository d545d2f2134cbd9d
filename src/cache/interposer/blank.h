/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors that can do nothing, for standin.h: O_PATH of an empty, sealed file in memory that
 * is this process's own. Who gets at one by a way that we do not see (AT_EMPTY_PATH,
 * /proc/self/fd) finds and changes nothing else.
 *
 * One number is kept, out of the way, from which the others are duplicated: no path is looked up,
 * and it works behind another root. Programs close and reuse numbers that they do not know, so it
 * is looked at each time. It is also the reserve of a process that has no number left.
 */
#pragma once

#include <stdbool.h>

/* A new one, with O_CLOEXEC or 0; -1: there is none. */
int blank_take(int flags);

/* Give up the number that is kept, for the file that is about to be opened. False: there is none.
 */
bool blank_spare(void);
