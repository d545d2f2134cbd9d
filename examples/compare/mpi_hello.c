/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/hello.c with MPI's messages.
 */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    int rank, size;
    char text[56], arrived[56];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    snprintf(text, sizeof(text), "greetings from rank %d", rank);
    MPI_Sendrecv(text, sizeof(text), MPI_CHAR, next, 0, arrived, sizeof(arrived), MPI_CHAR, before,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d: %s\n", rank, size, arrived);
    MPI_Finalize();
    return 0;
}
