/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and other things of the system that run out: makes the n-th request for one fail, so that
 * a test can try every n of a scenario. Counted are malloc(), calloc(), realloc(), strdup(),
 * aligned_alloc() and posix_memalign(), mmap() where the kernel chooses the place, memfd_create(),
 * eventfd() and pthread_create(), of the calling thread or of all.
 *
 * How to use it: the test program takes `scarce_dep` instead of `support_dep` (the calls are caught
 * by the linker, --wrap, so that only those of our own code count, with every sanitizer). Then
 *
 *     for (uint64_t n = 1; ; n++) {
 *         scarce_begin(n, false);
 *         ... every call returns 0 or RH_ENOSPACE; after RH_ENOSPACE the same call again succeeds,
 *             since only one request fails: SCARCE(call) does that ...
 *         if (!scarce_end())
 *             break; // the scenario has fewer than n requests: all have been tried
 *     }
 *
 * Or `scarce_begin(n, true)`: from the n-th on everything fails until scarce_end(), as on a machine
 * that stays out of memory.
 */
#pragma once

#include <rhinet/error.h>
#include <stdbool.h>
#include <stdint.h>

/* The n-th request from now on fails (1: the next); for_ever: and all that follow. Of this thread
 * only. */
void scarce_begin(uint64_t n, bool for_ever);

/* No more. True if there was an n-th request. */
bool scarce_end(void);

/* Whether a request has failed since scarce_begin(), and whose: "malloc". */
bool scarce_has_failed(void);
const char *scarce_what(void);

/* A call, once more if it failed for want of what we withheld. Its result, which should be 0. */
#define SCARCE(call)                                                                               \
    ({                                                                                             \
        int scarce_result_ = (call);                                                               \
        if (scarce_result_ == RH_ENOSPACE && scarce_has_failed())                                  \
            scarce_result_ = (call);                                                               \
        scarce_result_;                                                                            \
    })
