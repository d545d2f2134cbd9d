/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library that this code is in, as the loader sees it.
 *
 * It can be unloaded once every job has been left: then no thread, no signal handler and no
 * thread's end leads into it any more. Who has to leave such a way open says library_pin().
 */
#pragma once

/* From now on dlclose() does not unload it. */
void library_pin(void);
