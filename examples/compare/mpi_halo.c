/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/halo.c with MPI.
 */
#include "../heat.h"

#include <mpi.h>
#include <stdio.h>

enum { N = 48, W = N + 2, STEPS = 200 };

int main(void)
{
    static double cell[2][W * W];
    int rank, size, wrong = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int across = size;
    for (int i = 1; i * i <= size; i++)
        across = size % i == 0 ? size / i : across;
    int down = size / across, y = rank / across, x = rank % across;
    int up_rank = y > 0 ? rank - across : MPI_PROC_NULL;
    int down_rank = y + 1 < down ? rank + across : MPI_PROC_NULL;
    int left_rank = x > 0 ? rank - 1 : MPI_PROC_NULL;
    int right_rank = x + 1 < across ? rank + 1 : MPI_PROC_NULL;
    MPI_Datatype column;
    MPI_Type_vector(N, 1, W, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < N * N; i++)
        cell[0][heat_at(i / N, i % N, N)] = heat_begin(y * N + i / N, x * N + i % N);
    for (int step = 0; step < STEPS; step++) {
        double *c = cell[step % 2];
        MPI_Sendrecv(c + heat_at(0, 0, N), N, MPI_DOUBLE, up_rank, 0, c + heat_at(N, 0, N), N,
                     MPI_DOUBLE, down_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(c + heat_at(N - 1, 0, N), N, MPI_DOUBLE, down_rank, 1, c + heat_at(-1, 0, N),
                     N, MPI_DOUBLE, up_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(c + heat_at(0, 0, N), 1, column, left_rank, 2, c + heat_at(0, N, N), 1, column,
                     right_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(c + heat_at(0, N - 1, N), 1, column, right_rank, 3, c + heat_at(0, -1, N), 1,
                     column, left_rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        heat_spread(c, cell[(step + 1) % 2], N, N);
    }
    MPI_Type_free(&column);
    double *plate = heat_alone(down * N, across * N, STEPS);
    for (int i = 0; i < N * N; i++)
        wrong += !plate || cell[STEPS % 2][heat_at(i / N, i % N, N)] !=
                               plate[heat_at(y * N + i / N, x * N + i % N, across * N)];
    printf("rank %d: tile %d,%d of %d x %d, %d of %d cells differ from the sequential result\n",
           rank, x, y, across, down, wrong, N * N);
    free(plate);
    MPI_Finalize();
    return wrong > 0;
}
