/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that uses both MPI and rhinet; "mpi" or "rhinet" says which it begins with. The test
 * compiles it, with each MPI that is there.
 */
#include <mpi.h>
#include <rhinet/error.h>
#include <rhinet/job.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct rh_job *job;
    int mpi_first = argc > 1 && strcmp(argv[1], "mpi") == 0;
    int rank, one = 1, sum = 0;
    if (mpi_first)
        MPI_Init(&argc, &argv);
    if (rh_join(&job, NULL) < 0) {
        fprintf(stderr, "cannot join: %s\n", rh_error_text());
        return 1;
    }
    if (!mpi_first)
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int is_right = rank == rh_rank(job) && sum == rh_size(job);
    if (mpi_first)
        rh_leave(job);
    MPI_Finalize();
    if (!mpi_first)
        rh_leave(job);
    printf("both agree: %d\n", is_right);
    return !is_right;
}
