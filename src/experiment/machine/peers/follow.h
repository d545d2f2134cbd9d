/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How `rhinet bench --peers` and mpi_peer.c talk: a small file that both map. The bench writes the
 * name of a case and counts `step` up; all ranks of the MPI job measure it; its rank 0 writes the
 * value and sets `done` to the step. In between the MPI job sleeps, so that it disturbs nobody.
 */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FOLLOW_QUIT "quit" /* in place of a name */

struct follow_sheet {
    _Atomic uint32_t is_ready;
    _Atomic uint32_t step;
    _Atomic uint32_t done;
    char name[32];
    double value; /* in the case's unit; 0: cannot be measured */
};

/* Sleep until the word differs from `seen`, or a second has passed. */
static inline void follow_sleep(_Atomic uint32_t *word, uint32_t seen)
{
    struct timespec second = {.tv_sec = 1};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &second, NULL, 0);
}

static inline void follow_tell(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
