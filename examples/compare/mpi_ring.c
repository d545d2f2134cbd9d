/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/ring.c with MPI's messages.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void pass_on(int next, uint64_t hops)
{
    MPI_Send(&hops, 1, MPI_UINT64_T, next, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    uint64_t laps = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000, hops;
    double start_s = 0;

    for (uint64_t lap = 1; lap <= laps + 1; lap++) { /* the first one warms up */
        uint64_t expected = (lap - 1) * (uint64_t)size + (uint64_t)(rank == 0 ? size : rank);
        if (lap == 2)
            start_s = MPI_Wtime();
        if (rank == 0)
            pass_on(next, expected - (uint64_t)size + 1);
        MPI_Recv(&hops, 1, MPI_UINT64_T, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (hops != expected) {
            fprintf(stderr, "ring: rank %d, lap %llu: %llu hops, not %llu\n", rank,
                    (unsigned long long)lap, (unsigned long long)hops,
                    (unsigned long long)expected);
            return 1;
        }
        if (rank != 0)
            pass_on(next, expected + 1);
    }
    if (rank == 0)
        printf("%llu laps round %d ranks: %.3f us per hop\n", (unsigned long long)laps, size,
               (MPI_Wtime() - start_s) * 1e6 / (double)(laps * (uint64_t)size));
    MPI_Finalize();
    return 0;
}
