/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of MPI programs: Open MPI on our libfabric provider, beside what it and MPICH do by
 * themselves; and libfabric without an MPI on that provider.
 */
#pragma once

#include "experiment/machine/bench.h"

#define BENCH_MPI_CASES 7
extern const struct bench_case bench_mpi_cases[BENCH_MPI_CASES];

bench_measure mpi_on_rhinet; /* the case of this name by Open MPI on the provider */

/* Two endpoints of the provider, each in a process of the job, which have met by address. */
bench_set_up mpi_fabric_open;
