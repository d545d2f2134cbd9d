/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet run` and `rhinet mpirun` share for NIC martini: options for computing and clocks,
 * the library that gives ranks virtual time; and the simulation beside mpirun.
 */
#pragma once

#include "cli/option.h"

#include <stddef.h>

extern const struct cli_option simulation_options[]; /* --compute, --clock, --trace … */

/* Where a library of ours is: in a build, or where this program is installed. False: nowhere. */
struct simulation_places {
    const char *name, *built, *installed;
};
bool simulation_library_find(const struct simulation_places *places, char *folder, size_t room);

/* Checks the options, and finds the library that is to be loaded before the ranks; "" if their
 * clocks are the machine's. 0, or an exit status. */
int simulation_prepare(bool is_martini, bool is_mpi, char *preload, size_t room);

/* Runs mpirun with a simulation of so many ranks beside it, to its end: its exit status. */
int simulation_run(int size, char *const *words);
