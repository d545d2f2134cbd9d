/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of librhinet_virtual.so share.
 */
#pragma once

#include "virtual/virtual.h"

#include <time.h>

#define SHOWN __attribute__((visibility("default")))

/* edge.c: what the calls that are replaced stand for. `address`, in a variable of the caller's, is
 * looked for once. Ends the process if there is none. */
void *virtual_next(void **address, const char *name);
#define NEXT(name)                                                                                 \
    ({                                                                                             \
        static void *found_before;                                                                 \
        (__typeof__(&(name)))virtual_next(&found_before, #name);                                   \
    })

void virtual_enter(void);
void virtual_leave(void);
/* Outside of the world, from one to the other. */
void virtual_outside_begin(void);
void virtual_outside_end(void);
void virtual_nap(void); /* between two looks outside, if this is such */

/* The world's time, if a call from there (a return address; NULL: the program) is to have it. */
const struct virtual_time *virtual_time_for(const void *caller);

/* clock.c: one look, at the edge; < 0: the world is gone. */
int64_t virtual_now_ns(const struct virtual_time *time);
