/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiments in which the project's own code runs on simulated controllers: parts for
 * `rhinet sim thesis` (sim/thesis/thesis.h). They stand above everything that they use, so they are
 * a room of their own.
 *
 *   pm_measure   PM on NIC martini: round trips, streams, remote writes
 *   pm_rows      the rows and figures of chapter 8 made of them, and what it could only predict
 *   facts        constants of PM and the clusters, as the code has them
 *   failure      which of a job's failures is the cause
 *   mpi_measure  what MPI makes of PM: exchanges among all ranks, with copies
 *   mpi_rows     chapter 8's MPI and NPB, as far as that goes
 */
#ifndef EXPERIMENT_EXPERIMENT_H
#define EXPERIMENT_EXPERIMENT_H

#include "sim/thesis/thesis.h"

/* Ends with an entry whose group is NULL. */
extern const struct thesis_part experiment_parts[];

#endif
