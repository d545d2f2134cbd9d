/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work in numbered parts on a few threads. What a part computes may depend on its number, never on
 * the thread or on the moment, so that any number of threads gives the same result.
 */
#pragma once

#include <stdint.h>

typedef void (*parallel_part)(void *context, uint32_t part);

/* Threads to use from now on; 0: as many as the process may run on. */
void parallel_threads_set(uint32_t thread_count);

/* Runs part 0 … part_count - 1, in any order, and returns when all are done. Falls back to the
 * calling thread when no other can be started. */
void parallel_run(uint32_t part_count, parallel_part run, void *context);

/* Processor time that all threads have used so far. */
double parallel_cpu_seconds(void);
