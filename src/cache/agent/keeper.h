/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keeper: the process of a node that starts the agent and the program, and outlives both. When
 * the agent dies, it says so to the program's processes through memory, and they go on without.
 */
#pragma once

#include "cache/layout.h"

struct settings;

/* What the programs of all nodes have read, known to node 0 when all have ended well. */
struct keeper_totals {
    bool is_known;
    uint64_t value[CACHE_TOTAL_COUNT];
};

/* Run the program with its node's cache, as a rank that `rhinet run` has started. preload is the
 * library to start it with, or NULL. Returns the exit status; a program that was killed takes this
 * process with it, by the same signal. */
int keeper_run(char *const *argv, const char *preload, const struct settings *settings,
               struct keeper_totals *totals);

/* Have the programs that this process starts, or becomes, preload the library, before others. */
void keeper_preload(const char *preload);
