/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our side of the cases of MPI programs: Open MPI on the provider is one more of the jobs that
 * sleep until rank 0 asks (peers.c), and what it says is our figure.
 */
#include "experiment/machine/mpi/mpi.h"

#include "base/error.h"
#include "experiment/machine/ofi/ofi.h"

#include <stdlib.h>

int mpi_on_rhinet(struct bench_run *run, double *figure)
{
    if (run->rank != 0)
        return 0;
    return bench_peers_ask(run, BENCH_PROVIDER, figure) == 0
               ? 0
               : error_fail(RH_EUNSUP, "Open MPI on rhinet gave no figure for %s",
                            run->bench_case->name);
}

/* The provider is loaded into this process, which is of a job already. It is to join one of its
 * own, as in a program that no launcher started. */
int mpi_fabric_open(struct bench_run *run)
{
    unsetenv("RHINET_MANAGER_FD");
    return raw_ofi_open_by(run, "rhinet");
}
