/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of the thesis (session.h) in which the project's own code runs on simulated controllers.
 *
 *   pm_measure   PM on NIC martini: round trips, streams, remote writes
 *   pm_rows      the rows and figures of chapter 8 made of them, and what it could only predict
 *   facts        constants of PM and the clusters, as the code has them
 *   mpi_measure  what MPI makes of PM: exchanges among all ranks, with copies
 *   mpi_rows     chapter 8's MPI and NPB, as far as that goes
 */
#pragma once

#include "experiment/thesis/session.h"

int pm_rows(struct session *session);
int pm_nodes(struct session *session);
int pm_facts(struct session *session);
int cluster_facts(struct session *session);
int mpi_rows(struct session *session);
