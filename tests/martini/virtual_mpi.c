/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MPI program for simulated controllers, as anybody would write it: ping-pong and allreduce by
 * MPI_Wtime, a long computation with MPI_Test, sleeps. "killed": the last rank dies at work; "few":
 * fewer rounds.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARM = 6, LENGTH_MAX = 65536 };
static int rounds = 10;
static char buffer[LENGTH_MAX];
static int rank, size;

static void ping_pong(int length)
{
    double start = 0;
    for (int i = -WARM; i < rounds && rank < 2; i++) {
        if (i == 0)
            start = MPI_Wtime();
        if (rank == 0)
            MPI_Send(buffer, length, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, length, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, length, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d B: %.3f us\n", length, (MPI_Wtime() - start) * 1e6 / rounds / 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    double start = MPI_Wtime(), mine = rank, sum = 0;
    for (int i = 0; i < rounds; i++)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("allreduce: %.3f us, sum %g\n", (MPI_Wtime() - start) * 1e6 / rounds, sum);
}

/* Rank 1 answers after a virtual second; rank 0 asks meanwhile. */
static void test_loop(void)
{
    MPI_Request request;
    int is_there = 0;
    double start = MPI_Wtime();
    if (rank == 1) {
        sleep(1);
        MPI_Send(buffer, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Irecv(buffer, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        while (!is_there)
            MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
        printf("answer after %.4f s\n", MPI_Wtime() - start);
    }
}

int main(int count, char **arguments)
{
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count > 1 && strcmp(arguments[1], "few") == 0)
        rounds = 2;
    ping_pong(8);
    if (count > 1 && strcmp(arguments[1], "killed") == 0 && rank == size - 1)
        raise(SIGKILL);
    ping_pong(1024);
    ping_pong(LENGTH_MAX);
    allreduce();
    test_loop();
    MPI_Finalize();
    return 0;
}
