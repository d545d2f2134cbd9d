/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI makes of PM, without MPI: all ranks exchange data with each other, cut into messages,
 * and copy it between the program's buffers and PM's. Private to this folder.
 */
#pragma once

#include "experiment/thesis/pm/pm_measure.h"

/* Every rank sends setup->size bytes to every other one, rounds times: the time of one round. With
 * two ranks it is MPI_Sendrecv, with more MPI_Alltoall. 0 or a code of rhinet/error.h. */
int mpi_exchange(const struct pm_setup *setup, double *us);
/* Two ranks send them to each other in turn: the time there and back. MPI's PingPong. */
int mpi_round_trip(const struct pm_setup *setup, double *us);
